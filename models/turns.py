"""``memory.turns.v1``: what was said, turn by turn, as it may be stored and searched."""

from __future__ import annotations

from typing import Annotated

import msgspec

from models.messages import DEFAULT_TENANT, Identifier, Role, Timestamp

_NonNegative = Annotated[int, msgspec.Meta(ge=0)]


class TurnSource(msgspec.Struct, frozen=True, kw_only=True):
    """Where the message stands in the log."""

    topic: str
    partition: _NonNegative
    offset: _NonNegative


class Turn(msgspec.Struct, frozen=True, kw_only=True):
    """One message of a conversation.  Key: ``turn_id``; partition: that of ``conversation_id``.

    ``text`` is the message's content without what must not be stored verbatim: ``masked`` passages of it were
    replaced.  ``speaker`` is the message's ``metadata.name``, ``""`` if it has none.  ``index`` is the absolute
    0-based position in the conversation, the same as in ``memory.windows.v1``; it counts from ``began_at``, the
    arrival of the message with index 0: a conversation that was forgotten and began anew has another one, and
    the later one counts.  ``sent_at`` is the producer's clock, ``arrived_at`` and ``began_at`` the log's.
    ``metadata``: those fields of the message's that searches filter by, as text.
    """

    turn_id: Identifier
    message_id: Identifier
    conversation_id: Identifier
    user_id: Identifier
    role: Role
    text: str
    sent_at: Timestamp
    arrived_at: Timestamp
    began_at: Timestamp
    index: _NonNegative
    source: TurnSource
    speaker: Annotated[str, msgspec.Meta(max_length=256)] = ""
    masked: _NonNegative = 0
    tenant_id: Identifier = DEFAULT_TENANT
    metadata: dict[str, str] = {}


#: Longer values of ``metadata`` are not filtered by (characters).
_LONGEST_VALUE = 256


def metadata_text(value: object) -> str | None:
    """Return a value of ``metadata`` as it is filtered by; ``None``: by this it is not."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value) if abs(value) < 1 << 64 else None
    return value if isinstance(value, str) and 0 < len(value) <= _LONGEST_VALUE else None


def metadata_label(key: str, text: str) -> str:
    """Return the label of a ``metadata`` field that an index compares."""
    return f"{key}={text}"
