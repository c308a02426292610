"""Types of requests and answers.  Members that this version does not know are left out."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Generic, TypeVar

import msgspec

T = TypeVar("T")


class Message(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A message to remember.  Without an id it gets one made of the call's key; without ``sent_at``: now."""

    conversation_id: str
    content: str
    role: str = msgspec.field(default="user")
    user_id: str = ""
    message_id: str = ""
    sent_at: datetime | None = None
    metadata: dict[str, Any] = {}


class Accepted(msgspec.Struct, frozen=True, kw_only=True):
    """A message that the broker has.  ``partition`` and ``offset`` say where."""

    message_id: str
    partition: int
    offset: int
    conversation_id: str = ""

    @property
    def position(self) -> str:
        """Position of the last message, as :meth:`Switchboard.progress` takes it."""
        return f"{self.partition}:{self.offset}"


class Added(msgspec.Struct, frozen=True, kw_only=True):
    """The messages of one call, in its order."""

    messages: list[Accepted]


class Source(msgspec.Struct, frozen=True, kw_only=True):
    """The sentence a fact came from."""

    conversation_id: str
    quote: str
    message_ids: list[str] = []
    sent_at: datetime | None = None


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """One change of a fact, and what caused it."""

    version: int
    change: str
    at: datetime
    confidence_after: float = 0.0
    confidence_before: float | None = None
    message_id: str | None = None
    fact_id: str | None = None


class Fact(msgspec.Struct, frozen=True, kw_only=True):
    """Something that is known of a person."""

    fact_id: str
    user_id: str
    kind: str
    statement: str
    confidence: float
    status: str
    version: int = 1
    evidence_count: int = 1
    provenance: list[Source] = []
    valid_from: datetime | None = None
    valid_to: datetime | None = None
    learned_at: datetime | None = None
    superseded_by: str | None = None
    changes: list[Change] = []
    tenant_id: str = "default"


class Correction(msgspec.Struct, frozen=True, kw_only=True):
    """Replacement of a fact, applied within seconds.  ``ends``: nothing does, and ``instead`` is empty."""

    fact_id: str
    instead: str
    statement: str
    ends: bool


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """Something that answers a question; ``score`` is 0..1, ``kind`` is fact, turn or episode."""

    kind: str
    score: float
    text: str
    message_ids: list[str] = []
    conversation_id: str = ""
    parts: dict[str, float] = {}
    fact: Fact | None = None


class Search(msgspec.Struct, frozen=True, kw_only=True):
    """Search results, best first.  ``known``: there is something of the person; ``empty``: why nothing was."""

    query: str
    user_id: str
    results: list[Result]
    known: bool = True
    empty: str | None = None
    degraded: bool = False


class Context(msgspec.Struct, frozen=True, kw_only=True):
    """Context for the next turn, as text.

    ``status``: made, nothing, not_made_yet (``prompt``: what is in every context, instructions and allergies).
    """

    status: str
    conversation_id: str
    user_id: str
    prompt: str = ""
    behind: int = 0
    context: dict[str, Any] | None = None


class LoggedMessage(msgspec.Struct, frozen=True, kw_only=True):
    """A message of a conversation, as it is remembered."""

    message_id: str
    role: str
    content: str
    sent_at: datetime
    user_id: str = ""


class Conversation(msgspec.Struct, frozen=True, kw_only=True):
    """Messages of a conversation."""

    messages: list[LoggedMessage]


class Page(msgspec.Struct, Generic[T], frozen=True, kw_only=True):
    """Some of a list; ``next`` begins the following page."""

    items: list[T]
    next: str | None = None


class Event(msgspec.Struct, frozen=True):
    """One event of a stream: its id, its kind, and its data."""

    id: str
    kind: str
    data: dict[str, Any]
