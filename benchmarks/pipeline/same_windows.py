"""The windows of two contenders, held against each other conversation by conversation, in their order."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
from aiokafka import AIOKafkaConsumer, TopicPartition

from benchmarks.pipeline.load import PARTITIONS

#: What of a window is compared.
Read = Callable[[bytes], object]

_Windows = dict[bytes, list[object]]


class _Said(msgspec.Struct):
    content: str


class _Window(msgspec.Struct):
    """Fields that a window of the trivial stage (``contents``) and of the whole one (``messages``) share."""

    message_ids: list[str]
    contents: list[str] = []
    messages: list[_Said] = []


_decode = msgspec.json.Decoder(_Window).decode


def to_the_byte(window: bytes) -> object:
    """Compare all of it."""
    return window


def messages(window: bytes) -> object:
    """Compare the ids and contents of its messages."""
    found = _decode(window)
    return found.message_ids, found.contents or [said.content for said in found.messages]


async def check(servers: str, ours: str, theirs: str, read: Read) -> None:
    """Raise SystemExit unless two topics hold the same windows."""
    mine, other = await _windows(servers, ours, read), await _windows(servers, theirs, read)
    if not mine:
        raise SystemExit(f"{ours} has no windows")
    if different := sorted(key for key in mine.keys() | other.keys() if mine.get(key) != other.get(key)):
        [key, *_] = different
        raise SystemExit(
            f"{theirs} has other windows than {ours}, of {len(different)} conversations: "
            f"of {key.decode()} it has {len(other.get(key, []))}, and not the same {len(mine.get(key, []))}"
        )


async def _windows(servers: str, topic: str, read: Read) -> _Windows:
    found: _Windows = {}
    consumer = AIOKafkaConsumer(bootstrap_servers=servers, max_partition_fetch_bytes=8 << 20)
    await consumer.start()
    try:
        partitions = [TopicPartition(topic, number) for number in range(PARTITIONS)]
        consumer.assign(partitions)
        await consumer.seek_to_beginning(*partitions)
        ends = await consumer.end_offsets(partitions)
        while any([await consumer.position(tp) < end for tp, end in ends.items()]):
            for records in (await consumer.getmany(timeout_ms=1000)).values():
                for record in records:
                    found.setdefault(record.key, []).append(read(record.value))
    finally:
        await consumer.stop()
    return found
