"""Record batches as no honest producer makes them: small on the wire, huge or wrong inside."""

from __future__ import annotations

import struct
import zlib

import cramjam
from aiokafka import AIOKafkaProducer, TopicPartition
from aiokafka.errors import for_code
from aiokafka.protocol.produce import ProduceRequest
from aiokafka.record.default_records import DefaultRecordBatchBuilder
from aiokafka.record.util import calc_crc32c

GZIP, SNAPPY, LZ4, ZSTD = 1, 2, 3, 4

#: Of a record batch (magic 2), before its payload.
HEADER_BYTES = 61
_ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"


def zeros(length: int) -> tuple[bytes, int]:
    """Return how the encoding of a record without key begins whose value is ``length`` zeros, and its size.

    What follows are zeros: those of the value, and the number of its headers.
    """
    body = b"\0\0\0" + _zigzag(-1) + _zigzag(length)
    prefix = _zigzag(len(body) + length + 1) + body
    return prefix, len(prefix) + length + 1


def zeros_in(codec: int, length: int) -> bytes:
    """Return the payload of a batch with one record of ``length`` zeros, made without making it."""
    prefix, size = zeros(length)
    left = size - len(prefix)
    if codec == ZSTD:
        return _ZSTD_MAGIC + b"\x00\x58" + _raw_block(prefix) + _zero_blocks(left)
    if codec == GZIP:
        packer = zlib.compressobj(9, wbits=31)
        parts = [packer.compress(prefix)]
        while left:
            step = min(left, 1 << 20)
            parts.append(packer.compress(bytes(step)))
            left -= step
        return b"".join([*parts, packer.flush()])
    content = prefix + bytes(left)
    return lz4(content) if codec == LZ4 else xerial(content)


def gzip(content: bytes) -> bytes:
    packer = zlib.compressobj(9, wbits=31)
    return packer.compress(content) + packer.flush()


def lz4(content: bytes) -> bytes:
    descriptor = bytes([0x60, 0x70])
    frame = b"\x04\x22\x4d\x18" + descriptor + bytes([_xxh32(descriptor) >> 8 & 0xFF])
    for start in range(0, len(content), 4 << 20):
        block = bytes(cramjam.lz4.compress_block(content[start : start + (4 << 20)], store_size=False))
        frame += struct.pack("<I", len(block)) + block
    return frame + bytes(4)


def xerial(content: bytes) -> bytes:
    """Return a stream of snappy blocks, as Java writes it."""
    framed = b"\x82SNAPPY\x00" + struct.pack(">ii", 1, 1)
    for start in range(0, len(content), 1 << 15):
        block = bytes(cramjam.snappy.compress_raw(content[start : start + (1 << 15)]))
        framed += struct.pack(">i", len(block)) + block
    return framed


def payload(value: bytes, key: bytes | None = None) -> bytes:
    """Return what is in a batch of one record, uncompressed."""
    builder = DefaultRecordBatchBuilder(2, 0, 0, -1, -1, -1, 0)
    builder.append(0, 0, key, value, [])
    return bytes(builder.build()[HEADER_BYTES:])


def batch(codec: int, compressed: bytes) -> bytes:
    """Return a batch of one record whose payload is ``compressed``."""
    builder = DefaultRecordBatchBuilder(2, 0, 0, -1, -1, -1, 0)
    builder.append(0, 1_700_000_000_000, None, b"", [])
    data = bytearray(builder.build()[:HEADER_BYTES]) + compressed
    struct.pack_into(">i", data, 8, len(data) - 12)
    data[22] |= codec
    struct.pack_into(">I", data, 17, calc_crc32c(bytes(data[21:])))
    return bytes(data)


async def produce(producer: AIOKafkaProducer, topic: str, partition: int, data: bytes) -> int | None:
    """Send a batch as it is; return its offset, or ``None`` if the broker refuses it."""
    await producer.partitions_for(topic)
    leader = producer.client.cluster.leader_for_partition(TopicPartition(topic, partition))
    request = ProduceRequest(None, -1, 30_000, [(topic, [(partition, data)])])
    response = await producer.client.send(leader, request)
    [(_, [(_, code, offset, *_)])] = response.topics
    if code:
        print(f"the broker refuses it: {for_code(code).__name__}")
        return None
    return offset


def _raw_block(content: bytes) -> bytes:
    return struct.pack("<I", len(content) << 3)[:3] + content


def _zero_blocks(length: int) -> bytes:
    blocks = b""
    while length:
        step = min(length, 1 << 17)
        length -= step
        blocks += struct.pack("<I", step << 3 | 2 | (not length))[:3] + b"\0"
    return blocks


def _zigzag(value: int) -> bytes:
    left, encoded = value << 1 ^ value >> 63, b""
    while left > 0x7F:
        encoded, left = encoded + bytes([left & 0x7F | 0x80]), left >> 7
    return encoded + bytes([left])


def _xxh32(data: bytes) -> int:
    """xxHash of fewer than 16 bytes, seed 0: what the header of an LZ4 frame is checked with."""
    mask, first, second, third, fourth, fifth = (
        0xFFFFFFFF,
        2654435761,
        2246822519,
        3266489917,
        668265263,
        374761393,
    )

    def rotated(value: int, by: int) -> int:
        return (value << by | value >> 32 - by) & mask

    h, at = (fifth + len(data)) & mask, 0
    while at + 4 <= len(data):
        h = rotated((h + int.from_bytes(data[at : at + 4], "little") * third) & mask, 17) * fourth & mask
        at += 4
    for byte in data[at:]:
        h = rotated((h + byte * fifth) & mask, 11) * first & mask
    h = (h ^ h >> 15) * second & mask
    h = (h ^ h >> 13) * third & mask
    return h ^ h >> 16
