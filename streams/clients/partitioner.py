"""Kafka's default partitioner for keyed records: murmur2, as in the Java client."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from struct import unpack_from

import numpy as np
from numpy.typing import NDArray

_MASK = 0xFFFFFFFF
_M = 0x5BD1E995
_SEED = 0x9747B28C

#: From this many keys of one length on, numpy hashes them faster than Python finds them in a cache.
_MANY = 64


def murmur2(data: bytes) -> int:
    """Return Kafka's 32-bit murmur2 of ``data`` (``org.apache.kafka.common.utils.Utils.murmur2``)."""
    length = len(data)
    h = _SEED ^ length
    for k in unpack_from(f"<{length >> 2}I", data):
        k = k * _M & _MASK
        h = (h * _M ^ (k ^ k >> 24) * _M) & _MASK
    if length & 3:
        h = (h ^ int.from_bytes(data[length & ~3 :], "little")) * _M & _MASK
    h = (h ^ h >> 13) * _M & _MASK
    return h ^ h >> 15


@lru_cache(maxsize=1 << 14)
def partition_of(key: bytes, partitions: int) -> int:
    """Return the partition of ``key`` among ``partitions``, as every murmur2 producer computes it."""
    return (murmur2(key) & 0x7FFFFFFF) % partitions


def partitions_of(keys: Sequence[bytes], partitions: int) -> list[int]:
    """Return :func:`partition_of` of each key; many at once are hashed together.

    No cache: of 200,000 live keys it would have to find nearly all anew, at 60 times the cost of a hit.
    """
    by_length: dict[int, list[int]] = {}
    for at, key in enumerate(keys):
        by_length.setdefault(len(key), []).append(at)
    result = [0] * len(keys)
    for length, places in by_length.items():
        if len(places) < _MANY:
            for at in places:
                result[at] = partition_of(keys[at], partitions)
            continue
        hashes = _murmur2_many(b"".join([keys[at] for at in places]), len(places), length)
        found = (hashes & np.uint32(0x7FFFFFFF)) % np.uint32(partitions)
        for at, partition in zip(places, found.tolist(), strict=True):
            result[at] = partition
    return result


def _murmur2_many(joined: bytes, count: int, length: int) -> NDArray[np.uint32]:
    """Return the murmur2 of ``count`` keys of ``length`` bytes; numpy's uint32 wraps as Java's int does."""
    multiplier = np.uint32(_M)
    padded = np.zeros((count, (length + 3) // 4 * 4), np.uint8)
    padded[:, :length] = np.frombuffer(joined, np.uint8).reshape(count, length)
    words = padded.view("<u4").T.copy()
    mixed = words[: length >> 2] * multiplier
    mixed ^= mixed >> np.uint32(24)
    mixed *= multiplier
    h = np.full(count, _SEED ^ length, np.uint32)
    for word in mixed:
        h *= multiplier
        h ^= word
    if length & 3:
        h ^= words[-1]
        h *= multiplier
    h ^= h >> np.uint32(13)
    h *= multiplier
    h ^= h >> np.uint32(15)
    return h
