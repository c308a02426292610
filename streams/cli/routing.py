"""Check that producers put each record into the partition that its key hashes to.

Kafka's Java client and aiokafka hash keys with murmur2.  Producers on librdkafka (kcat, confluent-kafka, most
of Go, C, .NET) default to CRC32, which sends a conversation to another partition than everybody else does.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from zlib import crc32

from streams.clients.partitioner import partition_of
from streams.clients.records import SourceRecord


@dataclass
class Misrouting:
    """Misrouted records of one topic.  ``by_producer`` counts wrong records per ``ce_source`` header."""

    topic: str
    looked_at: int = 0
    wrong: int = 0
    crc32: int = 0
    without_key: int = 0
    first: str = ""
    by_producer: dict[str, int] = field(default_factory=lambda: defaultdict(int))

    @property
    def advice(self) -> str:
        """Advice to the producer's operator."""
        # By chance alone one of as many as there are partitions is where CRC32 would put it.
        if 2 * self.crc32 > self.wrong:
            which = "the wrong ones are" if self.crc32 == self.wrong else f"{self.crc32} of them are"
            return (
                f"{which} where CRC32 puts them, librdkafka's default: set "
                "partitioner=murmur2_random in that producer's configuration"
            )
        if self.wrong:
            return "let the producer hash keys with murmur2, as Kafka's own client does"
        return "give every record its conversation_id (or response_id) as key"


def look_at(topic: str, records: Iterable[SourceRecord], partitions: int) -> Misrouting:
    """Check the records of ``topic`` that were read against their partitions."""
    found = Misrouting(topic)
    for record in records:
        found.looked_at += 1
        if record.key is None:
            found.without_key += 1
        elif partition_of(record.key, partitions) != record.partition:
            found.wrong += 1
            found.crc32 += crc32(record.key) % partitions == record.partition
            found.first = found.first or f"{record.partition}:{record.offset}"
            found.by_producer[_producer(record)] += 1
    return found


def _producer(record: SourceRecord) -> str:
    for name, value in record.headers:
        if name == "ce_source" and value:
            return value.decode(errors="replace")
    return "a producer that sends no ce_source header"
