"""People who were erased and are known again, as after a restored backup: the ledger against the topics."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

import msgspec
from aiokafka import TopicPartition

from models.erasures import ErasedPerson
from models.errors import InvalidRecord
from streams.clients.catalog import TURNS, catalog_for
from streams.clients.erasure_ledger import LEDGER, ErasureLedger, open_ledger
from streams.clients.kafka import broker
from streams.clients.records import SourceRecord
from streams.clients.topics import FACTS
from streams.config.printing import printable
from streams.config.settings import Settings


class Returned(NamedTuple):
    """A person who was erased, and of whom something is known that had arrived by then.

    ``since``: something that arrived later is known, too, which would be erased with it.
    """

    tenant_id: str
    user_id: str
    erased_at: datetime
    since: bool


class _Turn(msgspec.Struct):
    tenant_id: str
    user_id: str
    arrived_at: datetime


class _Fact(msgspec.Struct):
    tenant_id: str
    user_id: str
    last_evidence_at: datetime


_Arrival = tuple[str, str, datetime]


async def returned(settings: Settings) -> list[Returned]:
    """Return those who were erased and are known again, by tenant and name.

    Turns and facts are read from the beginning: seconds for millions.

    Raises:
        DependencyUnavailable: the broker does not answer.
    """
    turn, fact = msgspec.json.Decoder(_Turn).decode, msgspec.json.Decoder(_Fact).decode
    async with AsyncExitStack() as resources:
        ledger = await open_ledger(settings, resources)
        await ledger.ready()
        if ledger.is_empty:
            return []
        arrivals = [
            *await _known(settings, TURNS, lambda value: _of_turn(turn(value)), ledger),
            *await _known(settings, FACTS, lambda value: _of_fact(fact(value)), ledger),
        ]
        return _found(arrivals, ledger)


async def put_back(settings: Settings, copy: Path) -> int:
    """Add to the ledger what a copy of it knows besides; return how many people these are.

    ``copy``: ``erasures.json`` of the data folder of a service.

    Raises:
        InvalidRecord: the file is no copy of a ledger.
        DependencyUnavailable: the broker does not answer.
    """
    try:
        kept = msgspec.json.decode(await asyncio.to_thread(copy.read_bytes), type=dict[str, ErasedPerson])
    except (OSError, msgspec.MsgspecError) as error:
        raise InvalidRecord(
            "no_ledger",
            f"{printable(str(copy))} is no copy of the ledger of erasures ({error}): it is called "
            "erasures.json, in the data folder of ingest, recall and serve",
        ) from None
    known = await LEDGER.read_all(settings)
    missing = [each for key, each in kept.items() if key not in known or known[key].until < each.until]
    for each in missing:
        await LEDGER.put(settings, each.person_id, each)
    return len(missing)


def _of_turn(turn: _Turn) -> _Arrival:
    return turn.tenant_id, turn.user_id, turn.arrived_at


def _of_fact(fact: _Fact) -> _Arrival:
    return fact.tenant_id, fact.user_id, fact.last_evidence_at


def _found(arrivals: list[_Arrival], ledger: ErasureLedger) -> list[Returned]:
    before: set[tuple[str, str]] = set()
    since: set[tuple[str, str]] = set()
    for tenant_id, user_id, arrived in arrivals:
        until = ledger.until(tenant_id, user_id)
        assert until is not None  # of others nothing was kept
        (since if arrived.timestamp() > until else before).add((tenant_id, user_id))
    return [
        Returned(*who, datetime.fromtimestamp(ledger.until(*who) or 0.0, UTC), who in since)
        for who in sorted(before)
    ]


async def _known(
    settings: Settings, topic: str, read: Callable[[bytes], _Arrival], ledger: ErasureLedger
) -> list[_Arrival]:
    """Return when the latest records of a topic about people who were erased had arrived."""
    latest: dict[bytes | None, _Arrival] = {}
    async for record in _records(settings, topic):
        latest.pop(record.key, None)
        if record.value is None:
            continue
        try:
            arrival = read(record.value)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            continue  # the stage that reads the topic dead-letters it
        if ledger.until(*arrival[:2]) is not None:
            latest[record.key] = arrival
    return [*latest.values()]


async def _records(settings: Settings, topic: str) -> AsyncIterator[SourceRecord]:
    spec = catalog_for(settings).get(topic)
    places = [TopicPartition(spec.name, number) for number in range(spec.partitions)]
    async with broker.reading(settings) as consumer:
        consumer.assign(places)
        async for record in broker.until(consumer, await broker.ends_of(consumer, places)):
            yield record
