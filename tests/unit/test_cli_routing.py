"""Whether records sit where their keys hash to, and who puts them elsewhere."""

from __future__ import annotations

from zlib import crc32

from streams.cli.routing import look_at
from streams.clients.partitioner import partition_of
from streams.clients.records import Record

PARTITIONS = 8
KEYS = [b"conversation-%d" % number for number in range(50)]


def right(key: bytes, **fields: object) -> Record:
    return Record(value=b"{}", key=key, partition=partition_of(key, PARTITIONS), **fields)


def by_crc32(key: bytes, **fields: object) -> Record:
    return Record(value=b"{}", key=key, partition=crc32(key) % PARTITIONS, **fields)


def test_records_in_their_partitions_are_fine() -> None:
    found = look_at("chat.messages.v1", map(right, KEYS), PARTITIONS)
    assert (found.looked_at, found.wrong, found.without_key) == (50, 0, 0)


def test_the_default_of_librdkafka_is_recognised_and_its_producer_named() -> None:
    strangers = [by_crc32(key, headers=(("ce_source", b"/billing"),)) for key in KEYS]
    found = look_at("chat.messages.v1", [*map(right, KEYS), *strangers], PARTITIONS)
    assert found.wrong == sum(crc32(k) % PARTITIONS != partition_of(k, PARTITIONS) for k in KEYS) > 0
    assert dict(found.by_producer) == {"/billing": found.wrong}
    assert "partitioner=murmur2_random" in found.advice
