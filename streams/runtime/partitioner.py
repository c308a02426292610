"""Kafka's default partitioner for keyed records: murmur2, as in the Java client."""

from __future__ import annotations

from functools import lru_cache

_MASK = 0xFFFFFFFF
_M = 0x5BD1E995


def murmur2(data: bytes) -> int:
    """Return Kafka's 32-bit murmur2 of ``data`` (``org.apache.kafka.common.utils.Utils.murmur2``)."""
    length = len(data)
    h = 0x9747B28C ^ length
    whole = length & ~3
    for at in range(0, whole, 4):
        k = int.from_bytes(data[at : at + 4], "little") * _M & _MASK
        k = (k ^ k >> 24) * _M & _MASK
        h = h * _M & _MASK ^ k
    if whole < length:
        h = (h ^ int.from_bytes(data[whole:], "little")) * _M & _MASK
    h = (h ^ h >> 13) * _M & _MASK
    return h ^ h >> 15


@lru_cache(maxsize=1 << 17)
def partition_of(key: bytes, partitions: int) -> int:
    """Return the partition of ``key`` among ``partitions``, as every murmur2 producer computes it."""
    return (murmur2(key) & 0x7FFFFFFF) % partitions
