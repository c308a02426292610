"""Decompressing what somebody else compressed: never more than there is room for, whatever it claims."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable

import cramjam

from models.errors import InvalidRecord

#: Kafka's codecs by the number in a batch's attributes.
CODECS = {0: "none", 1: "gzip", 2: "snappy", 3: "lz4", 4: "zstd"}

#: What a stream of the Java library for snappy begins with, before its version numbers.
_XERIAL_MAGIC = b"\x82SNAPPY\x00"
_XERIAL_HEADER = 16

#: Bytes of gzip that are decompressed at a time.
_STEP = 1 << 20

#: How cramjam says that there is no room, and zstd that the room it wants is beyond reason.
_NO_ROOM = ("failed to write whole buffer", "requires too much memory")


def decompress_into(room: memoryview, codec: int, data: bytes) -> int:
    """Decompress ``data``, the payload of a record batch, into ``room``; return how many bytes it has.

    ``codec`` is Kafka's number.  Nothing is allocated for what ``data`` claims to become.

    Raises:
        InvalidRecord: ``batch_too_large``, it is larger than ``room`` or says so; ``batch_unreadable``, it
            is damaged, or its codec is not known.
    """
    try:
        return _DECOMPRESS[codec](room, data)
    except KeyError:
        raise InvalidRecord("batch_unreadable", f"compression codec {codec} is not one of Kafka's") from None
    except (cramjam.DecompressionError, zlib.error, ValueError, struct.error) as exc:
        if any(text in str(exc) for text in _NO_ROOM):
            text = f"it is larger than {len(room)} bytes when it is decompressed ({CODECS[codec]})"
            raise InvalidRecord("batch_too_large", text) from None
        text = f"it cannot be decompressed ({CODECS[codec]}): {exc}"
        raise InvalidRecord("batch_unreadable", text) from None


def _gzip(room: memoryview, data: bytes) -> int:
    size = 0
    while data:
        member = zlib.decompressobj(wbits=16 + zlib.MAX_WBITS)
        while not member.eof:
            part = member.decompress(data, _STEP)
            if size + len(part) > len(room):
                raise ValueError(_NO_ROOM[0])
            room[size : size + len(part)] = part
            size += len(part)
            data = member.unconsumed_tail
            if not part and not data and not member.eof:
                raise ValueError("its end is missing")
        data = member.unused_data.lstrip(b"\0")
    return size


def _snappy(room: memoryview, data: bytes) -> int:
    if not data.startswith(_XERIAL_MAGIC):
        return _snappy_block(room, data)
    size, at = 0, _XERIAL_HEADER
    while at < len(data):
        (length,) = struct.unpack_from(">i", data, at)
        at += 4
        if not 0 < length <= len(data) - at:
            raise ValueError(f"a block of {length} bytes where {len(data) - at} are left")
        with room[size:] as rest:
            size += _snappy_block(rest, data[at : at + length])
        at += length
    return size


def _snappy_block(room: memoryview, data: bytes) -> int:
    length: int = cramjam.snappy.decompress_raw_len(data)
    if length > len(room):
        raise ValueError(_NO_ROOM[0])
    with room[:length] as place:
        size: int = cramjam.snappy.decompress_raw_into(data, place)
    return size


def _lz4(room: memoryview, data: bytes) -> int:
    size: int = cramjam.lz4.decompress_into(data, room)
    return size


def _zstd(room: memoryview, data: bytes) -> int:
    size: int = cramjam.zstd.decompress_into(data, room)
    return size


_DECOMPRESS: dict[int, Callable[[memoryview, bytes], int]] = {1: _gzip, 2: _snappy, 3: _lz4, 4: _zstd}
