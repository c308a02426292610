"""``switchboard search``: what is known of a person.

The recall service answers while it runs, because the embedded Qdrant belongs to one process.  When nobody
listens on the API's port, the index is opened here.
"""

from __future__ import annotations

import asyncio
from typing import Annotated

import msgspec
import typer

from models.errors import ConfigurationError
from models.messages import DEFAULT_TENANT
from models.ports import FoundFact
from streams.cli import recall_api, waiting
from streams.cli.output import console, print_json, printable
from streams.settings import Settings, load_settings


class Answer(msgspec.Struct, frozen=True):
    """What ``GET /v1/search`` answers; ``degraded``: only words were compared."""

    results: list[FoundFact]
    degraded: bool


def find(
    query: Annotated[str, typer.Argument(help="What you want to know, in your own words.", show_default=False)],
    user: Annotated[str, typer.Option("--user", "-u", help="Whose memory is searched.", show_default=False)],
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, max=100, help="How many facts at most.")] = 5,
    tenant: Annotated[
        str, typer.Option("--tenant", help="The tenant that the person belongs to.")
    ] = DEFAULT_TENANT,
    json: Annotated[bool, typer.Option("--json", help="One JSON object, as the HTTP API answers.")] = False,
) -> None:
    """Search what is known of a person, by meaning and by words, best first.

    Asks the recall service while it runs; opens the data folder itself when it does not.
    """
    settings = load_settings()
    if not query.strip():
        raise ConfigurationError("the query is blank: say what you want to know")
    if not user.strip():
        raise ConfigurationError("--user is blank: say whose memory is to be searched")
    answer = asyncio.run(search(settings, query, user, tenant, limit))
    if json:
        print_json({"query": query, "user_id": user, "tenant_id": tenant, **msgspec.structs.asdict(answer)})
        return
    if answer.degraded:
        print("(the embedder is down: only words were compared)")
    if not answer.results:
        print(f"Nothing is known of {printable(user)} that answers this.")
        for line in asyncio.run(_why(settings, user, tenant)):
            print(line)
    for found in answer.results:
        _print(found)


async def search(settings: Settings, query: str, user: str, tenant: str, limit: int) -> Answer:
    """Ask the service, or the index itself if no service listens.

    Raises :class:`DependencyUnavailable` when the service is not ready, :class:`ConfigurationError` when it
    refuses the question, when something else answers on its port, or when there is no index yet.
    """
    parameters: dict[str, str | int] = {"q": query, "user_id": user, "tenant_id": tenant, "limit": limit}
    answer = await recall_api.get(settings, "/v1/search", parameters, Answer)
    return answer if answer is not None else await _search_here(settings, query, user, tenant, limit)


async def _why(settings: Settings, user: str, tenant: str) -> list[str]:
    """Return what may still come: what is not read yet, and who cannot go on."""
    lines = await asyncio.gather(waiting.describe(settings, user, tenant), waiting.hindrances(settings))
    return [printable(line) for part in lines for line in part]


async def _search_here(settings: Settings, query: str, user: str, tenant: str, limit: int) -> Answer:
    # the engine and the model take a second to import: only who needs them waits
    from models.ports import VectorSpace
    from streams.adapters.index_factory import open_index
    from streams.adapters.onnx_embedder import OnnxEmbedder
    from streams.adapters.qdrant_kinds import FACTS
    from streams.search import FactSearch

    recall_api.require_index(settings)

    embedder = OnnxEmbedder()
    index = open_index(settings, FACTS, VectorSpace(embedder.model, embedder.dimensions))
    try:
        await embedder.start()
        found = await FactSearch(index, embedder, rates=settings.decay_rates).search(query, user, tenant, limit)
        return Answer(list(found), found.degraded)
    finally:
        await index.close()
        await embedder.close()


def _print(found: FoundFact) -> None:
    fact = found.fact
    out = console()
    out.print(f"{found.score:.2f}  {printable(fact.statement)}", style="bold")
    said = fact.provenance[-1] if fact.provenance else None
    about = f"      {fact.kind.value}, confidence {fact.confidence:.2f}, since {fact.valid_from:%Y-%m-%d}"
    if fact.evidence_count > 1:
        about += f", said {fact.evidence_count} times"
    out.print(about)
    if said is not None:
        out.print(f"      “{printable(said.quote)}” ({printable(said.conversation_id)})")
