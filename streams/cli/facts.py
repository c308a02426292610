"""``switchboard facts`` and ``switchboard explain``: what is known of a person, and why."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from datetime import UTC, datetime
from itertools import groupby
from typing import Annotated, TypeVar

import msgspec
import typer

from models.errors import ConfigurationError, InvalidRecord, NotFound
from models.facts import Fact, FactStatus, Revision
from models.index import FactFilter, FactReader, VectorSpace
from models.messages import DEFAULT_TENANT
from models.statements import SELF, Kind, Polarity
from processors.facts.confidence import confidence_at
from streams.cli import people, recall_api, waiting
from streams.cli.output import UNREAD, console, count, print_json, printable
from streams.clients.serving import of_command
from streams.config.settings import Settings, load_settings

T = TypeVar("T")

_PAGE = 500

User = Annotated[str, typer.Option("--user", "-u", help="Whose memory.", show_default=False)]
Tenant = Annotated[str, typer.Option("--tenant", help="The tenant that the person belongs to.")]
Json = Annotated[bool, typer.Option("--json", help="As JSON, one fact a line.")]


class Page(msgspec.Struct, frozen=True):
    """Answer of ``GET /v1/facts``; ``known``: whether there is anything of the person at all."""

    facts: list[Fact]
    next: str | None
    known: bool = True
    unread: bool = False


def show(
    user: User,
    everything: Annotated[
        bool, typer.Option("--all", "-a", help="Also what has ended, was superseded or contradicted.")
    ] = False,
    tenant: Tenant = DEFAULT_TENANT,
    json: Json = False,
) -> None:
    """Show what is known of a person, by kind.

    The number before each fact is its confidence, from 0 to 1.  Asks the recall service while it runs; opens
    the data folder itself when it does not.
    """
    settings = load_settings()
    _require(user)
    facts, known, is_unread = asyncio.run(_facts(settings, user, tenant, everything))
    order = list(Kind)
    facts.sort(key=lambda fact: (order.index(fact.kind), fact.attribute, fact.valid_from, fact.fact_id))
    if json:
        for fact in facts:
            print_json(fact)
        return
    if not facts:
        unread = UNREAD.format(user=printable(user))
        if not known and not is_unread:
            print(asyncio.run(people.unknown(settings, user, tenant)))
        else:
            print(unread if is_unread else _none_learned(user, everything))
        for line in asyncio.run(waiting.describe(settings, user, tenant)):
            print(printable(line))
    for kind, of_kind in groupby(facts, key=lambda fact: fact.kind):
        console().print(kind.value, style="bold")
        for fact in of_kind:  # one quotation may fill two slots: the attribute tells them apart
            _print_line(fact, settings, fact.attribute)


def explain(
    fact_id: Annotated[
        str, typer.Argument(help="Its id, as `switchboard facts` shows it.", show_default=False)
    ],
    user: User,
    tenant: Tenant = DEFAULT_TENANT,
    json: Json = False,
) -> None:
    """Show what a fact rests on: its sentences, and each change with what caused it."""
    settings = load_settings()
    fact = asyncio.run(one(settings, fact_id, user, tenant))
    if json:
        print_json(fact)
        return
    _print_line(fact, settings)
    _print_where(fact, settings)
    print("rests on")
    for said in fact.provenance:
        by_hand = f"  (corrected by {printable(said.corrected_by)})" if said.corrected_by else ""
        print(f"  {said.sent_at:%Y-%m-%d %H:%M}  “{printable(said.quote)}”{by_hand}")
        print(
            f"                    {printable(said.conversation_id)}: {printable(', '.join(said.message_ids))}"
        )
    if more := fact.evidence_count - len(fact.provenance):
        print(f"  and {count(more, 'earlier piece')} of evidence")
    if fact.why:  # of the fact, not of one quote: it is what it was first kept for
        print(f"  weighed most: {printable(fact.why)}")
    print("changes")
    for revision in fact.changes:
        print(f"  {_told(revision)}")
    if fact.changes and fact.changes[0].version > 1:
        print(f"  (and {count(fact.changes[0].version - 1, 'earlier version')})")


def _none_learned(user: str, everything: bool) -> str:
    """Say why there are no facts of somebody who is known: none were learned, or none hold."""
    if everything:
        return f"{printable(user)} is known, but no fact about them: not every sentence becomes one."
    return f"{printable(user)} is known, but no fact about them holds: --all shows facts that held before."


def _require(user: str) -> None:
    if not user.strip():
        raise InvalidRecord("blank_user", "--user is blank: say whose memory is to be shown")


async def _facts(settings: Settings, user: str, tenant: str, everything: bool) -> tuple[list[Fact], bool, bool]:
    """Return the facts, whether the person is known, and whether something of theirs is only not read yet."""
    statuses = () if everything else (FactStatus.ACTIVE,)
    where = FactFilter(user_id=user, tenant_id=tenant, statuses=statuses)
    asked: dict[str, str | int] = {"user_id": user, "tenant_id": tenant, "limit": _PAGE}
    asked["status"] = "any" if everything else FactStatus.ACTIVE.value
    found: list[Fact] = []
    page = await recall_api.get(settings, "/v1/facts", asked, Page)
    if page is None:
        found = await _opened(settings, lambda index: _all(index, where))
        return found, bool(found) or await _is_known(settings, user, tenant), False
    known, is_unread = page.known, page.unread
    while page is not None:
        found += page.facts
        if page.next is None:
            break
        page = await recall_api.get(settings, "/v1/facts", {**asked, "start": page.next}, Page)
    return found, known, is_unread


async def _is_known(settings: Settings, user: str, tenant: str) -> bool:
    """Say whether anything of a person is in the data folder."""
    from streams.agents.vectors.living_embedder import open_living
    from streams.stores.index_factory import open_index
    from streams.stores.qdrant_kinds import FACTS, TURNS
    from streams.stores.search import MemorySearch

    async with AsyncExitStack() as resources:
        embedder = await open_living(settings, resources)
        space = VectorSpace(embedder.model, embedder.dimensions)
        facts, turns = open_index(settings, FACTS, space), open_index(settings, TURNS, space)
        resources.push_async_callback(facts.close)
        resources.push_async_callback(turns.close)
        return await MemorySearch(facts, embedder, turns).knows(user, tenant)


async def _all(index: FactReader, where: FactFilter) -> list[Fact]:
    found: list[Fact] = []
    async for fact in _each(index, where):
        found.append(fact)
    return found


async def _each(index: FactReader, where: FactFilter) -> AsyncIterator[Fact]:
    facts, following = await index.page(where, _PAGE)
    while True:
        for fact in facts:
            yield fact
        if following is None:
            return
        facts, following = await index.page(where, _PAGE, following)


async def one(settings: Settings, fact_id: str, user: str, tenant: str) -> Fact:
    """Return a fact about a person.

    Raises:
        ConfigurationError: what is given can be no id, or nobody's.
        NotFound: there is no such fact about this person.
    """
    _require(user)
    fact_id = fact_id.strip()
    if not fact_id or "/" in fact_id:
        raise ConfigurationError("FACT_ID is no id: `switchboard facts --user ...` lists the facts of a person")
    asked = {"user_id": user, "tenant_id": tenant}
    fact = await recall_api.get(settings, f"/v1/facts/{fact_id}", asked, Fact)
    if fact is not None:
        return fact
    for known in await _opened(settings, lambda index: index.get([fact_id])):
        if (known.tenant_id, known.user_id) == (tenant, user):
            return known
    raise NotFound(
        f"there is no fact {fact_id} about {user} in tenant {tenant}: `switchboard facts --user ...` lists them"
    )


async def _opened(settings: Settings, ask: Callable[[FactReader], Awaitable[T]]) -> T:
    from streams.agents.vectors.living_embedder import open_living
    from streams.clients.policies.known import read_policies
    from streams.stores.expiring_index import shown_facts
    from streams.stores.index_factory import open_index
    from streams.stores.qdrant_kinds import FACTS

    settings = await of_command(settings)
    recall_api.require_index(settings)
    async with AsyncExitStack() as resources:
        embedder = await open_living(settings, resources)
        index = open_index(settings, FACTS, VectorSpace(embedder.model, embedder.dimensions))
        resources.push_async_callback(index.close)
        return await ask(shown_facts(index, await read_policies(settings)))


def _print_line(fact: Fact, settings: Settings, attribute: str = "") -> None:
    now = confidence_at(fact, datetime.now(UTC), settings.decay_rates)
    unsure = "  [tentative]" if fact.tentative else ""
    end = unsure if fact.status is FactStatus.ACTIVE else f"  [{fact.status.value.replace('_', ' ')}]"
    said = "" if fact.evidence_count == 1 else f", said {fact.evidence_count} times"
    print(f"  {now:.2f}  {printable(fact.statement)}{end}")
    about = f"{printable(attribute)}, " if attribute else ""
    print(f"        {fact.fact_id}  {about}since {fact.valid_from:%Y-%m-%d}{_until(fact)}{said}")


def _until(fact: Fact) -> str:
    return "" if fact.valid_to is None else f" until {fact.valid_to:%Y-%m-%d}"


def _print_where(fact: Fact, settings: Settings) -> None:
    if fact.attribute:
        whose = "" if fact.subject == SELF else f" of {printable(fact.subject)}"
        denied = "not " if fact.polarity is Polarity.NEGATED else ""
        print(f"  {printable(fact.attribute)}{whose}: {denied}{printable(fact.value) or 'anything'}")
    if fact.tentative:
        print("  tentative: never said with certainty, so it replaces no other fact")
    print(f"  confidence {fact.confidence:.2f} on {fact.last_evidence_at:%Y-%m-%d}, when it was last heard")
    for period in fact.past:
        print(f"  before from {period.valid_from:%Y-%m-%d} until {period.valid_to:%Y-%m-%d}")
    for word, other in (("superseded by", fact.superseded_by), ("merged into", fact.merged_into_id)):
        if other:
            print(f"  {word} {other}")


def _told(revision: Revision) -> str:
    before = "" if revision.confidence_before is None else f"{revision.confidence_before:.2f} -> "
    cause = [
        f"{word} {printable(value)}"
        for word, value in (
            ("by", revision.fact_id),
            ("message", revision.message_id),
            ("window", revision.window_id),
        )
        if value
    ]
    told = f"{revision.version:>3}  {revision.at:%Y-%m-%d %H:%M}  {revision.change.value:<12} "
    return f"{told}{before}{revision.confidence_after:.2f}  {', '.join(cause)}"
