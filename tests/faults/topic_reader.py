"""Reading topics back as any consumer could: committed records only, from the beginning to the end."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from aiokafka import AIOKafkaConsumer, ConsumerRecord, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient

from streams.topics.catalog import Catalog
from tests.topic_records import records_of


@asynccontextmanager
async def reader(servers: str) -> AsyncIterator[AIOKafkaConsumer]:
    """Yield a consumer of no group."""
    consumer = AIOKafkaConsumer(
        bootstrap_servers=servers,
        isolation_level="read_committed",
        auto_offset_reset="earliest",
        max_partition_fetch_bytes=8 << 20,
        fetch_max_wait_ms=50,
    )
    await consumer.start()
    try:
        yield consumer
    finally:
        await consumer.stop()


async def read_partition(consumer: AIOKafkaConsumer, tp: TopicPartition) -> AsyncIterator[ConsumerRecord]:
    """Yield the committed records that the partition holds now, in offset order."""
    consumer.assign([tp])
    begin = (await consumer.beginning_offsets([tp]))[tp]
    end = (await consumer.end_offsets([tp]))[tp]
    consumer.seek(tp, begin)
    while await consumer.position(tp) < end:
        for record in (await consumer.getmany(tp, timeout_ms=200)).get(tp, ()):
            if record.offset < end:
                yield record


async def read_topic(servers: str, topic: str, partitions: int) -> list[ConsumerRecord]:
    """Return the committed records of a topic, partition by partition."""
    return (await records_of(servers, {topic: partitions}))[topic]


async def undrained(servers: str, catalog: Catalog, group: str, sources: Sequence[str]) -> dict[str, int]:
    """Return how many records the group has not committed, for the partitions where it is not at the end."""
    admin = AIOKafkaAdminClient(bootstrap_servers=servers)
    async with reader(servers) as consumer:
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
