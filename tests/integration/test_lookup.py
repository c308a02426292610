"""The records of one name, on a real broker: all of them, and of what lies between nothing is read again."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from typing import Any

import msgspec
import pytest
from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewTopic

from deploy.local.kafka import LocalKafka
from streams.admin.topics import admin
from streams.clients.catalog import catalog_for
from streams.clients.kafka import broker
from streams.clients.kafka.lookup import Lookup
from streams.clients.kafka.readers import Readers
from streams.clients.partitioner import partition_of
from streams.clients.records import SourceRecord
from streams.config.settings import Settings
from tests.topic_records import write

pytestmark = pytest.mark.kafka

MESSAGES, SUMMARIES = "chat.messages.v1", "memory.summaries.v1"


@pytest.fixture(scope="module")
def settings(kafka: LocalKafka, tmp_path_factory: pytest.TempPathFactory) -> Settings:
    made = Settings(
        bootstrap_servers=kafka.bootstrap_servers,
        topic_prefix="test-lookup-",
        data_dir=tmp_path_factory.mktemp("lookup"),
    )
    asyncio.run(admin.apply(catalog_for(made), made))
    return made


def same_partition(name: str, spec_partitions: int = 8) -> str:
    """Return another name in the partition of ``name``."""
    wanted = partition_of(name.encode(), spec_partitions)
    names = (f"{name}-other-{number}" for number in range(1000))
    return next(each for each in names if partition_of(each.encode(), spec_partitions) == wanted)


@pytest.fixture
async def readers(settings: Settings) -> AsyncIterator[Readers]:
    made = Readers(settings)
    yield made
    await made.close()


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[SourceRecord]:
    """Every record that was taken from the broker."""
    taken: list[SourceRecord] = []
    whole = broker.batches_until

    async def watched(
        consumer: AIOKafkaConsumer, ends: Mapping[TopicPartition, int]
    ) -> AsyncIterator[list[SourceRecord]]:
        async for batch in whole(consumer, ends):
            taken.extend(batch)
            yield batch

    monkeypatch.setattr(broker, "batches_until", watched)
    return taken


def said(records: list[SourceRecord]) -> list[Any]:
    return [msgspec.json.decode(record.value or b"null") for record in records]


async def test_after_one_reading_only_requested_records_are_reread(
    settings: Settings, read: list[SourceRecord]
) -> None:
    mine, other = "lookup-1", same_partition("lookup-1")
    await write(settings, MESSAGES, (mine, {"n": 0}), route=mine)
    await write(settings, MESSAGES, *[(other, {"n": n}) for n in range(800)], route=mine)
    await write(settings, MESSAGES, (mine, {"n": 1}), (mine, {"n": 2}), route=mine)
    lookup = Lookup(settings)
    for times in range(2):
        found = await lookup.find(MESSAGES, mine.encode())
        assert found is not None
        assert [each["n"] for each in said(found.records)] == [0, 1, 2]
        assert found.read_to >= 803
        if times == 0:
            assert len(read) >= 803
            read.clear()
    assert len(read) == 3, "its own records, and none of the others"
    read.clear()
    await write(settings, MESSAGES, (mine, {"n": 3}), route=mine)
    newest = await lookup.find(MESSAGES, mine.encode(), newest=2)
    assert newest is not None
    assert ([each["n"] for each in said(newest.records)], newest.earlier) == ([2, 3], 2)
    assert len(read) == 3, "what is new, the one before it, and the last that was known"
    nobody = await lookup.find(MESSAGES, same_partition(other).encode())
    assert nobody is not None
    assert nobody.records == []


async def test_a_topic_that_was_deleted_and_made_again_is_another(settings: Settings, readers: Readers) -> None:
    name = "lookup-4"
    lookup, topic = Lookup(settings, readers=readers), "memory.windows.v1"
    place = await write(settings, topic, *[(name, {"n": n}) for n in range(5)], route=name)
    assert await lookup.find(topic, name.encode()) is not None
    client = AIOKafkaAdminClient(bootstrap_servers=settings.bootstrap_servers)
    await client.start()
    await client.delete_topics([place.topic])
    async with asyncio.timeout(60):
        while (await client.create_topics([NewTopic(place.topic, 8, 1)])).topic_errors[0][1]:
            await asyncio.sleep(0.1)  # the old one is still on its way out
        # A broker takes records into the old log until it has heard of the new one.
        async with broker.reading(settings) as consumer:
            while (await broker.ends_of(consumer, [place]))[place]:
                await asyncio.sleep(0.1)
    await client.close()
    await write(settings, topic, *[(name, {"n": n}) for n in range(10, 17)], route=name)
    found = await lookup.find(topic, name.encode())
    assert found is not None
    assert [each["n"] for each in said(found.records)] == list(range(10, 17))
