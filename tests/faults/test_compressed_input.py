"""A broker counts compressed bytes: what it accepted may be huge, or not be what its headers say.

No worker stops for it or takes much memory for it, its neighbours are processed, and all of it is accounted for
in the dead-letter queue.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import compressed
import msgspec
import pytest
from aiokafka import AIOKafkaProducer, TopicPartition
from aiokafka.partitioner import DefaultPartitioner
from compressed import GZIP, LZ4, SNAPPY, ZSTD
from topic_reader import read_partition
from verdict import DEAD_LETTERS, MESSAGES, WINDOWS

from streams.runtime.deadletters import letters
from tests import samples

pytestmark = [pytest.mark.kafka, pytest.mark.faults, pytest.mark.long]

KEY = b"c"

#: Two windows of ten, the second repeating three: the rest of a conversation is not waited for.
NEIGHBOURS_PER_ROUND = 7

#: How much more memory than before a worker may take for all of this.
_SPARE_BYTES = 128 << 20

#: What the largest batch that is unpacked may have by default.
_LIMIT = 64 << 20


def neighbour(number: int) -> bytes:
    return msgspec.json.encode(samples.message(number, at=datetime.now(UTC)))


def begin_peak(worker) -> int:
    """Let the peak begin anew; return what the worker has now."""
    Path(f"/proc/{worker.pid}/clear_refs").write_text("5")
    return _status(worker, "VmRSS")


def peak(worker) -> int:
    """Most memory that the worker has had since."""
    return _status(worker, "VmHWM")


def _status(worker, field: str) -> int:
    lines = Path(f"/proc/{worker.pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(field))


class Sender:
    def __init__(self, stream, producer: AIOKafkaProducer) -> None:
        self._stream = stream
        self._producer = producer
        self.partitions = stream.catalog.partitions(MESSAGES)
        numbers = list(range(self.partitions))
        self.partition = DefaultPartitioner()(KEY, numbers, numbers)
        self.neighbours = 0
        self.offsets: dict[str, int | None] = {}

    async def good(self, count: int) -> None:
        for _ in range(count):
            value = neighbour(self.neighbours)
            await self._producer.send_and_wait(self._stream.topic, value, KEY, self.partition)
            self.neighbours += 1

    async def odd(self, what: str, data: bytes, partition: int | None = None) -> None:
        where = self.partition if partition is None else partition
        self.offsets[what] = await compressed.produce(self._producer, self._stream.topic, where, data)
        await self.good(NEIGHBOURS_PER_ROUND)

    async def letters(self, partition: int | None = None) -> dict:
        """The dead letters of a partition by the offset of what they are about."""
        where = self.partition if partition is None else partition
        tp = TopicPartition(self._stream.catalog.name(DEAD_LETTERS), where)
        records = [record async for record in read_partition(self._stream.servers, tp)]
        assert all(len(record.value or b"") <= 2 << 20 for record in records)
        return {int(letter.why["offset"]): letter for letter in letters(records)}

    async def assert_neighbours_were_processed(self) -> None:
        tp = TopicPartition(self._stream.catalog.name(WINDOWS), self.partition)
        windows = [json.loads(record.value) async for record in read_partition(self._stream.servers, tp)]
        seen = dict.fromkeys(name for window in windows for name in window["message_ids"])
        assert [*seen] == [f"m{n}" for n in range(self.neighbours)]


@pytest.fixture
async def sender(stream):
    producer = AIOKafkaProducer(bootstrap_servers=stream.servers, acks="all", max_request_size=4 << 20)
    await producer.start()
    yield Sender(stream, producer)
    await producer.stop()


async def ready(stream, sender: Sender, **settings: object):
    """Return a worker that has done some work, and how much memory it has then."""
    worker = stream.worker("a", **settings)
    await sender.good(10)
    await worker.ready()
    await stream.drained()
    return worker, begin_peak(worker)


async def test_a_batch_that_is_huge_inside_is_not_unpacked(stream, sender):
    worker, before = await ready(stream, sender)
    sent = {
        "600 MB in zstd": (compressed.batch(ZSTD, compressed.zeros_in(ZSTD, 600_000_000)), "zstd"),
        "300 MB in gzip": (compressed.batch(GZIP, compressed.zeros_in(GZIP, 300_000_000)), "gzip"),
        "80 MB in lz4": (compressed.batch(LZ4, compressed.zeros_in(LZ4, 80_000_000)), "lz4"),
    }
    assert len(sent["600 MB in zstd"][0]) < 20_000
    for what, (data, _) in sent.items():
        await sender.odd(what, data)
    await stream.drained()
    assert worker.running
    assert peak(worker) - before <= _SPARE_BYTES
    await sender.assert_neighbours_were_processed()
    found = await sender.letters()
    assert found.keys() == set(sender.offsets.values())
    for what, (data, codec) in sent.items():
        letter = found[sender.offsets[what]]
        assert letter.why["reason"] == "batch_too_large", what
        assert str(_LIMIT) in letter.why["message"]
        assert (letter.why["codec"], letter.why["content"], letter.why["records"]) == (codec, "batch", "1")
        assert (letter.why["last_offset"], letter.why["topic"]) == (letter.why["offset"], stream.topic)
        # The broker has written where it lies, and when it came; what was sent is there.
        assert letter.value[compressed.HEADER_BYTES :] == data[compressed.HEADER_BYTES :], what
    assert await worker.metric("dead_letters_total", reason="batch_too_large") == len(sent)


async def test_a_record_too_large_for_its_queue_is_split(stream, sender):
    worker, before = await ready(stream, sender)
    wrong = (sender.partition + 1) % sender.partitions
    for codec in (GZIP, SNAPPY, LZ4, ZSTD):
        await sender.odd(f"3 MB in {codec}", compressed.batch(codec, compressed.zeros_in(codec, 3_000_000)))
    assert len(compressed.batch(ZSTD, compressed.zeros_in(ZSTD, 3_000_000))) < 200
    await sender.odd("17 MB", compressed.batch(ZSTD, compressed.zeros_in(ZSTD, 17_000_000)))
    misplaced = compressed.payload(bytes(1_500_000), KEY)
    await sender.odd("misplaced", compressed.batch(GZIP, compressed.gzip(misplaced)), wrong)
    await stream.drained()
    assert worker.running
    assert peak(worker) - before <= _SPARE_BYTES
    await sender.assert_neighbours_were_processed()
    found = await sender.letters()
    elsewhere = await sender.letters(wrong)
    assert found.keys() | elsewhere.keys() == set(sender.offsets.values())
    for codec in (GZIP, SNAPPY, LZ4, ZSTD):
        letter = found[sender.offsets[f"3 MB in {codec}"]]
        assert (letter.key, letter.value, letter.complete) == (None, bytes(3_000_000), True)
        assert int(letter.why["parts"]) == 2
    [letter] = elsewhere.values()
    assert (letter.why["reason"], letter.key, letter.value) == ("misplaced_too_large", KEY, bytes(1_500_000))
    cut = found[sender.offsets["17 MB"]]
    assert (cut.complete, cut.value, cut.why["bytes"]) == (False, bytes(65_536), "17000000")
    assert await worker.metric("dead_letters_truncated_total") == 1
    assert await worker.metric("misrouted_records_total") == 1
