"""Dead letters: a bad record, byte for byte, with headers that say what, where, why and how often.

A letter is the record itself: same key, value, headers, partition number.  These headers come after its own:

====================  ================================================================================
``dlq_reason``        slug: what the step says (``invalid_json``, ...); or, said by the runtime,
                      ``step_failed``, ``output_too_large``, ``no_answer``, ``misplaced_too_large``,
                      ``batch_too_large``, ``batch_unreadable``
``dlq_message``       a sentence, of at most 500 characters
``dlq_stage``         the stage that could not process it
``dlq_topic``, ``dlq_partition``, ``dlq_offset``
                      where it lies (topic: the name on the broker)
``dlq_attempts``      how often it was tried
====================  ================================================================================

What does not fit into one record of the queue (a producer with compression may send more than a topic seems to
take) is split.  Such a letter has these headers too, and none of the record's own; :func:`join_parts` puts it
together again:

====================  ================================================================================
``dlq_content``       what the values of all parts, joined, are: ``record`` is the record, encoded as a
                      record batch (magic 2) that holds nothing else; ``batch`` is a batch of the log
                      that was not unpacked, as it lies there; ``cut`` is the beginning of the value
                      (64 KiB) of a record that is larger than 16 MiB, and all that is kept of it
``dlq_part``, ``dlq_parts``
                      which part this is (from 1), and of how many
``dlq_bytes``, ``dlq_sha256``
                      length and hash (hex) of the content; where it was cut, of the whole value
====================  ================================================================================

A batch that was not unpacked (``dlq_content`` is ``batch``) also has ``dlq_last_offset`` (``dlq_offset`` is its
first), ``dlq_codec``, and ``dlq_records``, the number of records that it declares.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from streams.clients.aiokafka_internals import DefaultRecordBatchBuilder, MemoryRecords
from streams.clients.records import Headers, SourceRecord, UnreadBatch
from streams.runtime.effects import DeadLetter, Output
from streams.runtime.publisher import record_bytes

#: Suffix of a topic's dead-letter queue.
DLQ_SUFFIX = ".dlq"

#: Header names; the record's own headers stay in front, untouched.
HEADER_PREFIX = "dlq_"

#: The largest content that is kept whole, and what is kept of a larger one (bytes).
LARGEST_LETTER = 16 << 20
KEPT_OF_LARGER = 64 << 10

#: The headers of a letter that is one record, in their order.
_WHY = ("reason", "message", "stage", "topic", "partition", "offset", "attempts")

#: Longest explanation kept in a header (characters).
_MESSAGE_LIMIT = 500

#: Longest key that every part carries (bytes).
_KEY_LIMIT = 1024


class DeadRecord(NamedTuple):
    """A dead letter, put together again.

    ``headers`` are the record's own, ``why`` those of the letter by name without prefix.  ``complete`` is
    false if the record was cut: then ``value`` is its beginning.
    """

    key: bytes | None
    value: bytes | None
    headers: Headers
    why: dict[str, str]
    complete: bool


def to_outputs(letter: DeadLetter, *, source: str, stage: str, limit: int) -> list[Output]:
    """Return the records of a dead letter for the queue of ``source``, which takes ``limit`` bytes in each."""
    record = letter.record
    message = letter.message[:_MESSAGE_LIMIT]
    place = (record.topic, record.partition, record.offset)
    said = (letter.reason, message, stage, *place, letter.attempts)
    why: dict[str, object] = dict(zip(_WHY, said, strict=True))
    topic = source + DLQ_SUFFIX
    if isinstance(record, UnreadBatch):
        why |= {
            "offset": record.first_offset,
            "last_offset": record.offset,
            "codec": record.codec,
            "records": record.record_count,
        }
        return _split(topic, record, why, "batch", record.data, limit)
    headers = [*record.headers, *_headers(why)]
    if record_bytes(record.key, record.value, headers) <= limit:
        return [Output(topic, record.key, record.value, headers, partition=record.partition, copy=True)]
    if is_cut(letter):
        return [_cut(topic, record, why)]
    return _split(topic, record, why, "record", _encoded(record), limit)


def is_cut(letter: DeadLetter) -> bool:
    """Say whether the letter is too large to be kept whole."""
    record = letter.record
    if isinstance(record, UnreadBatch):
        return False
    return record_bytes(record.key, record.value, record.headers) > LARGEST_LETTER


def letters(records: Iterable[SourceRecord]) -> Iterator[DeadRecord]:
    """Yield the letters of a dead-letter queue's partition, each once its last part was read.

    A part that comes twice (the stage was stopped in between) is taken once.  Letters some of whose parts are
    missing come last, without their content and not ``complete``.
    """
    open_letters: dict[tuple[str, ...], dict[int, SourceRecord]] = {}
    joined: set[tuple[str, ...]] = set()
    for record in records:
        why = why_of(record)
        if "parts" not in why:
            yield join_parts([record])
            continue
        name = tuple(why.get(field, "") for field in ("topic", "partition", "offset", "stage", "sha256"))
        if name in joined:
            continue
        parts = open_letters.setdefault(name, {})
        parts[int(why["part"])] = record
        if len(parts) == int(why["parts"]):
            joined.add(name)
            yield join_parts([*open_letters.pop(name).values()])
    for parts in open_letters.values():
        some = next(iter(parts.values()))
        yield DeadRecord(some.key, None, (), why_of(some), complete=False)


def join_parts(parts: Sequence[SourceRecord]) -> DeadRecord:
    """Put a letter together from all its records, in any order.

    Raises:
        ValueError: a part is missing, or damaged, or belongs to another letter.
    """
    why = why_of(parts[0])
    if "content" not in why:
        [record] = parts
        return DeadRecord(record.key, record.value, record.headers[: -len(_WHY)], why, complete=True)
    by_number = {int(why_of(part)["part"]): part.value or b"" for part in parts}
    numbers = range(1, int(why["parts"]) + 1)
    if missing := [number for number in numbers if number not in by_number]:
        raise ValueError(f"parts {missing} of {len(numbers)} are missing")
    content = b"".join(by_number[number] for number in numbers)
    if why["content"] == "cut":
        return DeadRecord(parts[0].key, content, (), why, complete=False)
    if len(content) != int(why["bytes"]) or hashlib.sha256(content).hexdigest() != why["sha256"]:
        raise ValueError("the parts do not make the content that their headers say")
    if why["content"] == "batch":
        return DeadRecord(None, content, (), why, complete=True)
    [record] = MemoryRecords(content).next_batch()
    return DeadRecord(record.key, record.value, record.headers, why, complete=True)


def _split(
    topic: str, record: SourceRecord, why: dict[str, object], kind: str, content: bytes, limit: int
) -> list[Output]:
    why = why | {"content": kind, "bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
    key = record.key if record.key is not None and len(record.key) <= _KEY_LIMIT else None
    size = limit - record_bytes(key, None, _headers(why | {"part": limit, "parts": limit}))
    starts = range(0, len(content), size)
    return [
        Output(
            topic,
            key,
            content[start : start + size],
            _headers(why | {"part": number, "parts": len(starts)}),
            partition=record.partition,
            copy=True,
        )
        for number, start in enumerate(starts, 1)
    ]


def _cut(topic: str, record: SourceRecord, why: dict[str, object]) -> Output:
    value = record.value or b""
    why = why | {
        "content": "cut",
        "bytes": len(value),
        "sha256": hashlib.sha256(value).hexdigest(),
        "part": 1,
        "parts": 1,
    }
    key = None if record.key is None else record.key[:_KEY_LIMIT]
    kept = value[:KEPT_OF_LARGER]
    return Output(topic, key, kept, _headers(why), partition=record.partition, copy=True)


def _encoded(record: SourceRecord) -> bytes:
    builder = DefaultRecordBatchBuilder(2, 0, 0, -1, -1, -1, 0)
    builder.append(0, record.timestamp, record.key, record.value, list(record.headers))
    return bytes(builder.build())


def _headers(why: dict[str, object]) -> list[tuple[str, bytes | None]]:
    # The text of an error may hold what cannot be encoded, such as half a surrogate pair.
    return [(HEADER_PREFIX + name, str(value).encode(errors="backslashreplace")) for name, value in why.items()]


def why_of(record: SourceRecord) -> dict[str, str]:
    """Return the reason headers of a dead letter, by name without prefix; ``{}`` for other records."""
    headers = record.headers
    if headers and headers[-1][0] == HEADER_PREFIX + _WHY[-1]:
        # The record's own headers come first, and may be called like ours: it was a dead letter before.
        headers = headers[-len(_WHY) :]
    return {
        name.removeprefix(HEADER_PREFIX): (value or b"").decode(errors="replace")
        for name, value in headers
        if name.startswith(HEADER_PREFIX)
    }
