"""``memory.summary-requests.v1`` and ``memory.summaries.v1`` (requirement 5.2)."""

from __future__ import annotations

from typing import Annotated

import msgspec

from models.messages import DEFAULT_TENANT, Identifier, Timestamp
from models.windows import NonNegative, WindowMessage, WindowSource


class UserProfile(msgspec.Struct, frozen=True, kw_only=True):
    """Profile of the person in a conversation."""

    preferences: tuple[str, ...] = ()
    constraints: tuple[str, ...] = ()


class SessionSummary(msgspec.Struct, frozen=True, kw_only=True):
    """The structured summary of a range of messages.  Lists are empty, never null."""

    profile: UserProfile = UserProfile()
    key_facts: tuple[str, ...] = ()
    decisions: tuple[str, ...] = ()
    open_questions: tuple[str, ...] = ()
    todos: tuple[str, ...] = ()


class SummaryRequest(msgspec.Struct, frozen=True, kw_only=True):
    """The token table of a conversation crossed its threshold.  Key: ``conversation_id``.

    ``from_index`` and ``to_index`` are absolute message indices, 0-based and inclusive.  A roll-up
    request (``roll_up``: the summaries alone fill the context) carries ``previous`` and no messages, and
    its range is the union of theirs.  ``arrived_at`` is when the last message of the range arrived.
    ``attempt`` counts repeats of an unanswered request, which keeps its ``request_id``.
    """

    request_id: Identifier
    conversation_id: Identifier
    user_id: Identifier
    from_index: NonNegative
    to_index: NonNegative
    messages: tuple[WindowMessage, ...]
    tokens: NonNegative
    threshold: NonNegative
    source: WindowSource
    arrived_at: Timestamp
    previous: tuple[SessionSummary, ...] = ()
    replaces: tuple[Identifier, ...] = ()
    roll_up: bool = False
    attempt: Annotated[int, msgspec.Meta(ge=1)] = 1
    tenant_id: Identifier = DEFAULT_TENANT


class Summary(msgspec.Struct, frozen=True, kw_only=True):
    """An accepted summary of ``from_index``..``to_index``.  Key: ``summary_id``; partition: that of
    ``conversation_id``.

    ``request_id`` names the one request that it answers, and ``summary_id`` is made of the same: of the
    first and last message, or of the summaries that a roll-up ``replaces``, so that each stays traceable
    to its messages.  ``created_at`` is the request's ``arrived_at``.
    """

    summary_id: Identifier
    request_id: Identifier
    conversation_id: Identifier
    user_id: Identifier
    from_index: NonNegative
    to_index: NonNegative
    summary: SessionSummary
    tokens: NonNegative
    source: WindowSource
    summarizer: str
    created_at: Timestamp
    replaces: tuple[Identifier, ...] = ()
    tenant_id: Identifier = DEFAULT_TENANT
