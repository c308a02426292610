"""``switchboard search``: what a person said, and what is known of them.

The recall service answers while it runs, because the embedded Qdrant belongs to one process.  When nobody
listens on the API's port, the index is opened here.
"""

from __future__ import annotations

import asyncio
import sys
from contextlib import AsyncExitStack
from datetime import UTC, datetime
from typing import Annotated

import msgspec
import typer

from models.errors import ConfigurationError, InvalidRecord
from models.facts import Fact
from models.messages import DEFAULT_TENANT
from processors.retrieval.recall.question import InvalidQuestion, cleaned
from streams.cli import people, recall_api, waiting
from streams.cli.output import UNREAD, console, print_json, printable
from streams.cli.progress import showing
from streams.clients.serving import of_command
from streams.config.settings import Settings, load_settings
from streams.stores.search import (
    MOST_RESULTS,
    Empty,
    Result,
    Scope,
    SearchType,
    Wanted,
    kinds_of,
)

_NOTHING = {
    Empty.NO_FACTS: "Nothing that {user} said answers this, and no fact about them is known.",
    Empty.NO_ANSWER: "Nothing is known of {user} that answers this.",
    Empty.NOT_READ_YET: UNREAD,
    Empty.UNKNOWN_CONVERSATION: "{user} is known, but not from a conversation {where}.",
}

_WITHOUT_LOG = (
    "(The recall service does not run. Its index is read as it was left, without the turns before and after "
    "those found, so scores and order may differ from the service's.)"
)


class Answer(msgspec.Struct, frozen=True):
    """Answer of ``POST /v1/search``; ``degraded``: compared less well than usual; ``known``: whether there is
    anything of the person at all; ``empty``: why there is nothing.
    """

    results: list[Result]
    degraded: bool
    known: bool = True
    empty: Empty | None = None
    scope: Scope | None = None


def find(
    query: Annotated[str, typer.Argument(help="What you want to know, in your own words.", show_default=False)],
    user: Annotated[str, typer.Option("--user", "-u", help="Whose memory is searched.", show_default=False)],
    limit: Annotated[
        int, typer.Option("--limit", "-n", min=1, max=MOST_RESULTS, help="How many results at most.")
    ] = 5,
    kind: Annotated[
        SearchType,
        typer.Option("--type", "-t", help="Search facts, what was said (turns, episodes), or both."),
    ] = SearchType.BOTH,
    conversation: Annotated[
        str, typer.Option("--conversation", "-c", help="Search this conversation only.", show_default=False)
    ] = "",
    since: Annotated[
        str, typer.Option("--from", help="Said at this time or later: 2026-03-01.", show_default=False)
    ] = "",
    until: Annotated[
        str, typer.Option("--to", help="Said before this time: 2026-04-01T12:00:00Z.", show_default=False)
    ] = "",
    as_of: Annotated[
        str, typer.Option("--as-of", help="What held, and had been said, at this time.", show_default=False)
    ] = "",
    fact_kind: Annotated[
        str,
        typer.Option("--kind", "-k", help="Facts of these kinds only: state,preference.", show_default=False),
    ] = "",
    tenant: Annotated[
        str, typer.Option("--tenant", help="The tenant that the person belongs to.")
    ] = DEFAULT_TENANT,
    json: Annotated[bool, typer.Option("--json", help="One JSON object, as the HTTP API answers.")] = False,
) -> None:
    """Search what a person said and what is known of them, by meaning and by words, best first.

    The number before each result is its score, from 0 to 1.  Asks the recall service while it runs; opens the
    data folder itself when it does not.
    """
    settings = load_settings()
    if not user.strip():
        raise InvalidRecord("blank_user", "--user is blank: say whose memory is to be searched")
    try:
        wanted = Wanted(
            query=cleaned(query),
            user_id=user,
            tenant_id=tenant,
            search_type=kind,
            limit=limit,
            conversation_id=conversation,
            since=_moment("--from", since),
            until=_moment("--to", until),
            as_of=_moment("--as-of", as_of),
            kinds=kinds_of(fact_kind),
        )
        wanted.check()
    except InvalidQuestion as error:
        raise InvalidRecord("invalid_question", str(error)) from error
    answer = asyncio.run(search(settings, wanted))
    if json:
        print_json(
            {
                "query": query,
                "user_id": user,
                "tenant_id": tenant,
                "search_type": kind,
                **msgspec.structs.asdict(answer),
            }
        )
        return
    if answer.degraded:
        print("(degraded: the embedder is down, so only words were compared, or Qdrant is older than 1.20)")
    if not answer.results:
        empty = answer.empty or (Empty.NO_ANSWER if answer.known else Empty.UNKNOWN_PERSON)
        names = {"user": user, "tenant": tenant, "where": conversation}
        if empty is Empty.UNKNOWN_PERSON:
            print(asyncio.run(people.unknown(settings, user, tenant)))
        else:
            print(_NOTHING[empty].format(**{name: printable(text) for name, text in names.items()}))
        for line in asyncio.run(_why(settings, user, tenant)):
            print(line)
    for found in answer.results:
        _print(found)


async def search(settings: Settings, wanted: Wanted) -> Answer:
    """Ask the service, or the indexes themselves if no service listens.

    Raises :class:`DependencyUnavailable` when the service is not ready, :class:`ConfigurationError` when it
    refuses the question, when something else answers on its port, or when there is no index yet.
    """
    body: dict[str, str | int] = {
        "q": wanted.query,
        "user_id": wanted.user_id,
        "tenant_id": wanted.tenant_id,
        "search_type": wanted.search_type.value,
        "limit": wanted.limit,
    }
    if wanted.conversation_id:
        body["conversation_id"] = wanted.conversation_id
    if wanted.kinds:
        body["kind"] = ",".join(wanted.kinds)
    for name, at in (("from", wanted.since), ("to", wanted.until), ("as_of", wanted.as_of)):
        if at is not None:
            body[name] = at.isoformat()
    answer = await recall_api.post(settings, "/v1/search", body, Answer)
    if answer is not None:
        return answer
    with showing("searching the index here"):
        return await _search_here(settings, wanted)


def _moment(option: str, text: str) -> datetime | None:
    """Return a time that was given; one without a zone is in UTC."""
    if not text:
        return None
    try:
        at = datetime.fromisoformat(text)
    except ValueError as error:
        raise ConfigurationError(
            f"{option} is {text!r}: write a time as 2026-03-01 or 2026-03-01T12:00:00Z"
        ) from error
    return at if at.tzinfo is not None else at.replace(tzinfo=UTC)


async def _why(settings: Settings, user: str, tenant: str) -> list[str]:
    """Return the reasons why results may still come: unread records, and services that cannot go on."""
    settings = await of_command(settings)
    lines = await asyncio.gather(waiting.describe(settings, user, tenant), waiting.hindrances(settings))
    return [printable(line) for part in lines for line in part]


async def _search_here(settings: Settings, wanted: Wanted) -> Answer:
    # the engine and the model take a second to import: only who needs them waits
    from streams.agents.vectors.living_embedder import open_living
    from streams.clients.policies.known import read_policies
    from streams.stores.log_factory import open_views
    from streams.stores.remembered.opening import open_search

    settings = await of_command(settings)
    recall_api.require_index(settings)
    if not settings.redis_url:  # what recall keeps in a Valkey of its own is gone with it
        print(_WITHOUT_LOG, file=sys.stderr)
    async with AsyncExitStack() as resources:
        log = open_views(settings, resources).log if settings.redis_url else None
        embedder = await open_living(settings, resources, start=True)
        policies = await read_policies(settings)
        search, _, _ = open_search(settings, embedder, log, resources, policies)
        found = await search.search(wanted)
        known = found.empty is not Empty.UNKNOWN_PERSON
        return Answer(list(found), found.degraded, known, found.empty, found.scope)


def _print(found: Result) -> None:
    out = console()
    out.print(f"{found.score:.2f}  {printable(found.text)}", style="bold")
    if found.turn is not None:
        said = found.turn
        who = said.role.value if not said.speaker else f"{said.speaker} ({said.role.value})"
        where = f"turn {said.index} of {said.conversation_id}"
        out.print(f"      {printable(who)}, {said.sent_at:%Y-%m-%d}, {printable(where)}")
    if found.episode is not None:
        told = found.episode
        where = f"turns {told.from_index} to {told.to_index} of {told.conversation_id}"
        out.print(f"      {told.first_sent_at:%Y-%m-%d}, {printable(where)}")
    if found.fact is not None:
        _print_fact(found.fact)


def _print_fact(fact: Fact) -> None:
    out = console()
    said = fact.provenance[-1] if fact.provenance else None
    about = f"      {fact.kind.value}, confidence {fact.confidence:.2f}, since {fact.valid_from:%Y-%m-%d}"
    if fact.valid_to is not None:
        about += f" until {fact.valid_to:%Y-%m-%d}"
    if fact.evidence_count > 1:
        about += f", said {fact.evidence_count} times"
    out.print(about)
    if said is not None:
        out.print(f"      “{printable(said.quote)}” ({printable(said.conversation_id)})")
