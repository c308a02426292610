"""Reading topics back as any consumer could: committed records only, from the beginning to the end."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Sequence

from aiokafka import AIOKafkaConsumer, ConsumerRecord, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient

from streams.clients.catalog import Catalog
from tests.topic_records import records_of

#: Seconds without anything new after which something is wrong.
_PATIENCE = 60.0


async def read_partition(servers: str, tp: TopicPartition) -> AsyncIterator[ConsumerRecord]:
    """Yield the committed records that the partition holds now, in offset order, a few at a time."""
    # One assignment: another that takes its place in the middle of a fetch may end the fetching.
    async with _consumer(servers) as consumer:
        consumer.assign([tp])
        begin = (await consumer.beginning_offsets([tp]))[tp]
        end = (await consumer.end_offsets([tp]))[tp]
        consumer.seek(tp, begin)
        position, since = begin, time.monotonic()
        while position < end:
            records = (await consumer.getmany(tp, timeout_ms=200)).get(tp, ())
            before, position = position, await consumer.position(tp)
            if position > before:
                since = time.monotonic()
            assert time.monotonic() - since < _PATIENCE, f"{tp} is not read on from {position} to {end}"
            for record in records:
                if record.offset < end:
                    yield record
            if records:
                since = time.monotonic()  # who takes them may have taken long


def _consumer(servers: str) -> AIOKafkaConsumer:
    return AIOKafkaConsumer(
        bootstrap_servers=servers,
        isolation_level="read_committed",
        auto_offset_reset="earliest",
        max_partition_fetch_bytes=8 << 20,
        fetch_max_wait_ms=50,
    )


async def read_topic(servers: str, topic: str, partitions: int) -> list[ConsumerRecord]:
    return (await records_of(servers, {topic: partitions}))[topic]


async def undrained(servers: str, catalog: Catalog, group: str, sources: Sequence[str]) -> dict[str, int]:
    """Return how many records the group has not committed, for the partitions where it is not at the end."""
    admin = AIOKafkaAdminClient(bootstrap_servers=servers)
    async with _consumer(servers) as consumer:
        await admin.start()
        try:
            committed = await admin.list_consumer_group_offsets(group)
        finally:
            await admin.close()
        tps = [
            TopicPartition(catalog.name(source), number)
            for source in sources
            for number in range(catalog.partitions(source))
        ]
        ends = await consumer.end_offsets(tps)
        offsets = {tp: committed[tp].offset if tp in committed else 0 for tp in tps}
        return {f"{tp.topic}-{tp.partition}": ends[tp] - offsets[tp] for tp in tps if offsets[tp] != ends[tp]}


class Comparison:
    """Reads the topics of one deployment, and collects what is missing, wrong or invented."""

    def __init__(self, servers: str, catalog: Catalog) -> None:
        self._servers = servers
        self._catalog = catalog
        self.problems: list[str] = []

    async def _read(self, name: str) -> list[ConsumerRecord]:
        spec = self._catalog.get(name)
        return await read_topic(self._servers, spec.name, spec.partitions)

    def _problem(self, what: str) -> None:
        self.problems.append(what)

    def _raise(self) -> None:
        if self.problems:
            raise AssertionError("\n".join([f"{len(self.problems)} problems:", *self.problems[:40]]))


def letter(record: ConsumerRecord, reason: str) -> tuple:
    """The dead letter that a bad record must become, as :func:`dead_letter_of` reads it."""
    place = (record.partition, record.offset)
    return (reason, record.topic, place, record.key, record.value, record.headers)


def dead_letter_of(record: ConsumerRecord) -> tuple:
    """The bad record as its dead letter keeps it, byte for byte."""
    why = {name: value.decode() for name, value in record.headers if name.startswith("dlq_")}
    place = (int(why.get("dlq_partition", -1)), int(why.get("dlq_offset", -1)))
    headers = tuple(header for header in record.headers if not header[0].startswith("dlq_"))
    return (why.get("dlq_reason"), why.get("dlq_topic"), place, record.key, record.value, headers)
