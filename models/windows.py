"""``memory.windows.v1``: overlapping windows of a conversation (requirement 1.1)."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import msgspec

from models.messages import DEFAULT_TENANT, Identifier, Role, Timestamp

NonNegative = Annotated[int, msgspec.Meta(ge=0)]


class WindowReason(StrEnum):
    """Why a window ended where it did."""

    FULL = "full"
    BOUNDARY = "boundary"
    IDLE = "idle"
    CLOSED = "closed"


class WindowMessage(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A message inside a window: what was said, and where in the conversation and the log it stands.

    ``index`` is the absolute 0-based position in the conversation (offset order), counted since its state
    began; ``offset`` is the record's offset in the source partition; ``late`` marks a ``sent_at`` earlier
    than that of a message before it.  ``sent_at`` is the producer's clock, ``arrived_at`` the log's (the
    record's timestamp): what is made of a message takes its own times from there, so that a replay writes
    the same ones.
    """

    message_id: Identifier
    user_id: Identifier
    role: Role
    content: str
    sent_at: Timestamp
    arrived_at: Timestamp
    index: NonNegative
    offset: NonNegative
    late: bool = False


class WindowSource(msgspec.Struct, frozen=True, kw_only=True):
    """Where the window's messages lie in the log (offsets inclusive)."""

    topic: str
    partition: NonNegative
    first_offset: NonNegative
    last_offset: NonNegative


class Window(msgspec.Struct, frozen=True, kw_only=True):
    """A window of messages.  The record's key is ``conversation_id``.

    ``from_index`` and ``to_index`` are absolute, 0-based and inclusive; the first ``overlap`` messages
    were also in the window before.  ``message_ids[-1]`` is the window's end mark (``window_end_id`` in
    requirement 1.1): a window whose end was processed is never processed again.  ``window_id`` is made of the
    conversation, the first and last message id and the overlap.
    """

    window_id: Identifier
    conversation_id: Identifier
    user_id: Identifier
    reason: WindowReason
    message_ids: tuple[Identifier, ...]
    messages: tuple[WindowMessage, ...]
    from_index: NonNegative
    to_index: NonNegative
    overlap: NonNegative
    source: WindowSource
    tenant_id: Identifier = DEFAULT_TENANT
