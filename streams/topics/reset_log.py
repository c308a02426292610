"""Reading topics whole, and writing a table's first values, while none of a service's workers runs."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import NamedTuple

from aiokafka import TopicPartition
from aiokafka.errors import KafkaError

from models.errors import DependencyUnavailable
from streams import kafka
from streams.runtime.records import SourceRecord
from streams.settings import Settings
from streams.topics.catalog import TopicSpec
from streams.topics.cluster import connected, describe

#: Records on their way to the broker at once.
_IN_FLIGHT = 1000


class Placed(NamedTuple):
    """A value of a table, sealed, and the partition that it belongs to."""

    partition: int
    value: bytes


async def write(values: Mapping[bytes, Placed], changelog: TopicSpec, settings: Settings) -> None:
    """Write values to a changelog, which is empty.

    Raises:
        DependencyUnavailable: the broker does not take them.
    """
    producer = kafka.make_producer(
        settings,
        "switchboard-reset",
        max_request_size=changelog.max_message_bytes,
        request_timeout_ms=int(settings.request_timeout_seconds * 1000),
    )
    async with _answering(settings):
        try:
            await kafka.connect(producer, settings, settings.request_timeout_seconds)
            confirmations = []
            for key, (partition, value) in values.items():
                confirmations.append(
                    await producer.send(changelog.name, key=key, value=value, partition=partition)
                )
                if len(confirmations) == _IN_FLIGHT:
                    await asyncio.gather(*confirmations)
                    confirmations.clear()
            await asyncio.gather(*confirmations)
        finally:
            await kafka.close(producer)


async def read(settings: Settings, spec: TopicSpec, note: Callable[[SourceRecord], None]) -> None:
    """Hand every record of a topic to ``note``, in order within each partition; none if it is missing.

    Raises:
        DependencyUnavailable: the broker does not answer.
    """
    async with connected(settings, settings.request_timeout_seconds) as admin:
        found = await describe(admin, [spec.name])
    if spec.name in found:
        async with _answering(settings):
            await _read(settings, spec, found[spec.name].partitions, note)


async def _read(
    settings: Settings, spec: TopicSpec, partitions: int, note: Callable[[SourceRecord], None]
) -> None:
    consumer = kafka.make_consumer(
        settings,
        "switchboard-reset",
        group_id=None,
        auto_offset_reset="earliest",
        request_timeout_ms=int(settings.request_timeout_seconds * 1000),
    )
    places = [TopicPartition(spec.name, number) for number in range(partitions)]
    consumer.assign(places)
    clock = asyncio.get_running_loop().time
    try:
        await kafka.connect(consumer, settings, settings.request_timeout_seconds)
        async with asyncio.timeout(settings.request_timeout_seconds):
            ends = await consumer.end_offsets(places)
        heard = clock()
        while True:
            async with asyncio.timeout(settings.request_timeout_seconds):
                places = [place for place in places if await consumer.position(place) < ends[place]]
            if not places:
                return
            batches = await consumer.getmany(*places, timeout_ms=500)
            for records in batches.values():
                for record in records:
                    note(record)
            if batches:
                heard = clock()
            elif clock() - heard > settings.request_timeout_seconds:
                raise TimeoutError(f"{spec.name} does not go on")
    finally:
        await kafka.close(consumer)


@asynccontextmanager
async def _answering(settings: Settings) -> AsyncIterator[None]:
    try:
        yield
    except (KafkaError, OSError, TimeoutError) as error:
        raise kafka.refusal(error, settings) or DependencyUnavailable(
            "kafka",
            f"the broker at {settings.bootstrap_servers} failed: {error!r}. Repeat this once it is well",
        ) from error
