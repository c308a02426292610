"""Unpacking: what aiokafka gets to read is what was sent, within bounds, whatever the batches claim."""

from __future__ import annotations

import mmap
import random
import struct
import zlib
from pathlib import Path
from typing import Any

import cramjam
import pytest
from aiokafka.consumer.fetcher import READ_COMMITTED, PartitionRecords
from aiokafka.structs import TopicPartition
from hypothesis import given
from hypothesis import strategies as st

from models.errors import InvalidRecord
from streams.clients.aiokafka_internals import DefaultRecordBatchBuilder, MemoryRecords, calc_crc32c
from streams.clients.records import UnreadBatch
from streams.runtime.decompression import CODECS, decompress_into
from streams.runtime.unpacking import Unpacker

TOPIC = "chat.messages.v1"
TP = TopicPartition(TOPIC, 3)
LIMIT = 1 << 20
ALL = [1, 2, 3, 4]


def batch(
    codec: int,
    base: int,
    *values: bytes | None,
    producer: int = -1,
    transactional: bool = False,
    delta: int | None = None,
) -> bytes:
    """A batch as it lies in the log, from offset ``base``; ``delta``: what compaction left of its end."""
    builder = DefaultRecordBatchBuilder(2, codec, transactional, producer, 0, 0, 1 << 30)
    for n, value in enumerate(values):
        builder.append(n, 1000 + n, b"k%d" % n, value, [("h", None), ("h", b"x")])
    data = builder.build()
    struct.pack_into(">q", data, 0, base)
    if delta is not None:
        struct.pack_into(">i", data, 23, delta)
        seal(data)
    return bytes(data)


def seal(data: bytearray) -> None:
    struct.pack_into(">I", data, 17, calc_crc32c(bytes(data[21:])))


def with_payload(codec: int, payload: bytes, records: int = 1) -> bytes:
    """A batch that claims to be compressed, of whatever bytes."""
    data = bytearray(batch(0, 100, *[b""] * records)[:61]) + payload
    struct.pack_into(">i", data, 8, len(data) - 12)
    data[22] |= codec
    seal(data)
    return bytes(data)


def read(data: bytes, position: int = 0, aborted: Any = ()) -> tuple[list[Any], int]:
    """What aiokafka makes of it: the records, and where the next fetch begins."""
    reader = PartitionRecords(
        TP, MemoryRecords(data), list(aborted), position, None, None, True, READ_COMMITTED
    )
    records = [*reader]
    return records, reader.next_fetch_offset


def unpack(data: bytes, *, limit: int = LIMIT, room: int = 1 << 30) -> tuple[bytes, Unpacker]:
    unpacker = Unpacker(limit)
    return unpacker.unpack_partition(TOPIC, 3, data, room)[0], unpacker


def decompress(codec: int, data: bytes, limit: int) -> bytes:
    with mmap.mmap(-1, limit) as memory:
        with memoryview(memory) as view:
            size = decompress_into(view, codec, data)
        return memory[:size]


def codecs_of(data: bytes) -> list[int]:
    found, records = [], MemoryRecords(data)
    while records.has_next():
        found.append(records.next_batch().compression_type)
    return found


class TestUnpacking:
    @given(
        st.lists(
            st.tuples(st.integers(0, 4), st.lists(st.none() | st.binary(max_size=300), min_size=1, max_size=4)),
            max_size=6,
        ),
        st.integers(0, 1 << 40),
        st.integers(0, 90),
    )
    def test_the_consumer_reads_what_was_sent(self, batches: Any, base: int, cut: int) -> None:
        data, offset = b"", base
        for codec, values in batches:
            data += batch(codec, offset, *values)
            offset += len(values)
        # An answer that is full ends somewhere in a batch.
        unpacked, unpacker = unpack(data + batch(4, offset, bytes(100))[:cut])
        assert codecs_of(unpacked) == [0] * len(batches)
        assert read(unpacked, base) == read(data, base)
        assert unpacker.put_back([]) == []

    @pytest.mark.parametrize("codec", ALL)
    def test_aborted_transactions_are_none_of_our_business(self, codec: int) -> None:
        data = batch(codec, 10, b"a", producer=7, transactional=True) + batch(codec, 11, b"b", producer=8)
        records, end = read(unpack(data)[0], 10, aborted=[(7, 10)])
        assert ([record.value for record in records], end) == ([b"b"], 12)
        bomb = batch(codec, 10, bytes(2 * LIMIT), producer=7, transactional=True)
        unpacked, _ = unpack(bomb + batch(codec, 11, b"b", producer=8))
        records, end = read(unpacked, 10, aborted=[(7, 10)])
        assert ([record.value for record in records], end) == ([b"b"], 12)

    @pytest.mark.parametrize("codec", ALL)
    def test_a_batch_may_be_as_large_as_the_limit(self, codec: int) -> None:
        values = [random.Random(1).randbytes(50_000)]
        payload = len(batch(0, 0, *values)) - 61
        data = batch(codec, 5, *values)
        assert read(unpack(data, limit=payload)[0], 5) == read(data, 5)
        assert [record.value for record in read(unpack(data, limit=payload - 1)[0], 5)[0]] == [None]

    @pytest.mark.parametrize("codec", ALL)
    def test_one_too_large_leaves_its_place_and_neighbours(self, codec: int) -> None:
        bomb = batch(codec, 12, bytes(LIMIT), b"more", b"x", delta=300)
        data = batch(codec, 10, b"a", b"b") + bomb + batch(codec, 313, b"c")
        unpacked, unpacker = unpack(data)
        records, end = read(unpacked, 10)
        assert [record.offset for record in records] == [10, 11, 312, 313]
        assert end == 314
        unread = unpacker.put_back(records)[2]
        assert unread == UnreadBatch(
            topic=TOPIC,
            partition=3,
            first_offset=12,
            offset=312,
            timestamp=1002,
            codec=CODECS[codec],
            record_count=3,
            data=bomb,
            reason="batch_too_large",
            message=f"it is larger than {LIMIT} bytes when it is decompressed ({CODECS[codec]})",
        )
        assert [record.value for record in (*records[:2], records[3])] == [b"a", b"b", b"c"]
        assert (unread.key, unread.value, unread.headers) == (None, None, ())

    @pytest.mark.parametrize("codec", ALL)
    def test_one_that_is_damaged_is_set_aside(self, codec: int) -> None:
        payload = batch(codec, 0, random.Random(2).randbytes(3000))[61:]
        for damaged in (payload[:-7], payload[:5], b"\xff" * 40):
            data = with_payload(codec, damaged) + batch(0, 101, b"next")
            unpacked, unpacker = unpack(data)
            records = unpacker.put_back(read(unpacked, 100)[0])
            assert [type(record) is UnreadBatch for record in records] == [True, False]
            assert (records[0].reason, records[0].offset, records[1].value) == (
                "batch_unreadable",
                100,
                b"next",
            )
            assert CODECS[codec] in records[0].message

    def test_a_wrong_checksum_is_left_for_aiokafka(self) -> None:
        data = bytearray(batch(4, 0, b"a" * 100))
        data[70] ^= 1
        assert unpack(bytes(data))[0] == data
        assert unpack(bytes(data) + batch(4, 1, b"b"))[0] == bytes(data) + batch(0, 1, b"b")

    def test_after_enough_the_rest_is_fetched_again(self) -> None:
        data = b"".join(batch(4, n, bytes(1000)) for n in range(10))
        one = len(batch(0, 0, bytes(1000)))
        for room, batches in ((1, 1), (one, 1), (one + 1, 2), (3 * one, 3), (100 * one, 10)):
            unpacked, _ = unpack(data, room=room)
            records, end = read(unpacked)
            assert ([record.offset for record in records], end) == ([*range(batches)], batches)


def zstd_frame(content: bytes, claimed: int) -> bytes:
    """A frame of one raw block that says how large it is."""
    block = struct.pack("<I", len(content) << 3 | 1)[:3] + content
    return b"\x28\xb5\x2f\xfd\xe0" + struct.pack("<Q", claimed) + block


def varint(n: int) -> bytes:
    out = b""
    while n > 0x7F:
        out, n = out + bytes([n & 0x7F | 0x80]), n >> 7
    return out + bytes([n])


def xerial(*blocks: bytes) -> bytes:
    framed = b"".join(struct.pack(">i", len(block)) + block for block in blocks)
    return b"\x82SNAPPY\x00" + struct.pack(">ii", 1, 1) + framed


class TestDecompression:
    content = random.Random(3).randbytes(5000)

    def error(self, codec: int, data: bytes, limit: int = LIMIT) -> str:
        with pytest.raises(InvalidRecord) as caught:
            decompress(codec, data, limit)
        assert str(caught.value)
        return caught.value.reason

    def raw_snappy(self) -> bytes:
        return bytes(cramjam.snappy.compress_raw(self.content))

    @pytest.mark.parametrize("claimed", [6000, LIMIT, 1 << 31])
    def test_a_snappy_block_that_lies_about_its_length(self, claimed: int) -> None:
        lying = varint(claimed) + self.raw_snappy()[2:]
        expected = "batch_unreadable" if claimed <= LIMIT else "batch_too_large"
        assert self.error(2, lying) == self.error(2, xerial(lying)) == expected

    @pytest.mark.parametrize("size", [-1, 0, 1 << 30])
    def test_a_snappy_stream_that_lies_about_a_block(self, size: int) -> None:
        data = xerial(self.raw_snappy())
        assert self.error(2, data + struct.pack(">i", size) + b"abc") == "batch_unreadable"
        assert self.error(2, data + b"ab") == "batch_unreadable"

    def test_zstd_that_lies_about_its_content(self) -> None:
        assert decompress(4, zstd_frame(self.content, 5000), LIMIT) == self.content
        assert self.error(4, zstd_frame(self.content, 4000)) == "batch_unreadable"
        assert self.error(4, zstd_frame(self.content, 100 << 20)) == "batch_unreadable"
        assert self.error(4, zstd_frame(self.content, 1 << 40)) == "batch_too_large"

    @pytest.mark.parametrize("codec", [1, 4])
    def test_no_more_is_written_than_is_allowed(self, codec: int) -> None:
        """The peak of this process's memory would be 256 MB more, were it unpacked."""
        data = (zeros_in_gzip if codec == 1 else zeros_in_zstd)(256 << 20)
        before = begin_peak()
        assert self.error(codec, data, 8 << 20) == "batch_too_large"
        assert peak() - before < 64 << 20


def zeros_in_gzip(size: int) -> bytes:
    """Made without making them."""
    packer = zlib.compressobj(1, wbits=31)
    parts = [packer.compress(bytes(1 << 20)) for _ in range(size >> 20)]
    return b"".join([*parts, packer.flush()])


def zeros_in_zstd(size: int) -> bytes:
    """A frame of blocks that say "128 KiB of zeros"."""
    blocks = [struct.pack("<I", 131_072 << 3 | 2)[:3] + b"\0"] * (size >> 17)
    blocks[-1] = struct.pack("<I", 131_072 << 3 | 3)[:3] + b"\0"
    return b"\x28\xb5\x2f\xfd\x00\x58" + b"".join(blocks)


def begin_peak() -> int:
    """Let the peak begin anew; return it."""
    Path("/proc/self/clear_refs").write_text("5")
    return peak()


def peak() -> int:
    """Most memory that this process has used since, in bytes."""
    with Path("/proc/self/status").open() as status:
        return next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmHWM"))


class TestDistrust:
    def unpack(self, data: bytes, *distrusted: TopicPartition) -> tuple[bytes, Unpacker]:
        unpacker = Unpacker(LIMIT)
        assert unpacker.distrust(distrusted) is bool(distrusted)  # type: ignore[arg-type]
        return unpacker.unpack_partition(TOPIC, 3, data, 1 << 30)[0], unpacker

    @pytest.mark.parametrize("codec", [0, 4])
    def test_records_with_a_wrong_end_are_set_aside(self, codec: int) -> None:
        whole, one = batch(0, 100, b"a", b"b")[61:], batch(0, 100, b"a")[61:]
        for damaged, records in (
            (whole[:-1], 2),
            (whole + b"\0", 2),
            (whole, 3),
            (b"\xff" * 30, 1),
            (whole[:1], 1),
            # The record ends before its length does.
            (bytes([one[0] + 2]) + one[1:] + b"\0", 1),
        ):
            payload = bytes(cramjam.zstd.compress(damaged)) if codec else damaged
            data = with_payload(codec, payload, records)
            unpacked, unpacker = self.unpack(data, TP)
            [record] = unpacker.put_back(read(unpacked, 100)[0])
            assert (record.reason, record.data) == ("batch_unreadable", data)
            assert record.message.startswith("its records cannot be read: ")
            assert record.codec == ("zstd" if codec else "none")
