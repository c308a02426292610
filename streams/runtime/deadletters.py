"""Dead letters: a bad record, byte for byte, with headers that say what, where, why and how often."""

from __future__ import annotations

from streams.runtime.effects import DeadLetter, Output

#: Suffix of a topic's dead-letter queue.
DLQ_SUFFIX = ".dlq"

#: Header names; the record's own headers stay in front, untouched.
HEADER_PREFIX = "dlq_"

#: Longest explanation kept in a header (characters).
_MESSAGE_LIMIT = 500


def to_output(letter: DeadLetter, *, source: str, stage: str) -> Output:
    """Return the dead-letter record: same key, value, headers and partition number as the bad one.

    Headers added: ``dlq_reason`` (slug), ``dlq_message``, ``dlq_stage``, ``dlq_topic``, ``dlq_partition``,
    ``dlq_offset``, ``dlq_attempts``.
    """
    record = letter.record
    why = {
        "reason": letter.reason,
        "message": letter.message[:_MESSAGE_LIMIT],
        "stage": stage,
        "topic": record.topic,
        "partition": record.partition,
        "offset": record.offset,
        "attempts": letter.attempts,
    }
    headers = [*record.headers, *((HEADER_PREFIX + name, str(value).encode()) for name, value in why.items())]
    return Output(
        topic=source + DLQ_SUFFIX,
        key=record.key,
        value=record.value,
        headers=headers,
        partition=record.partition,
        copy=True,
    )
