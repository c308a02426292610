"""Checks of ``switchboard doctor`` besides broker and services: serve, tokens, the model's key, Redis, Qdrant.

Nothing here is changed.  Of a model that speaks OpenAI's API one short answer is asked, to see whether it takes
schemas and tools; else nothing is paid.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Literal, NamedTuple

from models.errors import ConfigurationError, DependencyUnavailable, SwitchboardError
from streams.cli.output import count
from streams.clients.catalog import Catalog
from streams.config.redaction import without_credentials
from streams.config.settings import Settings
from streams.config.settings.endpoints import Endpoint
from streams.queries.services import Report

if TYPE_CHECKING:  # its libraries take a second to load
    from streams.llm.port import Abilities

_ANSWER_SECONDS = 10.0


class Finding(NamedTuple):
    """One line of the report: how it is, what was found, and what to do (``""`` when nothing)."""

    state: Literal["ok", "look", "wrong"]
    what: str
    advice: str = ""


async def outside(settings: Settings, reports: Sequence[Report] = ()) -> list[Finding]:
    """Return how serve, Redis, Qdrant and the model are; ``reports``: what processes of this deployment say."""
    redis = [await _redis(settings)] if settings.redis_url else []
    qdrant = [await _qdrant(settings)] if settings.qdrant_url else []
    return [await _serve(settings, reports), *redis, *qdrant, *await _models(settings)]


async def _serve(settings: Settings, reports: Sequence[Report]) -> Finding:
    import httpx  # this and what follows is loaded by this command only

    from streams.cli.recall_api import base_of
    from streams.config.namespace import PREFIX_HEADER

    base = await base_of(settings)
    headers = {PREFIX_HEADER: settings.topic_prefix}
    if token := settings.api_token.get_secret_value():
        headers["authorization"] = f"Bearer {token}"
    try:
        async with httpx.AsyncClient(timeout=_ANSWER_SECONDS, trust_env=False) as client:
            answer = await client.get(f"{base}/v1/session", headers=headers)
    except (httpx.ConnectError, httpx.ConnectTimeout):
        return Finding(
            "look", f"nobody listens at {base}", "`switchboard serve` has the HTTP API and the console"
        )
    except httpx.TransportError as error:
        return Finding("wrong", f"serve at {base} does not answer ({type(error).__name__})", "see what it logs")
    if answer.is_success and not _is_strange(settings, reports):
        return Finding("ok", f"serve answers at {base}")
    if answer.status_code == httpx.codes.UNAUTHORIZED and token and not _is_strange(settings, reports):
        advice = "make another (`switchboard token create`) and set SWITCHBOARD_API_TOKEN to it"
        return Finding("wrong", f"serve at {base} refuses the token in SWITCHBOARD_API_TOKEN", advice)
    if answer.status_code == httpx.codes.UNAUTHORIZED and not _is_strange(settings, reports):
        advice = "`switchboard token create` makes one; set SWITCHBOARD_API_TOKEN to it"
        return Finding("look", f"serve at {base} asks for a token, and there is none in the settings", advice)
    advice = "set SWITCHBOARD_API_HOST and SWITCHBOARD_API_PORT to where the serve of this deployment listens"
    return Finding("look", f"what answers at {base} is not the serve of this deployment", advice)


def _is_strange(settings: Settings, reports: Sequence[Report]) -> bool:
    """Say whether a serve that answers on the default address is none of this data folder and cluster."""
    ours = [report for report in reports if report.service == "serve"]
    is_default = settings.model_fields_set.isdisjoint({"api_host", "api_port"})
    return is_default and bool(ours) and not any(report.running for report in ours)


async def tokens(settings: Settings, catalog: Catalog, present: dict[str, int]) -> list[Finding]:
    """Return the findings about the tokens.  Raises :class:`DependencyUnavailable`."""
    from streams.server.api.access import Access
    from streams.server.tokens import topic

    known = await topic.read_all(settings) if catalog.name(topic.TOPIC) in present else {}
    if not known:
        try:
            Access.of(settings)
        except ConfigurationError as error:
            return [Finding("wrong", str(error))]
        return [Finding("ok", "there are no tokens: this machine alone is answered, and needs none")]
    now = datetime.now(UTC)
    over = [each for each in known.values() if each.expires_at is not None and each.expires_at <= now]
    told = f"there {'is' if len(known) == 1 else 'are'} {count(len(known), 'token')}"
    if over:
        names = ", ".join(each.name or each.token_id for each in over)
        return [
            Finding(
                "look", f"{told}, {len(over)} of them over ({names})", "`switchboard token revoke` drops one"
            )
        ]
    return [Finding("ok", told)]


async def _redis(settings: Settings) -> Finding:
    from streams.clients.redis_client import answers

    try:
        await answers(settings)
    except SwitchboardError as error:
        return Finding("wrong", str(error))
    return Finding("ok", "Redis answers")


async def _qdrant(settings: Settings) -> Finding:
    from streams.stores.qdrant_version import server_version

    try:
        version = await server_version(settings, _ANSWER_SECONDS)
    except SwitchboardError as error:
        return Finding("wrong", str(error))
    if version.reservation:
        return Finding("look", version.reservation)
    return Finding("ok", f"Qdrant {version.text} answers at {version.shown}")


async def _models(settings: Settings) -> list[Finding]:
    wanted = [settings.model_endpoint] if settings.reads_with_model or settings.talks_with_model else []
    if settings.asks_model("embedder"):
        wanted.append(settings.embedding_endpoint)
    if not wanted:
        return [Finding("ok", "no language model is set up: nothing that people say leaves this machine")]
    return [finding for endpoint in wanted for finding in await _model(settings, endpoint)]


async def _model(settings: Settings, endpoint: Endpoint) -> list[Finding]:
    from streams.llm.factory import provider
    from streams.llm.prices import price_of

    client = provider(endpoint)
    able = None
    try:
        if endpoint.dimensions:
            await client.check()
        else:
            able = await client.abilities()
    except ConfigurationError as error:
        return [Finding("wrong", str(error))]
    except DependencyUnavailable as error:
        return [Finding("look", str(error), "what needs it waits, or is done by the built-in one")]
    finally:
        await client.close()
    found = [Finding("ok", f"the endpoint {without_credentials(endpoint.url)} has {endpoint.model}")]
    if able is not None:
        found += _abilities(settings, endpoint, able)
    if price_of(endpoint, settings.own_prices) is None:
        advice = f"SWITCHBOARD_MODEL_PRICES={endpoint.model}=input/output (US$ per million tokens) sets it"
        found.append(
            Finding("look", f"{endpoint.model} has no known price: the budget does not bound it", advice)
        )
    return found


def _abilities(settings: Settings, endpoint: Endpoint, able: Abilities) -> list[Finding]:
    """Return the findings about a model's missing abilities."""
    found = []
    if able.problem:
        found.append(Finding("look", f"{endpoint.model}: {able.problem}"))
    if endpoint.api == "openai" and able.structured != endpoint.structured:
        found.append(
            Finding(
                "look",
                f"{endpoint.model} takes no JSON by {endpoint.structured}, only by {able.structured}",
                f"SWITCHBOARD_MODEL_STRUCTURED={able.structured} saves the calls that are refused",
            )
        )
    if not able.tools and settings.asks_model("responder"):
        advice = "it answers from what its prompt holds; a model that takes tools searches memory, too"
        found.append(Finding("look", f"{endpoint.model} takes no tools", advice))
    return found
