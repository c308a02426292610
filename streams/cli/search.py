"""``switchboard search``: what is known of a person.

The recall service answers while it runs, because the embedded Qdrant belongs to one process.  When nobody
listens on the API's port, the index is opened here.
"""

from __future__ import annotations

import asyncio
from typing import Annotated, Any
from urllib.parse import urlsplit

import httpx
import msgspec
import typer

from models.errors import ConfigurationError, DependencyUnavailable, SwitchboardError
from models.messages import DEFAULT_TENANT
from models.ports import FoundFact
from streams.cli import waiting
from streams.cli.output import console, print_json, printable
from streams.cli.services import ask, reachable, stated_places
from streams.namespace import PREFIX_HEADER
from streams.settings import Settings, load_settings
from streams.whereabouts import notes

_ANSWER_SECONDS = 15.0


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
    base = await base_of(settings)
    parameters: dict[str, str | int] = {"q": query, "user_id": user, "tenant_id": tenant, "limit": limit}
    try:
        async with httpx.AsyncClient(base_url=base, timeout=_ANSWER_SECONDS, trust_env=False) as client:
            # Another deployment on this port must say so rather than answer.
            whose = {PREFIX_HEADER: settings.topic_prefix}
            response = await client.get("/v1/search", params=parameters, headers=whose)
    except (httpx.ConnectError, httpx.ConnectTimeout):
        return await _search_here(settings, query, user, tenant, limit)
    except httpx.TransportError as error:
        raise DependencyUnavailable("recall", f"no answer from {base} ({type(error).__name__})") from error
    if response.is_success:
        try:
            return msgspec.json.decode(response.content, type=Answer)
        except msgspec.DecodeError as error:
            raise stranger(base) from error
    raise refusal(response, base)


async def _why(settings: Settings, user: str, tenant: str) -> list[str]:
    """Return what may still come: what is not read yet, and who cannot go on."""
    lines = await asyncio.gather(waiting.describe(settings, user, tenant), waiting.hindrances(settings))
    return [printable(line) for part in lines for line in part]


async def base_of(settings: Settings) -> str:
    """Return where the API answers: as the recall service itself says, unless a setting says it."""
    host, port = reachable(settings.api_host), settings.api_port
    if settings.model_fields_set.isdisjoint({"api_host", "api_port"}):
        place = stated_places(settings).get("recall") or [
            (note.port, reachable(note.host)) for note in notes(settings) if note.service == "recall"
        ]
        for at, where in place[:1]:
            told = (await ask(settings, "recall", at, where)).details.get("api")
            if isinstance(told, str) and (found := urlsplit(told).port):
                host, port = where, found
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def refusal(response: httpx.Response, base: str) -> SwitchboardError:
    """Return what an answer that is none means."""
    try:
        problem: Any = response.json()
        detail = str(problem["detail"])
    except (ValueError, KeyError, TypeError):
        return stranger(base)
    if response.status_code >= 500:
        return DependencyUnavailable("recall", detail)
    return ConfigurationError(detail)


def stranger(base: str) -> ConfigurationError:
    """Return the error of an answer that the recall service would not give."""
    return ConfigurationError(
        f"what answers at {base} is not the recall service: set SWITCHBOARD_API_HOST and SWITCHBOARD_API_PORT "
        "to where it listens"
    )


async def _search_here(settings: Settings, query: str, user: str, tenant: str, limit: int) -> Answer:
    # the engine and the model take a second to import: only who needs them waits
    from models.ports import VectorSpace
    from streams.adapters.index_factory import edge_folder, open_index
    from streams.adapters.onnx_embedder import OnnxEmbedder
    from streams.adapters.qdrant_kinds import FACTS
    from streams.search import FactSearch

    folder = edge_folder(settings, FACTS)
    if not settings.qdrant_url and not folder.exists():
        raise ConfigurationError(
            f"no recall service listens on port {settings.api_port}, and {folder} does not exist: nothing is "
            "remembered yet. `make demo` shows how it begins; SWITCHBOARD_DATA_DIR names another folder"
        )
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
