"""Reading answers back from a real broker, which is lost in the midst of them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka.errors import KafkaConnectionError, OffsetOutOfRangeError

from deploy.local.kafka import LocalKafka
from models.responses import ResponseChunk
from streams import kafka as clients
from streams.chat import filtered as module
from streams.chat.filtered import DUPLICATES, RESPONSES, SUMMARIES, Filtered
from streams.runtime.partitioner import partition_of
from streams.settings import Settings
from streams.topics import admin
from streams.topics.catalog import Catalog, catalog_for

pytestmark = pytest.mark.kafka


@pytest.fixture
async def settings(kafka: LocalKafka, topic_prefix: str, tmp_path: Path) -> Settings:
    made = Settings(bootstrap_servers=kafka.bootstrap_servers, topic_prefix=topic_prefix, data_dir=tmp_path)
    catalog = catalog_for(made)
    read = [catalog.get(topic) for topic in (RESPONSES, DUPLICATES, SUMMARIES)]
    await admin.apply(Catalog(read, catalog.prefix), made)
    return made


@pytest.fixture
async def producer(settings: Settings) -> AsyncIterator[AIOKafkaProducer]:
    async with clients.connected(clients.make_producer(settings, "test"), settings, 30.0) as made:
        yield made


@pytest.fixture
async def filtered(settings: Settings) -> AsyncIterator[Filtered]:
    made = Filtered(settings)
    yield made
    await made.close()


def chunk(sequence: int) -> ResponseChunk:
    return ResponseChunk(response_id="r-1", conversation_id="c-1", sequence=sequence, text=f"{sequence} ")


async def write(producer: AIOKafkaProducer, settings: Settings, *sequences: int) -> None:
    spec = catalog_for(settings).get(RESPONSES)
    for sequence in sequences:
        value = msgspec.json.encode(chunk(sequence))
        place = partition_of(b"r-1", spec.partitions)
        await producer.send_and_wait(spec.name, value, key=b"r-1", partition=place)


async def heard(queue: asyncio.Queue[Any], count: int) -> list[int]:
    async with asyncio.timeout(60):
        return [(await queue.get()).sequence for _ in range(count)]


async def test_what_is_written_while_the_broker_is_lost_is_read_when_it_is_back(
    settings: Settings, producer: AIOKafkaProducer, filtered: Filtered, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def lost(*_: Any, **__: Any) -> Any:
        await write(producer, settings, 2, 3)
        monkeypatch.undo()
        raise KafkaConnectionError("gone")

    with filtered.watch("r-1", "default", "c-1") as queue:
        await filtered.ready()
        await write(producer, settings, 0, 1)
        assert await heard(queue, 2) == [0, 1]
        monkeypatch.setattr(AIOKafkaConsumer, "getmany", lost)
        assert await heard(queue, 2) == [2, 3]
        await write(producer, settings, 4)
        assert await heard(queue, 1) == [4]


async def test_what_was_written_while_nobody_watched_is_not_read(
    settings: Settings, producer: AIOKafkaProducer, filtered: Filtered
) -> None:
    with filtered.watch("r-1", "default", "c-1") as queue:
        await filtered.ready()
        await write(producer, settings, 0)
        assert await heard(queue, 1) == [0]
    async with asyncio.timeout(60):
        while filtered._reading.is_set():
            await asyncio.sleep(0.01)
    await write(producer, settings, 1)
    with filtered.watch("r-1", "default", "c-1") as queue:
        await filtered.ready()
        await write(producer, settings, 2)
        assert await heard(queue, 1) == [2]


async def test_after_what_is_gone_from_the_topic_it_is_read_on_from_the_end(
    settings: Settings, producer: AIOKafkaProducer, filtered: Filtered, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is missing is seen by its number; nobody waits for it for ever."""
    monkeypatch.setattr(module, "_FIRST_WAIT_SECONDS", 0.01)

    async def gone(*_: Any, **__: Any) -> Any:
        await write(producer, settings, 1)
        monkeypatch.undo()
        raise OffsetOutOfRangeError({})

    with filtered.watch("r-1", "default", "c-1") as queue:
        await filtered.ready()
        await write(producer, settings, 0)
        assert await heard(queue, 1) == [0]
        monkeypatch.setattr(AIOKafkaConsumer, "getmany", gone)
        async with asyncio.timeout(60):
            while filtered._reading.is_set() or monkeypatch._setattr:
                await asyncio.sleep(0.001)
            while not filtered._reading.is_set():
                await asyncio.sleep(0.001)
        await write(producer, settings, 2)
        assert await heard(queue, 1) == [2]
