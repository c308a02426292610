"""Reading dead letters from their queues."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Mapping

from aiokafka import TopicPartition

from models.errors import NotFound
from streams.clients.catalog import catalog_for
from streams.clients.kafka import broker
from streams.clients.records import (
    SourceRecord,
)
from streams.clients.topic_spec import TopicSpec
from streams.config.settings import Settings
from streams.queries.dead_letters.causes import cause_of, field_of
from streams.queries.dead_letters.letters import Group, Letter, LetterReader, Place, Whole
from streams.runtime.deadletters import (
    DLQ_SUFFIX,
)


def queues(settings: Settings) -> list[str]:
    """Return the names (on the broker) of all dead-letter queues that the catalog knows."""
    return [spec.name for spec in catalog_for(settings) if spec.dead_letter_of]


def queue_named(settings: Settings, name: str) -> TopicSpec:
    """Return the queue of a topic, by the topic's name or its own.  Raises :class:`NotFound`."""
    wanted = name.removesuffix(DLQ_SUFFIX)
    for spec in catalog_for(settings):
        names = (spec.contract_name.removesuffix(DLQ_SUFFIX), spec.name.removesuffix(DLQ_SUFFIX))
        if spec.dead_letter_of and wanted in names:
            return spec
    raise NotFound(
        f"no topic {name!r} has a dead-letter queue: `switchboard topics list` names those that have"
    )


async def groups_of(settings: Settings, names: Collection[str] = (), *, by_cause: bool = False) -> list[Group]:
    """Return the unsettled letters of the queues (names on the broker; all by default), in groups.

    ``by_cause``: letters whose messages name another field or another cause are another group.

    Raises :class:`DependencyUnavailable` when the broker does not answer.
    """
    found: dict[tuple[str, ...], list[Letter]] = {}
    present = await broker.partitions_of(settings, names or queues(settings))
    readers = {queue: LetterReader(queue, None, with_records=False) for queue in present}
    async for record in _records(settings, present):
        readers[record.topic].take(record)
    for reader in readers.values():
        for letter, _ in reader.letters():
            cause = (field_of(letter.message), cause_of(letter.message)) if by_cause else ("", "")
            found.setdefault((letter.queue, letter.reason, letter.stage, *cause), []).append(letter)
    groups = [
        Group(
            queue=queue,
            reason=reason,
            stage=stage,
            count=len(some),
            first_at=min(letter.at for letter in some),
            last_at=max(letter.at for letter in some),
            message=max(some, key=lambda letter: letter.at).message,
            field=field,
        )
        for (queue, reason, stage, field, _), some in found.items()
    ]
    return sorted(groups, key=lambda group: (group.queue, -group.count, group.reason))


async def letters_of(settings: Settings, queue: str, since_ms: int | None = None) -> list[Letter]:
    """Return the letters of a queue that are not settled, the latest last; see :func:`read_letters`."""
    return [
        whole.letter for whole in await read_letters(settings, queue, with_records=False, since_ms=since_ms)
    ]


async def read_letters(
    settings: Settings,
    queue: str,
    wanted: Collection[Place] | None = None,
    *,
    with_records: bool = True,
    since_ms: int | None = None,
) -> list[Whole]:
    """Return letters of a queue that are not settled: all of them, or those at the places ``wanted``.

    ``since_ms``: only what was written from then on (ms since 1970).

    Raises :class:`NotFound` for a queue that does not exist or a place where no such letter lies, and
    :class:`DependencyUnavailable` when the broker does not answer.
    """
    present = await broker.partitions_of(settings, [queue])
    if queue not in present:
        raise NotFound(f"{queue} does not exist yet: `switchboard topics apply` creates it")
    reader = LetterReader(queue, None if wanted is None else set(wanted), with_records)
    async for record in _records(settings, present, since_ms):
        reader.take(record)
    found = reader.letters()
    missing = set(wanted or ()) - {whole.letter.place for whole in found}
    if missing:
        places = ", ".join(map(str, sorted(missing)))
        raise NotFound(
            f"no letter lies at {places} of {queue}, or it was retried or dropped: `switchboard dlq list`"
        )
    return found


async def _records(
    settings: Settings, queues: Mapping[str, int], since_ms: int | None = None
) -> AsyncIterator[SourceRecord]:
    """Yield what lies in queues, of each of which the number of partitions is given, over one connection."""
    places = [TopicPartition(queue, number) for queue, size in queues.items() for number in range(size)]
    async with broker.reading(settings) as consumer:
        ends, begins = await broker.ends_of(consumer, places), await broker.beginnings_of(consumer, places)
        if since_ms is not None:
            begins = await broker.offsets_since(consumer, ends, since_ms)
        held = {place: end for place, end in ends.items() if end > begins[place]}
        if not held:
            return
        consumer.assign(list(held))  # nothing is fetched of those that are empty, which most are
        for place in held:
            consumer.seek(place, begins[place])
        async for batch in broker.batches_until(consumer, held):
            for record in batch:
                yield record
