"""Prices of models, in US dollars per million tokens: by the list of ``genai-prices`` or by the settings.

A model on this machine or in a private network costs nothing.  A model without a known price is counted in
tokens alone: it costs nothing here, the budget does not bound it, and a warning says so.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import partial

import structlog
from genai_prices import Usage as PricedUsage
from genai_prices import calc_price
from genai_prices.types import PriceCalculation

from streams.config.settings.endpoints import Endpoint
from streams.config.settings.models import Price
from streams.llm.port import Usage

log = structlog.get_logger("streams.llm")

FREE = Price(0.0, 0.0, 0.0)

#: What distinguishes versions of one model, such as ``-001``.
_VERSION = re.compile(r"-\d{3,}$")

#: What a price is read off: below the prompts that some models charge more for.
_SAMPLE = 1000

_SAMPLES = (
    PricedUsage(input_tokens=_SAMPLE),
    PricedUsage(output_tokens=_SAMPLE),
    PricedUsage(input_tokens=_SAMPLE, cache_read_tokens=_SAMPLE),
)


def price_of(endpoint: Endpoint, own: Mapping[str, Price]) -> Price | None:
    """Return the price of an endpoint's model, ``None`` if it is not known; ``own``: prices of the settings."""
    for name in sorted(own, key=len, reverse=True):
        if endpoint.model == name or endpoint.model.startswith(f"{name}-"):
            return own[name]
    if endpoint.is_private and endpoint.api == "openai":  # Gemini runs at Google, whatever stands in between
        return FREE
    if (price := listed(endpoint)) is None:
        log.warning(
            "the price of a model is not known: its tokens are counted, and SWITCHBOARD_MODEL_BUDGET_USD does "
            "not bound it; SWITCHBOARD_MODEL_PRICES=model=input/output sets it",
            model=endpoint.model,
        )
    return price


def listed(endpoint: Endpoint) -> Price | None:
    """Return the list price of an endpoint's model: the host's own, else its maker's."""
    asked: list[Callable[..., PriceCalculation]] = [
        partial(calc_price, provider_api_url=endpoint.url),
        calc_price,
    ]
    if endpoint.api == "gemini":
        asked = [partial(calc_price, provider_id="google")]
    for model in dict.fromkeys((endpoint.model, _VERSION.sub("", endpoint.model))):
        for price in asked:
            try:
                return Price(*(_per_million(price(usage, model)) for usage in _SAMPLES))
            except LookupError:
                continue
    return None


def cost(price: Price | None, usage: Usage) -> float:
    """Return the cost of a call in US dollars; 0 without a price."""
    if price is None:
        return 0.0
    cached = min(usage.cached_tokens, usage.input_tokens)
    cached_price = price.input if price.cached is None else price.cached
    paid = (
        price.input * (usage.input_tokens - cached) + cached_price * cached + price.output * usage.output_tokens
    )
    return paid / 1_000_000


def _per_million(price: PriceCalculation) -> float:
    return float(price.total_price) / _SAMPLE * 1_000_000
