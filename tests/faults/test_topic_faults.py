"""Topics that change under the workers, producers that err, transactions: put right, or refused and said."""

from __future__ import annotations

import itertools
import zlib
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import msgspec
import pytest
from aiokafka import AIOKafkaProducer
from aiokafka.admin import AIOKafkaAdminClient, NewPartitions
from chat_load import Shape
from verdict import MESSAGES, WINDOWS, read_topic
from workers import eventually

from streams.admin.topics import admin
from streams.clients.partitioner import partition_of
from streams.config.settings import Settings
from tests import samples

pytestmark = [pytest.mark.kafka, pytest.mark.faults, pytest.mark.long]


async def test_a_topic_deleted_and_recreated_stops_the_worker(stream):
    worker = stream.worker("a")
    load = stream.load(4000, rate=4000)
    await worker.ready()
    await load.finish()
    await stream.verdict()

    await stream.delete([stream.topic])
    await admin.apply(stream.catalog, Settings(bootstrap_servers=stream.servers))
    await stream.load(80, rate=4000, records=stream.messages(name="new")).finish()
    assert await worker.exits() == 70
    [said] = worker.says("the worker stops")
    assert "deleted and made again" in said["error"] and "switchboard state reset ingest" in said["error"]


@pytest.mark.short
async def test_records_in_the_wrong_partition_are_rerouted(stream):
    """Of a producer that hashes with CRC32 (librdkafka's default), and of one that sets no key."""

    def crc32(key: bytes) -> int:
        return zlib.crc32(key) % stream.catalog.partitions(MESSAGES)

    worker = stream.worker("a")
    loads = [
        stream.load(3000, rate=1000),
        stream.load(3000, rate=1000, records=stream.messages(name="crc"), partition=crc32),
        stream.load(500, rate=200, records=without_key(stream.messages(Shape(5, 40, 0, 0, 0), name="nokey"))),
    ]
    await worker.ready()
    for load in loads:
        await load.finish()
    expected = await stream.verdict()
    assert expected.rerouted > 2500
    assert expected.messages + expected.repeats == 6500, "each is counted where it belongs"
    assert await worker.metric("misrouted_records_total") == expected.rerouted


def without_key(records) -> Iterator[tuple[None, bytes]]:
    return ((None, value) for _, value in records)


async def test_aborted_records_are_no_messages_and_leave_nothing_waiting(stream):
    """Nor does the end of a transaction, an offset without a record, keep an idle conversation open."""
    worker = stream.worker("a", idle_seconds=10, tick_seconds=0.2)
    producer = AIOKafkaProducer(bootstrap_servers=stream.servers, transactional_id=f"{stream.prefix}test")
    await producer.start()
    try:
        for round_ in range(3):
            for outcome in ("aborted", "kept"):
                await producer.begin_transaction()
                for value in conversation(round_, outcome):
                    await producer.send_and_wait(stream.topic, value, b"transacted")
                await (producer.abort_transaction() if outcome == "aborted" else producer.commit_transaction())
        await producer.begin_transaction()
        await producer.send_and_wait(stream.topic, conversation(3, "aborted")[0], b"another")
        await producer.abort_transaction()
    finally:
        await producer.stop()

    async def windows() -> list[dict]:
        topic = stream.catalog.get(WINDOWS)
        return [
            msgspec.json.decode(r.value) for r in await read_topic(stream.servers, topic.name, topic.partitions)
        ]

    async def flushed() -> bool:
        return any(window["reason"] == "idle" for window in await windows())

    await worker.ready()
    await eventually(flushed, "the rest of the conversation is flushed", poll=0.3)
    await stream.drained()
    said = [
        (window["reason"], [message["content"] for message in window["messages"]]) for window in await windows()
    ]
    kept = [f"kept {round_} {number}" for round_ in range(3) for number in range(4)]
    assert said == [("full", kept[:10]), ("idle", kept[7:])]


def conversation(round_: int, outcome: str) -> list[bytes]:
    """Four messages, said two hours ago."""
    said_at = datetime.now(UTC) - timedelta(hours=2)
    said = [
        samples.message(
            number,
            f"{outcome} {round_} {number}",
            at=said_at,
            message_id=f"{outcome}-{round_}-{number}",
            conversation_id="transacted",
        )
        for number in range(4)
    ]
    return [*map(msgspec.json.encode, said)]


async def test_a_first_commit_that_was_never_made_skips_nothing(stream):
    """State without a commit: everything is read again from the start, while new records come in."""
    worker = stream.worker("a", commit_interval_seconds=60, shutdown_timeout_seconds=90)
    load = stream.load(rate=2000)
    await worker.ready()

    async def wrote_state() -> bool:
        return await worker.metric("effects_total", kind="state") > 1000

    await eventually(wrote_state, "there is state")
    worker.kill()
    committed = await commits(stream)
    assert not committed, f"nothing was to be committed, and yet {committed}"
    worker.start()
    await worker.ready()
    assert worker.says("state recovered")[0]["records"] > 0
    await load.reaches(load.sent + 4000)
    sent = await load.stop()

    async def read_all() -> bool:
        return await worker.metric("records_total", topic=MESSAGES) >= sent

    await eventually(read_all, "everything is read, from the start", timeout=180)
    assert await worker.stops() == 0
    # What was read a moment before is not yet processed: it is read again, from the first commit on.
    worker.start()
    await worker.ready()
    await stream.verdict()


async def commits(stream) -> dict:
    client = AIOKafkaAdminClient(bootstrap_servers=stream.servers)
    await client.start()
    try:
        return await client.list_consumer_group_offsets(stream.group)
    finally:
        await client.close()


async def add_a_partition(stream) -> None:
    """As an operator might; return when the broker says so to everybody."""
    client = AIOKafkaAdminClient(bootstrap_servers=stream.servers)
    await client.start()
    try:
        await client.create_partitions({stream.topic: NewPartitions(9)})
    finally:
        await client.close()
    await differs(stream, stream.topic)


async def differs(stream, topic: str) -> None:
    """Wait until the broker's answers show that ``topic`` is not as its contract says: they lag behind."""

    async def seen() -> bool:
        found = await admin.check(
            stream.catalog, Settings(bootstrap_servers=stream.servers), timeout_seconds=30
        )
        return topic in {difference.topic for difference in found if difference.blocking}

    await eventually(seen, f"{topic} differs")


async def test_a_partition_added_meanwhile_splits_no_conversation(stream):
    worker = stream.worker("a")
    before = stream.load(1000, rate=2000)
    await worker.ready()
    await before.finish()
    await add_a_partition(stream)
    records = list(itertools.islice(stream.messages(), 3000))
    misplaced = sum(partition_of(key, 9) != partition_of(key, 8) for key, _ in records)
    assert misplaced > 2000
    after = stream.load(3000, rate=2000, records=stream.messages())
    await after.finish()

    async def all_sent_home() -> bool:
        return await worker.metric("misrouted_records_total") >= misplaced

    await eventually(all_sent_home, "the new partition is read, and its records are where they belong")
    expected = await stream.verdict()
    assert expected.messages == len(set(records)), "each is counted where it belongs, once"
