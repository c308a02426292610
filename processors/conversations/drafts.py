"""Outputs of a conversation, built around messages that are already encoded.

A message is encoded once, when it comes in; windows and requests copy its bytes, as one array.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import msgspec

from models.windows import WindowReason, WindowSource
from processors.conversations.state import Kept


class WindowDraft(msgspec.Struct, frozen=True):
    """A finished :class:`models.windows.Window` whose messages are already encoded."""

    window_id: str
    conversation_id: str
    user_id: str
    reason: WindowReason
    message_ids: tuple[str, ...]
    messages: msgspec.Raw
    from_index: int
    to_index: int
    overlap: int
    source: WindowSource
    tenant_id: str


class SummaryRequestDraft(msgspec.Struct, frozen=True):
    """A :class:`models.summaries.SummaryRequest` whose messages and summaries are already encoded."""

    request_id: str
    conversation_id: str
    user_id: str
    from_index: int
    to_index: int
    messages: msgspec.Raw
    tokens: int
    threshold: int
    source: WindowSource
    arrived_at: datetime
    previous: tuple[msgspec.Raw, ...]
    replaces: tuple[str, ...]
    roll_up: bool
    attempt: int
    tenant_id: str


def joined(messages: Sequence[Kept]) -> msgspec.Raw:
    """Return the bodies as one JSON array."""
    return msgspec.Raw(b"[" + b",".join([message.body for message in messages]) + b"]")


def source_of(place: tuple[str, int], first_offset: int, last_offset: int) -> WindowSource:
    """Return where messages lie in the log; ``place``: topic and partition."""
    topic, partition = place
    return WindowSource(topic=topic, partition=partition, first_offset=first_offset, last_offset=last_offset)
