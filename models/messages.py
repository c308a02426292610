"""``chat.messages.v1``: one message of a conversation, as producers publish it."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any

import msgspec

#: Identifiers name things in keys, headers and logs, so they are short and never empty.
Identifier = Annotated[str, msgspec.Meta(min_length=1, max_length=256)]

#: RFC 3339 with an offset.  A naive time is refused: it cannot be compared with anything.
Timestamp = Annotated[datetime, msgspec.Meta(tz=True)]

DEFAULT_TENANT = "default"


class Role(StrEnum):
    """Who speaks."""

    USER = "user"
    ASSISTANT = "assistant"
    SYSTEM = "system"
    TOOL = "tool"


class ChatMessage(msgspec.Struct, frozen=True, kw_only=True):
    """One chat message.  The record's key is ``conversation_id``; unknown fields are ignored.

    ``user_id`` is the person whose memory the message belongs to: the speaker of a ``user`` message,
    and the person spoken with for the other roles.
    """

    message_id: Identifier
    conversation_id: Identifier
    user_id: Identifier
    role: Role
    content: str
    sent_at: Timestamp
    tenant_id: Identifier = DEFAULT_TENANT
    metadata: dict[str, Any] = {}


class MendedMessage(ChatMessage, frozen=True, kw_only=True):
    """A message in whose content so many characters were replaced: what no content may hold."""

    replaced: int


class PunctuationKind(StrEnum):
    """What a punctuation says."""

    TICK = "tick"
    CLOSE = "close"
    ERASE = "erase"


#: The header that tells a punctuation from a message; its value is the kind.
PUNCTUATION_HEADER = "sw_punctuation"


class Punctuation(msgspec.Struct, frozen=True, kw_only=True):
    """A record of ``chat.messages.v1`` that is no message: the ingest service writes it between messages.

    So that the log itself says where a conversation was found silent or was closed, and a replay cuts there
    too.  ``tick``: nothing, other than when it arrived; ``close``: the open window ends here; ``erase``: what
    stands before it counts no more, all of it or what ``user_id`` said.  It has the key of its conversation and
    the header :data:`PUNCTUATION_HEADER`; readers of messages pass over it.
    """

    punctuation: Identifier
    conversation_id: Identifier
    tenant_id: Identifier = DEFAULT_TENANT
    user_id: str = ""
