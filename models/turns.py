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
