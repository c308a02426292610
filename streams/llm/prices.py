"""What models cost: list prices of the paid tier, in US dollars per million tokens.

Source: https://ai.google.dev/gemini-api/docs/pricing, as of 2026-03 (text, prompts of up to 200,000 tokens;
what a model thinks is paid as output).  Prices change: ``SWITCHBOARD_MODEL_PRICES`` overrides and adds.
"""

from __future__ import annotations

from collections.abc import Mapping

import structlog

from streams.settings.models import Price

log = structlog.get_logger("streams.gemini")

PRICES: Mapping[str, Price] = {
    "gemini-2.5-flash-lite": Price(0.10, 0.40),
    "gemini-2.5-flash": Price(0.30, 2.50),
    "gemini-2.5-pro": Price(1.25, 10.00),
    "gemini-3-flash": Price(0.50, 3.00),
    "gemini-3.1-flash-lite": Price(0.25, 1.50),
    "gemini-3.1-pro": Price(2.00, 12.00),
    "gemini-3.5-flash": Price(1.50, 9.00),
    "gemini-embedding-001": Price(0.15, 0.0),
}

#: Taken for a model that has no price: that of the dearest, so that a budget holds.
_UNKNOWN = max(PRICES.values(), key=lambda price: price.output)


def price_of(model: str, own: Mapping[str, Price]) -> Price:
    """Return the price of a model; ``own`` are those of the settings.

    A model goes by its longest prefix in the table ("gemini-2.5-flash-001"); one that has none, by the dearest.
    """
    known = {**PRICES, **own}
    for name in sorted(known, key=len, reverse=True):
        if model == name or model.startswith(f"{name}-"):
            return known[name]
    log.warning(
        "the price of a model is not known, so it counts as the dearest: set SWITCHBOARD_MODEL_PRICES",
        model=model,
    )
    return _UNKNOWN


def cost(price: Price, input_tokens: int, output_tokens: int) -> float:
    """Return what a call cost, in US dollars."""
    return (price.input * input_tokens + price.output * output_tokens) / 1_000_000
