"""Reading from Kafka for a person: no consumer group, no commits, nothing on the broker changes.

Everything raises :class:`DependencyUnavailable` when the broker does not answer in time.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any, NamedTuple

from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.errors import GroupCoordinatorNotAvailableError, KafkaError

from models.errors import DependencyUnavailable
from streams.runtime.records import SourceRecord
from streams.settings import Settings

#: Long enough for a broker that is busy, short enough for somebody who waits at a prompt.
ANSWER_SECONDS = 15.0

#: With an aborted or open transaction the last records are never delivered: stop after this silence.
_SILENCE_SECONDS = 5.0

_CLOSE_SECONDS = 5.0


class GroupLag(NamedTuple):
    """How far a consumer group is in a topic.  ``committed`` and ``end`` are sums over its partitions.

    ``beyond`` numbers the partitions where the group is past the end: they were deleted and made again.
    """

    group: str
    topic: str
    partitions: int
    committed: int
    end: int
    lag: int
    beyond: list[int]


@asynccontextmanager
async def answering(settings: Settings) -> AsyncIterator[None]:
    """Turn what the client library raises into :class:`DependencyUnavailable`."""
    try:
        yield
    except BrokenPipeError:
        raise  # our own stdout: the reader of the pipe has seen enough
    except (KafkaError, OSError, TimeoutError) as error:
        raise DependencyUnavailable(
            "kafka",
            f"no usable answer from {settings.bootstrap_servers} ({type(error).__name__}): start the broker "
            "(`make demo` starts one), or set SWITCHBOARD_BOOTSTRAP_SERVERS to the host:port of one that runs",
        ) from error


@asynccontextmanager
async def administering(settings: Settings) -> AsyncIterator[AIOKafkaAdminClient]:
    """Yield a connected admin client."""
    client = AIOKafkaAdminClient(
        bootstrap_servers=settings.bootstrap_servers,
        client_id="switchboard-cli",
        request_timeout_ms=int(ANSWER_SECONDS * 1000),
    )
    try:
        async with answering(settings):
            async with asyncio.timeout(ANSWER_SECONDS):
                await client.start()
            yield client
    finally:
        with suppress(TimeoutError):
            await asyncio.wait_for(client.close(), _CLOSE_SECONDS)


@asynccontextmanager
async def reading(settings: Settings) -> AsyncIterator[AIOKafkaConsumer]:
    """Yield a connected consumer without a group, which sees committed records only."""
    consumer = AIOKafkaConsumer(
        bootstrap_servers=settings.bootstrap_servers,
        client_id="switchboard-cli",
        group_id=None,
        enable_auto_commit=False,
        auto_offset_reset="earliest",
        isolation_level="read_committed",
        request_timeout_ms=int(ANSWER_SECONDS * 1000),
        fetch_max_wait_ms=200,
    )
    try:
        async with answering(settings):
            async with asyncio.timeout(ANSWER_SECONDS):
                await consumer.start()
            yield consumer
    finally:
        with suppress(TimeoutError):
            await asyncio.wait_for(consumer.stop(), _CLOSE_SECONDS)


async def partitions_of(settings: Settings, topics: Iterable[str] = ()) -> dict[str, int]:
    """Return how many partitions each of ``topics`` has; all topics if none are named.

    Topics that do not exist are left out.  The broker is always asked for all: asking for one by name may
    make it create that topic.
    """
    wanted = set(topics)
    async with administering(settings) as client, asyncio.timeout(ANSWER_SECONDS):
        described = await client.describe_topics(None)
    return {
        topic["topic"]: len(topic["partitions"])
        for topic in described
        if not wanted or topic["topic"] in wanted
    }


async def ends_of(
    consumer: AIOKafkaConsumer, partitions: Sequence[TopicPartition]
) -> dict[TopicPartition, int]:
    """Return the offset after the last record of each partition."""
    async with asyncio.timeout(ANSWER_SECONDS):
        return dict(await consumer.end_offsets(list(partitions))) if partitions else {}


async def beginnings_of(
    consumer: AIOKafkaConsumer, partitions: Sequence[TopicPartition]
) -> dict[TopicPartition, int]:
    """Return the offset of the first record that each partition still has."""
    async with asyncio.timeout(ANSWER_SECONDS):
        return dict(await consumer.beginning_offsets(list(partitions))) if partitions else {}


async def until(consumer: AIOKafkaConsumer, ends: Mapping[TopicPartition, int]) -> AsyncIterator[SourceRecord]:
    """Yield the records of the assigned partitions up to ``ends``, in order within each partition."""
    remaining = dict(ends)
    silent = 0.0
    while True:
        for partition in list(remaining):
            async with asyncio.timeout(ANSWER_SECONDS):
                if await consumer.position(partition) >= remaining[partition]:
                    del remaining[partition]
        if not remaining or silent >= _SILENCE_SECONDS:
            return
        batches = await consumer.getmany(*remaining, timeout_ms=500)
        silent = 0.0 if batches else silent + 0.5
        for partition, records in batches.items():
            for record in records:
                if record.offset < ends[partition]:
                    yield record


async def group_lags(settings: Settings, groups: Sequence[str]) -> list[GroupLag]:
    """Return one row per group and topic that it has committed in."""
    committed: dict[str, Mapping[TopicPartition, Any]] = {}
    async with administering(settings) as client, asyncio.timeout(ANSWER_SECONDS):
        for group in groups:
            try:
                committed[group] = await client.list_consumer_group_offsets(group)
            except GroupCoordinatorNotAvailableError:
                committed[group] = {}  # a broker on which no group has ever committed
        existing = {topic["topic"] for topic in await client.describe_topics(None)}
    # the end of a partition that was deleted would be awaited for ever
    known = sorted({p for offsets in committed.values() for p in offsets if p.topic in existing})
    async with reading(settings) as consumer:
        ends = await ends_of(consumer, known)
    rows = []
    for group, offsets in committed.items():
        for topic in sorted({partition.topic for partition in offsets}):
            done = {p: max(meta.offset, 0) for p, meta in offsets.items() if p.topic == topic}
            end = {p: ends.get(p, 0) for p in done}
            lag = sum(max(end[p] - done[p], 0) for p in done)
            beyond = sorted(p.partition for p in done if done[p] > end[p])
            rows.append(GroupLag(group, topic, len(done), sum(done.values()), sum(end.values()), lag, beyond))
    return rows
