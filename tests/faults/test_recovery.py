"""State comes back whole: from a changelog that comes slowly, and that somebody else still writes to."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from aiokafka import AIOKafkaProducer, TopicPartition
from aiokafka.consumer.fetcher import Fetcher
from faust.tables.base import Collection
from topic_reader import read_partition, read_topic
from verdict import CHANGELOG, MESSAGES, SUMMARIES
from workers import eventually

from streams.agents.ingest.conversations import Conversations
from streams.config.settings import load_settings
from streams.llm.tokenizer import cl100k_counter
from streams.runtime.service import ServiceRuntime
from streams.runtime.stored import StoredPartition
from streams.telemetry.health import HealthState
from streams.telemetry.metrics import Metrics

pytestmark = [pytest.mark.kafka, pytest.mark.faults, pytest.mark.long]

SOURCES = (MESSAGES, SUMMARIES)


@asynccontextmanager
async def serving(stream, instance: str, **changes: object) -> AsyncIterator[ServiceRuntime]:
    """Run the ingest service until the block ends; a failure of its own fails the test."""
    settings = load_settings(**stream.settings(instance, **changes))
    runtime = ServiceRuntime(
        "ingest",
        [Conversations(settings, cl100k_counter()).stage()],
        settings=settings,
        catalog=stream.catalog,
        metrics=Metrics(),
        health=HealthState(60),
    )
    await runtime.start()
    try:
        await eventually(lambda: not runtime.health.why_not_ready(), f"{instance} is ready")
        yield runtime
    finally:
        await runtime.stop()
    assert runtime.failure is None


@asynccontextmanager
async def zombie(stream) -> AsyncIterator[list[int]]:
    """Write to the end of the changelog what it held before, again and again: a worker of long ago."""
    topic = stream.catalog.name(CHANGELOG)
    old = await read_topic(stream.servers, topic, stream.catalog.partitions(CHANGELOG))
    written = [0]

    async def write() -> None:
        async with AIOKafkaProducer(bootstrap_servers=stream.servers, acks="all", linger_ms=5) as producer:
            while True:
                for record in old:
                    await producer.send(topic, record.value, record.key, partition=record.partition)
                    written[0] += 1
                    if written[0] % 20 == 0:
                        await asyncio.sleep(0.01)

    task = asyncio.create_task(write())
    try:
        yield written
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


@pytest.fixture
def slow_changelog(monkeypatch) -> None:
    """Hand over what was fetched of a changelog a little late."""
    fetched_records = Fetcher.fetched_records

    async def slowly(self, partitions, *args, **options):
        taken = await fetched_records(self, partitions, *args, **options)
        if any(tp.topic.endswith("-changelog") for tp in taken):
            await asyncio.sleep(0.02)
        return taken

    monkeypatch.setattr(Fetcher, "fetched_records", slowly)

    async def slow_event(self, event):
        await asyncio.sleep(0.1)

    monkeypatch.setattr(Collection, "on_changelog_event", slow_event)


async def compacted(stream) -> list:
    """What compaction would leave of the changelog: the last record of each key."""
    topic = stream.catalog.name(CHANGELOG)
    records = await read_topic(stream.servers, topic, stream.catalog.partitions(CHANGELOG))
    return list({record.key: record for record in records}.values())


async def test_a_slow_changelog_is_read_to_its_end(stream, slow_changelog):
    async with serving(stream, "a"):
        load = stream.load(6000, rate=2000)  # several batches, and so several values of each key
        await load.finish()
        await stream.drained()
    async with zombie(stream) as written:
        await eventually(lambda: written[0] > 100, "the zombie writes")
        async with serving(stream, "a"):
            more = stream.load(500, rate=4000, records=stream.messages(name="more"))
            await more.finish()
            await stream.drained()
    assert any(stored.stale for stored in await replayed(stream)), "or this shows nothing"
    async with serving(stream, "a"):
        await stream.verdict()
    last = StoredPartition(SOURCES)
    last.fold(await compacted(stream))
    whole = {key: value for stored in await replayed(stream) for key, value in stored.values.items()}
    assert last.values == whole, "what the zombie wrote last is mended, or compaction would keep it"


async def replayed(stream) -> list[StoredPartition]:
    """Replay the changelog; return its partitions."""
    topic, partitions = stream.catalog.name(CHANGELOG), []
    for number in range(stream.catalog.partitions(CHANGELOG)):
        partitions.append(StoredPartition(SOURCES))
        async for record in read_partition(stream.servers, TopicPartition(topic, number)):
            partitions[-1].fold([record])
    return partitions
