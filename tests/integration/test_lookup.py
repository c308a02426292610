"""The records of one name, on a real broker: all of them, and of what lies between nothing is read again."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from typing import Any

import msgspec
import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewTopic, RecordsToDelete

from deploy.local.kafka import LocalKafka
from models.errors import DependencyUnavailable, NotFound
from streams import kafka
from streams.conversations.listing import Conversations, NotReadYet
from streams.kafka import broker
from streams.kafka.lookup import Lookup
from streams.kafka.readers import Readers
from streams.runtime.partitioner import partition_of
from streams.runtime.records import SourceRecord
from streams.sending import Sender
from streams.settings import Settings
from streams.topics import admin
from streams.topics.catalog import catalog_for

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


async def write(
    settings: Settings, topic: str, route: str, records: list[tuple[str, dict[str, Any] | None]]
) -> TopicPartition:
    spec = catalog_for(settings).get(topic)
    place = TopicPartition(spec.name, partition_of(route.encode(), spec.partitions))
    async with AIOKafkaProducer(bootstrap_servers=settings.bootstrap_servers, acks="all") as producer:
        for key, value in records:
            raw = None if value is None else msgspec.json.encode(value)
            await producer.send(place.topic, raw, key=key.encode(), partition=place.partition)
        await producer.flush()
    return place


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


async def test_of_what_was_read_once_only_what_is_asked_for_is_read_again(
    settings: Settings, read: list[SourceRecord]
) -> None:
    mine, other = "lookup-1", same_partition("lookup-1")
    await write(settings, MESSAGES, mine, [(mine, {"n": 0})])
    await write(settings, MESSAGES, mine, [(other, {"n": n}) for n in range(800)])
    await write(settings, MESSAGES, mine, [(mine, {"n": 1}), (mine, {"n": 2})])
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
    await write(settings, MESSAGES, mine, [(mine, {"n": 3})])
    newest = await lookup.find(MESSAGES, mine.encode(), newest=2)
    assert newest is not None
    assert ([each["n"] for each in said(newest.records)], newest.earlier) == ([2, 3], 2)
    assert len(read) == 3, "what is new, the one before it, and the last that was known"
    nobody = await lookup.find(MESSAGES, same_partition(other).encode())
    assert nobody is not None
    assert nobody.records == []


async def test_a_record_without_value_is_found_with_what_it_takes_back(settings: Settings) -> None:
    name, other = "lookup-2", same_partition("lookup-2")
    await write(settings, SUMMARIES, name, [(key, {"conversation_id": name}) for key in ("s-1", "s-2")])
    await write(settings, SUMMARIES, name, [("s-3", {"conversation_id": other}), ("s-1", None), ("s-3", None)])
    found = await Lookup(settings).find(SUMMARIES, name.encode())
    assert found is not None
    assert [(each.key, each.value is None) for each in found.records] == [
        (b"s-1", False),
        (b"s-2", False),
        (b"s-1", True),
    ]


async def test_what_retention_has_taken_is_gone_and_many_may_ask_at_once(
    settings: Settings, readers: Readers
) -> None:
    name = "lookup-3"
    place = await write(settings, MESSAGES, name, [(name, {"n": n}) for n in range(10)])
    lookup = Lookup(settings, readers=readers)
    answers = await asyncio.gather(*(lookup.find(MESSAGES, name.encode()) for _ in range(5)))
    assert [len(each.records) for each in answers if each is not None] == [10] * 5
    last = answers[0].records[-1].offset if answers[0] is not None else 0
    client = AIOKafkaAdminClient(bootstrap_servers=settings.bootstrap_servers)
    await client.start()
    await client.delete_records({place: RecordsToDelete(last - 2)})
    await client.close()
    left = await lookup.find(MESSAGES, name.encode())
    assert left is not None
    assert [each["n"] for each in said(left.records)] == [7, 8, 9]


async def test_a_topic_that_was_deleted_and_made_again_is_another(settings: Settings, readers: Readers) -> None:
    name = "lookup-4"
    lookup, topic = Lookup(settings, readers=readers), "memory.windows.v1"
    place = await write(settings, topic, name, [(name, {"n": n}) for n in range(5)])
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
    await write(settings, topic, name, [(name, {"n": n}) for n in range(10, 17)])
    found = await lookup.find(topic, name.encode())
    assert found is not None
    assert [each["n"] for each in said(found.records)] == list(range(10, 17))


async def test_who_asks_next_finds_a_reader_that_is_connected(
    settings: Settings, readers: Readers, monkeypatch: pytest.MonkeyPatch
) -> None:
    connected: list[Any] = []
    connect = kafka.connect

    async def counted(client: Any, *given: Any) -> None:
        connected.append(client)
        await connect(client, *given)

    monkeypatch.setattr(kafka, "connect", counted)
    lookup, name = Lookup(settings, readers=readers), "lookup-kept"
    await write(settings, MESSAGES, name, [(name, {"n": n}) for n in range(3)])

    async def ask(topic: str, found: int) -> None:
        answer = await lookup.find(topic, name.encode())
        assert answer is not None and len(answer.records) == found

    for topic, found in ((MESSAGES, 3), (SUMMARIES, 0), (MESSAGES, 3)):
        await ask(topic, found)
    [reader] = [client for client in connected if isinstance(client, AIOKafkaConsumer)]
    for connection in list(reader._client._conns.values()):
        connection.close()
    await ask(MESSAGES, 3)
    assert len([client for client in connected if isinstance(client, AIOKafkaConsumer)]) == 2, "it was cut off"
    with pytest.raises(ZeroDivisionError):
        async with readers.reading() as reader:
            raise ZeroDivisionError
    async with readers.reading() as another:
        assert another is not reader, "one that broke off is not kept"
        await readers.close()
    assert readers._kept == [] and another._closed


async def test_places_are_kept_of_no_more_records_than_there_is_room_for(
    settings: Settings, read: list[SourceRecord]
) -> None:
    names = [f"lookup-room-{number}" for number in range(8)]
    for name in names:
        await write(settings, MESSAGES, name, [(name, {"n": n}) for n in range(20)])
    lookup = Lookup(settings, most_records=30)
    for name in names:
        found = await lookup.find(MESSAGES, name.encode())
        assert found is not None
        assert len(found.records) == 20
    kept = lookup._places
    assert len(kept) == 1 or sum(len(each.offsets) for each in kept.values()) <= 30
    read.clear()
    again = await lookup.find(MESSAGES, names[0].encode())
    assert again is not None
    assert len(again.records) == 20


async def test_a_broker_that_is_not_there_is_named() -> None:
    with pytest.raises(DependencyUnavailable):
        await Lookup(Settings(bootstrap_servers="127.0.0.1:9")).find(MESSAGES, b"c")


class NothingRead:
    """The log before the recall service has read anything."""

    async def length(self, tenant_id: str, conversation_id: str) -> int:
        return 0

    async def takes_part(self, tenant_id: str, user_id: str, conversation_id: str) -> bool:
        return False


async def test_what_nobody_has_read_yet_is_told_from_what_is_not_there(settings: Settings) -> None:
    name = "lookup-5"
    said = {
        "message_id": "m",
        "conversation_id": name,
        "user_id": "ada",
        "role": "user",
        "content": "Hello.",
        "sent_at": "2026-03-01T00:00:00Z",
    }
    place = await write(settings, MESSAGES, name, [(name, said)])
    reader = AIOKafkaConsumer(
        bootstrap_servers=settings.bootstrap_servers,
        group_id=settings.group("recall"),
        enable_auto_commit=False,
    )
    await reader.start()
    reader.assign([place])
    await reader.commit({place: 0})
    sender = Sender(settings)
    found = Conversations(settings, NothingRead(), sender, Lookup(settings))  # type: ignore[arg-type]
    for user in ("ada", None):
        with pytest.raises(NotReadYet):
            await found.check("default", user, name)
    for tenant, user, conversation in (
        ("default", "bob", name),
        ("acme", "ada", name),
        ("default", "ada", "c"),
    ):
        with pytest.raises(NotFound) as caught:
            await found.check(tenant, user, conversation)
        assert not isinstance(caught.value, NotReadYet)
    await reader.commit({place: (await reader.end_offsets([place]))[place]})
    await reader.stop()
    with pytest.raises(NotFound) as caught:
        await found.check("default", "ada", name)
    assert not isinstance(caught.value, NotReadYet), "it was read, and is not there: it was erased"


async def test_committed_offsets_are_asked_for_over_one_connection(
    settings: Settings, readers: Readers, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[AIOKafkaAdminClient] = []
    start = AIOKafkaAdminClient.start

    async def counted(self: AIOKafkaAdminClient) -> None:
        started.append(self)
        await start(self)

    monkeypatch.setattr(AIOKafkaAdminClient, "start", counted)
    lookup = Lookup(settings, readers=readers)
    assert [await lookup.committed("nobody"), await readers.committed("nobody")] == [{}, {}]
    assert len(started) == 1
    await started[0].close()  # as when the broker was away
    assert await readers.committed("nobody") == {}
    assert len(started) == 2
