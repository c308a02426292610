"""Bad input never blocks and is never lost: it is dead-lettered byte for byte, its neighbours processed."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

import pytest
from aiokafka import AIOKafkaProducer
from aiokafka.partitioner import DefaultPartitioner
from verdict import DEAD_LETTERS, MESSAGES, read_topic

pytestmark = [pytest.mark.kafka, pytest.mark.faults, pytest.mark.long]

NOW = datetime.now(UTC)
KEY = b"c"


def message(**changes: object) -> dict:
    """A good message of conversation ``c``; a change of ``None`` removes the field."""
    fields = {
        "message_id": "m",
        "conversation_id": "c",
        "user_id": "u",
        "role": "user",
        "content": "hello",
        "sent_at": NOW.isoformat(),
    }
    return {name: value for name, value in (fields | changes).items() if value is not None}


def bad(**changes: object) -> bytes:
    return json.dumps(message(**{"message_id": "bad"} | changes)).encode()


def nested(depth: int) -> dict:
    metadata: dict = {}
    for _ in range(depth):
        metadata = {"deeper": metadata}
    return metadata


#: What is sent, and what must be said of it.
BAD = {
    "not JSON": (b"{'message_id': 1}", "invalid_json"),
    "half of it": (bad()[:-20], "invalid_json"),
    "not an object": (b"[1, 2]", "invalid_field"),
    "not UTF-8": (bad().replace(b"hello", b"h\xffllo"), "invalid_utf8"),
    "a number as content": (bad(content=7), "invalid_field"),
    "an id of 300 characters": (bad(user_id="u" * 300), "invalid_field"),
    "another conversation's": (bad(conversation_id="d"), "key_mismatch"),
    "content over the limit in bytes": (bad(content="\u20ac" * 30_000), "content_too_large"),
    "a schema registry's frame": (b"\0\0\0\0\x2a" + bad(), "schema_registry"),
    "control characters in an id": (bad(user_id="a\x00b"), "control_characters"),
    "metadata too deep": (bad(metadata=nested(40)), "nested_too_deep"),
    "nested without end": (b'{"metadata": {"a":' + b"[" * 100_000, "nested_too_deep"),
    "no value": (None, "null_value"),
    "an empty value": (b"", "empty_value"),
    "an unknown role": (bad(role="wizard"), "invalid_field"),
    "long ago": (bad(sent_at="1970-01-01T00:00:00Z"), "absurd_time"),
    "far ahead": (bad(sent_at=(NOW + timedelta(days=3)).isoformat()), "absurd_time"),
    "a time in nanoseconds": (bad(sent_at=1793527200123456789), "invalid_field"),
    "a part of an unknown type": (bad(content=[{"type": "hologram"}]), "invalid_field"),
    "as large as the topic takes": (bad(content="y" * 1_047_000), "content_too_large"),
}

#: Neighbours, as clients have them; each is taken.
SHAPES: list[dict] = [
    {},
    {"message_id": None, "role": "human"},
    {"content": [{"type": "text", "text": "hello"}, {"type": "image_url", "image_url": {"url": "x"}}]},
    {"sent_at": int(NOW.timestamp() * 1000), "user_id": 7},
    {"role": "model", "content": None, "tool_calls": [{"function": {"name": "weather"}}]},
]

#: Headers are kept as they came: twice the same name, bytes that are no text, no value at all.
HEADERS = [("source", b"one"), ("source", b"two"), ("\u00fcml", b"\xff\x00"), ("empty", b""), ("null", None)]


@pytest.fixture
async def producer(stream):
    producer = AIOKafkaProducer(bootstrap_servers=stream.servers, acks="all", max_request_size=4 << 20)
    await producer.start()
    yield producer
    await producer.stop()


@pytest.mark.short
async def test_each_bad_record_is_kept_and_its_neighbours_are_processed(stream, producer):
    partitions = list(range(stream.catalog.partitions(MESSAGES)))
    partition = DefaultPartitioner()(KEY, partitions, partitions)
    offsets = {}
    for number, (what, (value, _)) in enumerate(BAD.items()):
        plain = {"message_id": f"good {number}", "content": f"before {what}", "unknown_field": [number]}
        neighbour = message(**plain | SHAPES[number % len(SHAPES)])
        await producer.send(stream.topic, json.dumps(neighbour).encode(), KEY, partition)
        sent = await producer.send_and_wait(stream.topic, value, KEY, partition, headers=HEADERS)
        offsets[what] = sent.offset
    await producer.send_and_wait(stream.topic, json.dumps(message(message_id="last")).encode(), KEY, partition)

    # Everything is there before the worker is: good and bad share a batch.
    worker = stream.worker("a")
    expected = await stream.verdict()
    assert expected.messages == len(BAD) + 1
    assert expected.windows == 2

    letters = {}
    for record in await read_topic(stream.servers, stream.catalog.name(DEAD_LETTERS), len(partitions)):
        headers = dict(record.headers[len(HEADERS) :])
        letters[int(headers["dlq_offset"])] = (record, headers)
    assert letters.keys() == set(offsets.values())
    for what, (value, reason) in BAD.items():
        record, headers = letters[offsets[what]]
        assert (record.key, record.value) == (KEY, value), what
        assert list(record.headers[: len(HEADERS)]) == HEADERS, what
        assert headers["dlq_reason"].decode() == reason, what
        assert len(headers["dlq_message"]) > 10, what
        assert headers["dlq_stage"] == b"conversations"
        assert headers["dlq_topic"].decode() == stream.topic
        assert int(headers["dlq_partition"]) == partition
        assert int(headers["dlq_attempts"]) == 1
    for reason in {reason for _, reason in BAD.values()}:
        count = await worker.metric("dead_letters_total", reason=reason)
        assert count == sum(reason == said for _, said in BAD.values()), reason
