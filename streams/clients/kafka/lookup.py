"""The records of one name in a topic, without reading the whole topic each time somebody asks for one.

Where each record lies is kept in memory, 24 bytes of it per record: the hashes of its name and of its key, and
its offset.  Who asks reads what was written since the last question, and of what is older only what is theirs.
A record's *name* is what it is routed by: of a conversation's records the ``conversation_id``.
"""

from __future__ import annotations

import asyncio
from array import array
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from functools import partial
from typing import NamedTuple

import msgspec
import numpy as np
from aiokafka import AIOKafkaConsumer, TopicPartition
from numpy.typing import NDArray

from streams.clients.catalog import catalog_for
from streams.clients.kafka import broker
from streams.clients.kafka.readers import Readers
from streams.clients.partitioner import partition_of
from streams.clients.records import SourceRecord
from streams.clients.topic_spec import TopicSpec
from streams.config.settings import Settings

#: Records whose places are kept, over all partitions (24 bytes each); first go those not asked for the longest.
MOST_RECORDS = 4_000_000

#: Records this near to each other are read in one go: another fetch costs more than those between them.
_NEAR = 500

_Name = Callable[[SourceRecord], bytes | None]


class Found(NamedTuple):
    """The records of a name in their order; ``read_to``: the offset behind the last of ``partition``.

    Records that share a key with one of them are there too, tombstones above all.  ``earlier``: how many older
    ones were not asked for.
    """

    partition: int
    read_to: int
    records: list[SourceRecord]
    earlier: int


class _Places:
    """Where the records of one partition lie."""

    def __init__(self) -> None:
        self.lock = asyncio.Lock()
        self.clear(0)

    def clear(self, read_to: int) -> None:
        self.read_to = read_to
        self.last: tuple[int, int] | None = None
        self.names, self.keys, self.offsets = array("q"), array("q"), array("q")

    def add(self, name: bytes | None, record: SourceRecord) -> None:
        self.names.append(hash(name))
        self.keys.append(hash(record.key))
        self.offsets.append(record.offset)
        self.last = record.offset, record.timestamp
        self.read_to = record.offset + 1

    def forget_before(self, offset: int) -> None:
        """Let go of what retention has taken."""
        gone = int(np.searchsorted(_numbers(self.offsets), offset))
        del self.names[:gone], self.keys[:gone], self.offsets[:gone]

    def of(self, name: bytes) -> list[int]:
        """Return the offsets of what has this name, or a key of what has it."""
        keys = _numbers(self.keys)
        named = _numbers(self.names) == hash(name)
        return [int(each) for each in _numbers(self.offsets)[named | np.isin(keys, np.unique(keys[named]))]]


def _numbers(kept: array[int]) -> NDArray[np.int64]:
    return np.frombuffer(kept, dtype=np.int64)


class Lookup:
    """The records of topics by name.  One of a process, for all who ask; it holds no connection but those of
    ``readers``.
    """

    def __init__(
        self, settings: Settings, most_records: int = MOST_RECORDS, *, readers: Readers | None = None
    ) -> None:
        self._settings = settings
        self._reading = readers.reading if readers is not None else partial(broker.reading, settings)
        #: How far a group has read: see :func:`streams.clients.kafka.broker.committed`.
        self.committed = readers.committed if readers is not None else partial(broker.committed, settings)
        self._catalog = catalog_for(settings)
        self._most_records = most_records
        self._present: dict[str, int] = {}
        self._places: OrderedDict[tuple[str, int], _Places] = OrderedDict()

    async def find(self, topic: str, name: bytes, newest: int | None = None) -> Found | None:
        """Return the records of ``topic`` (contract name) with this name, only the ``newest`` if that is given;
        ``None``: there is no such topic.

        Raises:
            DependencyUnavailable: Kafka does not answer.
        """
        spec = self._catalog.get(topic)
        partitions = await self._partitions(spec.name)
        if partitions is None:
            return None
        place = TopicPartition(spec.name, partition_of(name, partitions))
        kept = self._places.setdefault((topic, place.partition), _Places())
        self._places.move_to_end((topic, place.partition))
        async with kept.lock, self._reading() as consumer:
            consumer.assign([place])
            consumer.pause(place)  # nothing is fetched before it is known what
            new = await self._catch_up(consumer, place, kept, _name_of(spec), name)
            every = kept.of(name)
            offsets = every if newest is None else every[-newest:]
            known = {record.offset: record for record in new}
            wanted = [offset for offset in offsets if offset not in known]
            known |= {record.offset: record async for record in _read(consumer, place, wanted)}
        self._make_room()
        # Of what is not there any more compaction has kept a later record.
        records = [known[each] for each in offsets if each in known]
        return Found(place.partition, kept.read_to, records, len(every) - len(offsets))

    async def _partitions(self, topic: str) -> int | None:
        if topic not in self._present:
            self._present |= await broker.partitions_of(self._settings, [topic])
        return self._present.get(topic)

    async def _catch_up(
        self, consumer: AIOKafkaConsumer, place: TopicPartition, kept: _Places, name_of: _Name, name: bytes
    ) -> list[SourceRecord]:
        """Note where the records lie that came since; return those with this name or a key of its."""
        ends, begins = await asyncio.gather(
            broker.ends_of(consumer, [place]), broker.beginnings_of(consumer, [place])
        )
        begin, end = begins[place], ends[place]
        if end < kept.read_to:  # deleted and made again
            kept.clear(begin)
        kept.forget_before(begin)
        if kept.read_to >= end:
            return []
        # The last one that is known is looked at once more: if another lies there, the topic is another one.
        consumer.seek(place, max(begin, kept.read_to if kept.last is None else kept.last[0]))
        consumer.resume(place)
        found = []
        async for batch in broker.batches_until(consumer, {place: end}):
            for record in batch:
                if record.offset < kept.read_to:
                    if (record.offset, record.timestamp) == kept.last:
                        continue
                    kept.clear(begin)
                    return await self._catch_up(consumer, place, kept, name_of, name)
                named = name_of(record)
                kept.add(named, record)  # what is read stays so, even if this question is given up
                if named == name:
                    found.append(record)
        kept.read_to = end
        return found

    def _make_room(self) -> None:
        total = sum(len(kept.offsets) for kept in self._places.values())
        for place, kept in list(self._places.items())[:-1]:
            if total <= self._most_records:
                return
            if not kept.lock.locked():
                total -= len(kept.offsets)
                del self._places[place]


async def _read(
    consumer: AIOKafkaConsumer, place: TopicPartition, offsets: Sequence[int]
) -> AsyncIterator[SourceRecord]:
    wanted = frozenset(offsets)
    for first, last in _runs(offsets):
        consumer.seek(place, first)
        consumer.resume(place)
        async for batch in broker.batches_until(consumer, {place: last + 1}):
            for record in batch:
                if record.offset in wanted:
                    yield record


def _runs(offsets: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Yield the first and last offset of each run of those that are near to each other."""
    first = last = -1
    for offset in offsets:
        if first >= 0 and offset - last > _NEAR:
            yield first, last
            first = offset
        first, last = (offset if first < 0 else first), offset
    if first >= 0:
        yield first, last


def _name_of(spec: TopicSpec) -> _Name:
    """Return the function that names a record: by its key, or by the field that routes it."""
    if spec.key == spec.routed_by:
        return lambda record: record.key
    routed = msgspec.defstruct("Routed", [(spec.routed_by, str)])
    decode = msgspec.json.Decoder(routed).decode

    def named(record: SourceRecord) -> bytes | None:
        try:
            return str(getattr(decode(record.value or b""), spec.routed_by)).encode()
        except (msgspec.MsgspecError, UnicodeError, RecursionError):
            return None  # a tombstone, or what its readers dead-letter

    return named
