"""Kafka's record batches (magic 2), byte by byte: found in a fetch's answer, and written anew."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import NamedTuple

from streams.clients.aiokafka_internals import calc_crc32c

#: Kafka's numbers of what a batch is compressed with.
CODEC_MASK = 0x07

#: Base offset, length of what follows it, leader epoch, magic, CRC, attributes, last offset delta, first and
#: latest timestamp, producer id, producer epoch, base sequence, number of records.
_HEADER = struct.Struct(">qiibIhiqqqhii")
_OFFSET_AND_LENGTH = struct.Struct(">qi")
HEADER_BYTES = _HEADER.size
_MAGIC_AT, _CRC_AT, _ATTRIBUTES_AT = 16, 17, 21


class Batch(NamedTuple):
    """Where a whole batch begins and ends, and what its header says.  ``latest``: ms."""

    start: int
    end: int
    first_offset: int
    last_offset: int
    codec: int
    latest: int
    record_count: int

    @property
    def payload_start(self) -> int:
        """Where its records begin."""
        return self.start + HEADER_BYTES

    def moved(self, payload_bytes: int) -> Batch:
        """Return where it is when it stands alone, uncompressed, with so many bytes of records."""
        return self._replace(start=0, end=HEADER_BYTES + payload_bytes)


def batches(data: bytes) -> Iterator[Batch]:
    """Yield each whole batch of magic 2 in ``data``; brokers of today write no older format."""
    at = 0
    while at + HEADER_BYTES <= len(data):
        end = at + _OFFSET_AND_LENGTH.size + _OFFSET_AND_LENGTH.unpack_from(data, at)[1]
        if end > len(data) or end < at + HEADER_BYTES:
            return
        if data[at + _MAGIC_AT] == 2:
            fields = _HEADER.unpack_from(data, at)
            base, attributes, delta, latest, records = (fields[n] for n in (0, 5, 6, 8, 12))
            yield Batch(at, end, base, base + delta, attributes & CODEC_MASK, latest, records)
        at = end


def is_intact(data: bytes, batch: Batch) -> bool:
    """Say whether the CRC is right."""
    crc: int = struct.unpack_from(">I", data, batch.start + _CRC_AT)[0]
    found: int = calc_crc32c(data[batch.start + _ATTRIBUTES_AT : batch.end])
    return crc == found


def rewritten(data: bytes, batch: Batch, payload: bytes, record_count: int) -> bytes:
    """Return ``batch`` of ``data`` with ``payload``, which is not compressed, in place of its own."""
    written = bytearray(HEADER_BYTES + len(payload))
    written[HEADER_BYTES:] = payload
    with memoryview(written) as view:
        return seal(view, data, batch, record_count)


def seal(view: memoryview, data: bytes, batch: Batch, record_count: int) -> bytes:
    """Write the header of ``batch`` of ``data`` before the uncompressed payload in ``view``; return it all."""
    fields = [*_HEADER.unpack_from(data, batch.start)]
    fields[1] = len(view) - _OFFSET_AND_LENGTH.size
    fields[5] &= ~CODEC_MASK
    fields[12] = record_count
    _HEADER.pack_into(view, 0, *fields)
    with view[_ATTRIBUTES_AT:] as checked:
        struct.pack_into(">I", view, _CRC_AT, calc_crc32c(checked))
    return bytes(view)


def empty_record(offset_delta: int) -> bytes:
    """Return an encoded record: attributes, time delta, offset delta, no key, no value, no headers."""
    body = b"\0\0" + _written(offset_delta) + _written(-1) + _written(-1) + _written(0)
    return _written(len(body)) + body


def with_readable_names(payload: bytes, record_count: int) -> bytes:
    """Return the records with the names of their headers made UTF-8, as Java reads them.

    Raises:
        ValueError: the records are not where their lengths say.
    """
    records: list[bytes] = []
    at = 0
    for _ in range(record_count):
        length, at = _read(payload, at)
        end = at + length
        pos = at + 1
        for _ in range(2):
            _, pos = _read(payload, pos)
        for _ in range(2):
            size, pos = _read(payload, pos)
            pos += max(size, 0)
        count, headers_at = _read(payload, pos)
        body = [payload[at:headers_at]]
        pos = headers_at
        for _ in range(count):
            size, pos = _read(payload, pos)
            name = payload[pos : pos + size].decode(errors="replace").encode()
            value_at = pos + size
            size, pos = _read(payload, value_at)
            pos += max(size, 0)
            body += (_written(len(name)), name, payload[value_at:pos])
        if pos != end:
            raise ValueError(f"a record of {length} bytes ends after {pos - at}")
        record = b"".join(body)
        records += (_written(len(record)), record)
        at = end
    if at != len(payload):
        raise ValueError(f"{len(payload) - at} bytes follow the last record")
    return b"".join(records)


def _written(value: int) -> bytes:
    """Return ``value`` as Kafka's variable-length integer (zigzag)."""
    left = value << 1 ^ value >> 63
    encoded = bytearray()
    while left > 0x7F:
        encoded.append(left & 0x7F | 0x80)
        left >>= 7
    encoded.append(left)
    return bytes(encoded)


def _read(data: bytes, at: int) -> tuple[int, int]:
    """Return the variable-length integer at ``at``, and where what follows it begins."""
    value = shift = 0
    while True:
        if at >= len(data) or shift > 63:
            raise ValueError("a number does not end")
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte <= 0x7F:
            return value >> 1 ^ -(value & 1), at
        shift += 7
