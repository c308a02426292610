"""Record batches: the unit in which the runtime moves data from the consumer to a stage."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import msgspec

Headers = Sequence[tuple[str, bytes | None]]

#: Say of a copy where the record itself stands, as ``<topic>-<partition>-<offset>``, and its timestamp (ms).
REROUTED_HEADER = "rerouted_from"
REROUTED_TIMESTAMP_HEADER = "rerouted_timestamp"

#: Of a number of 64 bits.
_MOST_DIGITS = 19


class SourceRecord(Protocol):
    """Source record of a step (:class:`FetchedRecord` is one)."""

    @property
    def topic(self) -> str: ...
    @property
    def partition(self) -> int: ...
    @property
    def offset(self) -> int: ...
    @property
    def timestamp(self) -> int: ...
    @property
    def key(self) -> bytes | None: ...
    @property
    def value(self) -> bytes | None: ...
    @property
    def headers(self) -> Headers: ...


def rerouted(record: SourceRecord) -> list[tuple[str, bytes | None]]:
    """Return the headers of a copy of ``record`` that is sent to another partition or topic."""
    came_from = f"{record.topic}-{record.partition}-{record.offset}".encode()
    timestamp = str(record.timestamp).encode()
    return [*record.headers, (REROUTED_HEADER, came_from), (REROUTED_TIMESTAMP_HEADER, timestamp)]


class Origin(NamedTuple):
    """Where the record stands that something is a copy of: topic and partition, offset, timestamp (ms)."""

    place: str
    offset: int
    timestamp: int


def header(headers: Headers, wanted: str) -> bytes | None:
    """Return the value of the first header of this name, ``None`` if there is none."""
    for name, value in headers:
        if name == wanted:
            return value
    return None


def number_of(written: bytes | str | None) -> int | None:
    """Return a number that somebody wrote into a header; ``None``: it is none, or none of 64 bits.

    Python reads no number of thousands of digits, and takes "²" for a digit.
    """
    text = written.decode(errors="replace") if isinstance(written, bytes) else written or ""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= _MOST_DIGITS else None


def origin(headers: Headers) -> Origin | None:
    """Return the original of a copied record, ``None`` if it is no copy.

    Of a copy of a copy: the first.
    """
    came_from = header(headers, REROUTED_HEADER)
    if came_from is None:
        return None
    timestamp = number_of(header(headers, REROUTED_TIMESTAMP_HEADER))
    place, _, written = came_from.decode(errors="replace").rpartition("-")
    offset = number_of(written)
    if not place or offset is None or timestamp is None:
        return None
    return Origin(place, offset, timestamp)


class Record(NamedTuple):
    """A record built by hand: tests call a step with it, no broker needed.  ``timestamp`` is in ms."""

    value: bytes | None
    key: bytes | None = None
    offset: int = 0
    topic: str = "test"
    partition: int = 0
    timestamp: int = 0
    headers: Headers = ()


class FetchedRecord(msgspec.Struct, frozen=True, gc=False):
    """A record as it was fetched.  ``timestamp`` is in ms.

    One is made for every record there is: in half the time and half the memory of aiokafka's.
    """

    topic: str
    partition: int
    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: Headers


class UnreadBatch(NamedTuple):
    """A compressed batch of the log that was not unpacked; it takes the place of its records.

    As a record it has nothing but a place: ``offset`` is its last one, ``timestamp`` (ms) its latest.  It never
    reaches a step.  ``record_count`` is what its header says, ``data`` the whole batch as it lies in the log,
    ``reason`` and ``message`` why it was not unpacked.
    """

    topic: str
    partition: int
    first_offset: int
    offset: int
    timestamp: int
    codec: str
    record_count: int
    data: bytes
    reason: str
    message: str

    @property
    def key(self) -> bytes | None:
        return None

    @property
    def value(self) -> bytes | None:
        return None

    @property
    def headers(self) -> Headers:
        return ()


class RecordBatch:
    """Consecutive records of one partition, delivered to a stage as one event.

    ``position`` is where the fetch before it ended: the offset that this batch continues from.  Offsets
    themselves may skip (compaction, transactions), so a hole in them says nothing; a ``position`` that
    differs from where the stage stands says that a batch was lost.  ``epoch`` is the epoch that it was
    fetched in (:mod:`streams.runtime.epoch`): once that is over, the batch is dropped.  ``source`` is the
    topic's catalog name, without the deployment's prefix, and ``source_index`` its place among the stage's
    sources.  ``size`` is that of its values, in bytes.

    To Faust the batch is one record: ``offset`` and ``timestamp`` (ms) are those of the last one.
    """

    __slots__ = (
        "epoch",
        "first_offset",
        "offset",
        "partition",
        "position",
        "records",
        "size",
        "source",
        "source_index",
        "timestamp",
        "timestamp_type",
        "topic",
    )

    def __init__(
        self,
        records: Sequence[SourceRecord],
        *,
        position: int | None = None,
        epoch: object = None,
        source: str | None = None,
        source_index: int = 0,
        size: int = 0,
    ) -> None:
        first, last = records[0], records[-1]
        self.records = records
        self.size = size
        self.first_offset = first.offset
        self.topic = last.topic
        self.partition = last.partition
        self.offset = last.offset
        self.timestamp = last.timestamp
        self.timestamp_type = 0
        self.position = first.offset if position is None else position
        self.epoch = epoch
        self.source = last.topic if source is None else source
        self.source_index = source_index

    @property
    def next_position(self) -> int:
        """Where the next batch of this partition continues."""
        return self.offset + 1

    def only(self, records: Sequence[SourceRecord]) -> RecordBatch:
        """Return this batch, in the same place, with only these of its records (maybe none)."""
        rest = RecordBatch(
            self.records,
            position=self.position,
            epoch=self.epoch,
            source=self.source,
            source_index=self.source_index,
        )
        rest.records = records
        return rest

    def single(self, number: int) -> RecordBatch:
        """Return a batch of the record at ``number``."""
        return self._part(self.records[number : number + 1 or None])

    def halves(self) -> tuple[RecordBatch, RecordBatch]:
        """Return a batch of the first half of the records, and one of the rest; there must be two or more."""
        middle = len(self.records) // 2
        return self._part(self.records[:middle]), self._part(self.records[middle:])

    def _part(self, records: Sequence[SourceRecord]) -> RecordBatch:
        return RecordBatch(records, epoch=self.epoch, source=self.source, source_index=self.source_index)

    def release(self) -> None:
        """Let go of the records: everything that they lead to is packed."""
        self.records = ()

    def __len__(self) -> int:
        return len(self.records)

    def __repr__(self) -> str:
        return f"<RecordBatch {self.topic}-{self.partition} {self.first_offset}..{self.offset}>"
