"""Records of topics: read as any consumer could, and written as any producer could."""

from __future__ import annotations

import asyncio
import re
import zlib
from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any

import cramjam
import msgspec
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, ConsumerRecord, TopicPartition

from streams.clients import kafka
from streams.clients.catalog import catalog_for
from streams.clients.partitioner import partition_of
from streams.config.settings import Settings

_PATIENCE = 60.0  # seconds without anything new after which something is wrong

#: Where zlib's stream may begin, or a letter of state and then the length of what LZ4 packed, below 1 MiB.
_PACKED = re.compile(rb"(?=x\x01|[\x40-\x7f]..[\x00-\x0f]\x00)", re.DOTALL)


async def write(settings: Settings, topic: str, *records: tuple[str, Any], route: str = "") -> TopicPartition:
    """Publish (key, value) records, by ``route`` or by their keys; return the partition of the last."""
    spec = catalog_for(settings).get(topic)
    producer: AIOKafkaProducer = kafka.make_producer(settings, "test")
    async with kafka.connected(producer, settings, 30.0):
        for key, value in records:
            place = TopicPartition(spec.name, partition_of((route or key).encode(), spec.partitions))
            raw = value if isinstance(value, bytes | None) else msgspec.json.encode(value)
            await producer.send(place.topic, raw, key.encode(), partition=place.partition)
        await producer.flush()
    return place


async def records_of(servers: str, partitions: Mapping[str, int]) -> dict[str, list[ConsumerRecord]]:
    """Return the committed records that each topic holds now, partition by partition in the order of offsets.

    ``partitions`` says how many each has.  All are read side by side: an empty one costs no wait.
    """
    places = [TopicPartition(topic, number) for topic, count in partitions.items() for number in range(count)]
    found: dict[TopicPartition, list[ConsumerRecord]] = defaultdict(list)
    async with AIOKafkaConsumer(
        bootstrap_servers=servers,
        isolation_level="read_committed",
        auto_offset_reset="earliest",
        max_partition_fetch_bytes=8 << 20,
        fetch_max_wait_ms=50,
    ) as consumer:
        # Once: an assignment that takes another's place in the middle of a fetch may end the fetching.
        consumer.assign(places)
        ends = await consumer.end_offsets(places)
        begins = await consumer.beginning_offsets(places)
        for place in places:
            consumer.seek(place, begins[place])
        left = {place for place in places if begins[place] < ends[place]}
        clock = asyncio.get_running_loop().time
        async with asyncio.timeout(_PATIENCE) as patience:
            while left:
                for place, records in (await consumer.getmany(timeout_ms=100)).items():
                    found[place] += (record for record in records if record.offset < ends[place])
                    patience.reschedule(clock() + _PATIENCE)
                left = {place for place in left if await consumer.position(place) < ends[place]}
    return {
        topic: [record for number in range(count) for record in found[TopicPartition(topic, number)]]
        for topic, count in partitions.items()
    }


def unpacked(data: bytes) -> Iterator[bytes]:
    """Yield what values of state in ``data`` hold that were packed by zlib or LZ4."""
    for packed in (data[found.start() :] for found in _PACKED.finditer(data)):
        try:
            if packed[:2] == b"x\x01":
                yield zlib.decompressobj().decompress(packed)
            else:
                yield bytes(cramjam.lz4.decompress_block(packed[1:]))
        except (zlib.error, cramjam.DecompressionError):
            continue  # the pattern also meets bytes that are not packed
