"""Dead letters: put together again where they were split, without those that are settled."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from streams.clients.records import (
    REROUTED_HEADER,
    REROUTED_TIMESTAMP_HEADER,
    Headers,
    SourceRecord,
    header,
    number_of,
)
from streams.runtime.deadletters import HEADER_PREFIX, DeadRecord, join_parts, why_of

SETTLED, OF = "dlq_settled", "dlq_of"
_WHY_COUNT = 7
COPY = (REROUTED_HEADER, REROUTED_TIMESTAMP_HEADER)

#: Headers with the trace of a record (W3C Trace Context), plain or as extensions of a CloudEvent.
TRACE = ("traceparent", "tracestate", "ce_traceparent", "ce_tracestate")


class Place(NamedTuple):
    """Position of a letter's first part in its queue."""

    partition: int
    offset: int

    def __str__(self) -> str:
        return f"{self.partition}:{self.offset}"


class Letter(msgspec.Struct, frozen=True, kw_only=True):
    """A dead letter.

    ``partition`` and ``offset`` are its place in the queue; ``topic``, ``source_partition`` and
    ``source_offset`` the place of the record.  ``refused``: how often a record with the same key, value and
    headers was refused, this time included.  ``retryable``: empty, or the reason why it cannot be tried again.
    ``at`` is in ms since 1970.  ``sent``: partition and offset, in ``topic``, of the record that a retry made.
    """

    queue: str
    partition: int
    offset: int
    at: int
    reason: str
    message: str
    stage: str
    topic: str
    source_partition: str
    source_offset: str
    attempts: str
    size: int
    parts: int
    refused: int
    retryable: str
    sent: str = ""

    @property
    def place(self) -> Place:
        """Its place in the queue."""
        return Place(self.partition, self.offset)


class Group(msgspec.Struct, frozen=True, kw_only=True):
    """Letters of one queue that have reason and stage in common, and, if asked for, field and cause.

    ``message``: that of the latest.  Times are in ms since 1970.
    """

    queue: str
    reason: str
    stage: str
    count: int
    first_at: int
    last_at: int
    message: str
    field: str = ""


class Whole(NamedTuple):
    """A letter with its record; ``record`` is ``None`` if parts of it are missing or damaged."""

    letter: Letter
    record: DeadRecord | None


class LetterReader:
    """Letters of a queue, from its records in their order."""

    def __init__(self, queue: str, wanted: set[Place] | None, with_records: bool) -> None:
        self._queue = queue
        self._wanted = wanted
        self._with_records = with_records
        self._open: dict[tuple[str, ...], dict[int, SourceRecord]] = {}
        self._joined: set[tuple[str, ...]] = set()
        self._found: dict[Place, Whole] = {}
        self._prints: dict[Place, bytes] = {}
        self._settled: set[Place] = set()

    def take(self, record: SourceRecord) -> None:
        """Read one more record."""
        if header(record.headers, SETTLED) is not None and record.value is None:
            if (of := number_of(header(record.headers, OF))) is not None:
                self._settled.add(Place(record.partition, of))
            return
        why = why_of(record)
        part, of = number_of(why.get("part")), number_of(why.get("parts"))
        if part is None or of is None:
            self._add([record], why)
            return
        name = (
            str(record.partition),
            *(why.get(field, "") for field in ("topic", "partition", "offset", "sha256")),
        )
        if name in self._joined:
            return  # written twice: the stage was stopped in between
        parts = self._open.setdefault(name, {})
        parts[part] = record
        if len(parts) == of:
            self._joined.add(name)
            self._add([parts[number] for number in sorted(parts)], why)
            del self._open[name]

    def letters(self) -> list[Whole]:
        """Return the letters."""
        for parts in self._open.values():
            ordered = [parts[number] for number in sorted(parts)]
            self._add(ordered, why_of(ordered[0]))
        self._open = {}
        counts: Counter[bytes] = Counter()
        letters = []
        for place, whole in sorted(self._found.items(), key=lambda item: (item[1].letter.at, item[0])):
            counts[self._prints[place]] += 1
            if place not in self._settled and (self._wanted is None or place in self._wanted):
                refused = counts[self._prints[place]]
                letters.append(whole._replace(letter=msgspec.structs.replace(whole.letter, refused=refused)))
        return letters

    def _add(self, parts: Sequence[SourceRecord], why: dict[str, str]) -> None:
        first = parts[0]
        place = Place(first.partition, first.offset)
        record = _joined(parts, why)
        self._prints[place] = _fingerprint(first, record)
        letter = Letter(
            queue=self._queue,
            partition=place.partition,
            offset=place.offset,
            at=first.timestamp,
            reason=why.get("reason", "unknown"),
            message=why.get("message", ""),
            stage=why.get("stage", ""),
            topic=why.get("topic", ""),
            source_partition=why.get("partition", ""),
            source_offset=why.get("offset", ""),
            attempts=why.get("attempts", ""),
            size=len(first.value or b"") if (said := number_of(why.get("bytes"))) is None else said,
            parts=len(parts),
            refused=1,
            retryable=_why_not_retried(record, why),
        )
        keep = self._with_records and (self._wanted is None or place in self._wanted)
        self._found[place] = Whole(letter, record if keep else None)


def _joined(parts: Sequence[SourceRecord], why: dict[str, str]) -> DeadRecord | None:
    if "content" in why:
        try:
            return join_parts(parts)
        except (ValueError, KeyError):
            return None
    [record] = parts
    headers = list(record.headers)
    if headers and headers[-1][0] == f"{HEADER_PREFIX}attempts":
        own: Headers = headers[:-_WHY_COUNT]
    else:
        own = [each for each in headers if not each[0].startswith(HEADER_PREFIX)]
    return DeadRecord(record.key, record.value, own, why, complete=True)


def _why_not_retried(record: DeadRecord | None, why: dict[str, str]) -> str:
    if record is None:
        return "parts of it are missing or damaged"
    if why.get("content") == "batch":
        return "it is a batch of the log that cannot be unpacked: have its producer send the records again"
    if not record.complete:
        return "only its beginning was kept: have its producer send it again, in pieces"
    return ""


def _fingerprint(first: SourceRecord, record: DeadRecord | None) -> bytes:
    """Return the fingerprint of a record, wherever it is stored."""
    if record is None:
        return f"{first.partition}:{first.offset}".encode()
    own = [each for each in record.headers if each[0] not in COPY and each[0].lower() not in TRACE]
    return hashlib.blake2b(repr((record.key, record.value, own)).encode(), digest_size=16).digest()
