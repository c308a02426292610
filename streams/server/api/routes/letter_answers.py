"""Answers about dead letters."""

from __future__ import annotations

from datetime import UTC, datetime

import msgspec

from streams.queries import dead_letters
from streams.queries.letter_queues import LetterQueues


class LetterGroup(msgspec.Struct, frozen=True, kw_only=True):
    """Letters of one topic that have reason and stage in common; ``message``: that of the latest."""

    topic: str
    reason: str
    stage: str
    count: int
    first_at: datetime
    last_at: datetime
    message: str


class LetterRow(msgspec.Struct, frozen=True, kw_only=True):
    """A dead letter.

    ``partition`` and ``offset`` are its place in the queue; ``source`` is where the record lay, as far as the
    letter says.  ``refused``: how often a record like it was, this time included; ``not_retryable``: why it
    cannot be tried again, empty if it can.  ``size`` in bytes.  ``sent``: partition and offset of the record
    that a retry made of it; of a message `GET /v1/progress` says how far it has come.
    """

    topic: str
    partition: int
    offset: int
    at: datetime
    reason: str
    message: str
    stage: str
    source: str
    attempts: str
    size: int
    refused: int
    not_retryable: str
    sent: str = ""


class LetterGroups(msgspec.Struct, frozen=True, kw_only=True):
    """All that lies in the queues and is not settled."""

    groups: list[LetterGroup]


class LetterList(msgspec.Struct, frozen=True, kw_only=True):
    """A page of letters, the latest first.  ``next``: the cursor of the page behind it, if there is one."""

    letters: list[LetterRow]
    next: str | None


class LetterRecord(msgspec.Struct, frozen=True, kw_only=True):
    """The record of a letter; what is no UTF-8 shows as ``\\xff`` in ``key``, ``text`` and headers.

    ``complete``: all of it was kept.
    """

    key: str | None
    text: str | None
    hex: str | None
    headers: list[tuple[str, str | None]]
    complete: bool


class WholeLetter(msgspec.Struct, frozen=True, kw_only=True):
    """A letter with its record; none, if parts of it are missing or damaged."""

    letter: LetterRow
    record: LetterRecord | None


class Settled(msgspec.Struct, frozen=True, kw_only=True):
    """The letters that were settled.  ``left``: how many of them remain: at most 1,000 are at once."""

    letters: list[LetterRow]
    left: int


def row_of(letter: dead_letters.Letter, letters: LetterQueues) -> LetterRow:
    return LetterRow(
        topic=letters.contract_name(letter.queue),
        partition=letter.partition,
        offset=letter.offset,
        at=time_of(letter.at),
        reason=letter.reason,
        message=letter.message,
        stage=letter.stage,
        source=" / ".join(filter(None, (letter.topic, letter.source_partition, letter.source_offset))),
        attempts=letter.attempts,
        size=letter.size,
        refused=letter.refused,
        not_retryable=letter.retryable,
        sent=letter.sent,
    )


def time_of(milliseconds: int) -> datetime:
    return datetime.fromtimestamp(milliseconds / 1000, UTC)


def text_of(value: bytes | None) -> str | None:
    return None if value is None else value.decode(errors="backslashreplace")
