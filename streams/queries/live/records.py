"""Conversion of records to events."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

import msgspec

from models.errors import InvalidRecord
from models.facts import Fact, FactCandidate
from models.messages import DEFAULT_TENANT, PUNCTUATION_HEADER, ChatMessage, Punctuation
from models.responses import ContentDuplicationEvent, ResponseChunk
from models.summaries import Summary
from models.windows import WindowReason, WindowSource
from processors.text.tokens import TokenCounter, message_tokens
from processors.text.validation import decode
from streams.agents.message_log import read_message
from streams.clients.records import SourceRecord, header, number_of
from streams.queries.dead_letters import SETTLED
from streams.runtime.deadletters import DLQ_SUFFIX, HEADER_PREFIX


class EventKind(StrEnum):
    """Kind of an event; its name on the wire."""

    MESSAGE = "message"
    PUNCTUATION = "punctuation"
    WINDOW = "window"
    CANDIDATES = "candidates"
    FACT = "fact"
    SUMMARY_REQUESTED = "summary-requested"
    SUMMARY = "summary"
    RESPONSE = "response"
    DUPLICATE = "duplicate"
    DEAD_LETTER = "dead-letter"
    STATUS = "status"


KINDS_OF_DEAD_LETTERS = EventKind.DEAD_LETTER


class WindowSeen(msgspec.Struct, frozen=True, kw_only=True):
    """A window without the text of its messages, which are events of their own."""

    window_id: str
    conversation_id: str
    user_id: str
    reason: WindowReason
    message_ids: tuple[str, ...]
    from_index: int
    to_index: int
    overlap: int
    source: WindowSource
    tenant_id: str = DEFAULT_TENANT


class SummaryRequested(msgspec.Struct, frozen=True, kw_only=True):
    """A request for a summary without the text of its messages."""

    request_id: str
    conversation_id: str
    user_id: str
    from_index: int
    to_index: int
    tokens: int
    threshold: int
    roll_up: bool = False
    attempt: int = 1
    tenant_id: str = DEFAULT_TENANT


class Refused(msgspec.Struct, frozen=True, kw_only=True):
    """A dead letter: why it is one and where the record lay, nothing of what it says."""

    reason: str
    message: str
    stage: str
    topic: str
    partition: int
    offset: int
    attempts: int


class Happened(msgspec.Struct, frozen=True, kw_only=True):
    """An event: its kind, where its record stands, when that arrived, and what it says.

    ``topic`` is the contract's name.  ``value`` is ``None`` for a tombstone: what ``key`` names was erased.
    ``tokens``: of a message (requirement 5.1); ``index``: its place in its conversation, from 0, which the
    log alone says: a stream tells of messages before anybody has counted them.
    """

    kind: EventKind
    at: datetime
    topic: str = ""
    partition: int = 0
    offset: int = 0
    key: str = ""
    value: Any = None
    tokens: int | None = None
    index: int | None = None


class Seen(msgspec.Struct, frozen=True):
    """An event and whom it concerns; ``tenant_id`` is ``None`` where nothing says."""

    event: Happened
    tenant_id: str | None
    user_id: str = ""
    conversations: frozenset[str] = frozenset()


@dataclass(frozen=True)
class About:
    """Content of a topic.  ``type``: the type of its values; ``conversations``: reads their conversations."""

    kinds: tuple[EventKind, ...]
    type: type[msgspec.Struct]
    conversations: Callable[[Any], Iterable[str]] = lambda value: (value.conversation_id,)


def _of_fact(fact: Fact) -> Iterable[str]:
    return (source.conversation_id for source in fact.provenance)


def _of_candidate(candidate: FactCandidate) -> Iterable[str]:
    return (candidate.provenance.conversation_id,)


def _of_duplicate(event: ContentDuplicationEvent) -> Iterable[str]:
    return (event.session_id,)


TOPICS: Mapping[str, About] = {
    "chat.messages.v1": About((EventKind.MESSAGE, EventKind.PUNCTUATION), ChatMessage),
    "memory.windows.v1": About((EventKind.WINDOW,), WindowSeen),
    "memory.fact-candidates.v1": About((EventKind.CANDIDATES,), FactCandidate, _of_candidate),
    "memory.facts.v1": About((EventKind.FACT,), Fact, _of_fact),
    "memory.summary-requests.v1": About((EventKind.SUMMARY_REQUESTED,), SummaryRequested),
    "memory.summaries.v1": About((EventKind.SUMMARY,), Summary),
    "chat.responses.v1": About((EventKind.RESPONSE,), ResponseChunk),
    "chat.duplicates.v1": About((EventKind.DUPLICATE,), ContentDuplicationEvent, _of_duplicate),
}


def read(record: SourceRecord, topic: str, count: TokenCounter) -> Seen | None:
    """Return the event in a record of ``topic`` (contract name); ``None`` if it cannot be read.

    What cannot be read is refused by a service too, and seen as a dead letter.
    """
    if topic.endswith(DLQ_SUFFIX):
        if header(record.headers, SETTLED) is not None:
            return None
        return Seen(_happened(EventKind.DEAD_LETTER, record, topic, _refused(record)), None)
    about = TOPICS[topic]
    if record.value is None:
        return Seen(_happened(about.kinds[0], record, topic, None), None)
    mark = topic == "chat.messages.v1" and header(record.headers, PUNCTUATION_HEADER) is not None
    kind, struct = (EventKind.PUNCTUATION, Punctuation) if mark else (about.kinds[0], about.type)
    try:
        value: Any = read_message(record) if struct is ChatMessage else decode(struct, record.value)
    except InvalidRecord:
        return None
    tokens = message_tokens(value.role, value.content, count) if kind is EventKind.MESSAGE else None
    return Seen(
        _happened(kind, record, topic, value, tokens),
        getattr(value, "tenant_id", DEFAULT_TENANT),
        getattr(value, "user_id", ""),
        frozenset(about.conversations(value)),
    )


def _happened(
    kind: EventKind, record: SourceRecord, topic: str, value: Any, tokens: int | None = None
) -> Happened:
    return Happened(
        kind=kind,
        at=datetime.fromtimestamp(max(record.timestamp, 0) / 1000, UTC),
        topic=topic,
        partition=record.partition,
        offset=record.offset,
        key=(record.key or b"").decode(errors="replace"),
        value=value,
        tokens=tokens,
    )


def _refused(record: SourceRecord) -> Refused:
    def text(name: str) -> str:
        return (header(record.headers, HEADER_PREFIX + name) or b"").decode(errors="replace")

    def number(name: str) -> int:
        return number_of(text(name)) or 0

    return Refused(
        reason=text("reason"),
        message=text("message"),
        stage=text("stage"),
        topic=text("topic"),
        partition=number("partition"),
        offset=number("offset"),
        attempts=number("attempts"),
    )


def may_concern(key: bytes | None, keyed_by: str, conversations: Collection[bytes]) -> bool:
    """Tell by a record's key alone, before it is decoded, whether it can be of one of these conversations."""
    return keyed_by != "conversation_id" or key is None or key in conversations
