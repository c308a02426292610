"""``chat.messages.v1``: one message of a conversation, as producers publish it."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any, ClassVar

import msgspec

from models.parts import PART_SCHEMA

#: Identifiers name things in keys, headers and logs, so they are short and never empty.
Identifier = Annotated[str, msgspec.Meta(min_length=1, max_length=256)]

#: RFC 3339 with an offset.  A naive time is refused: it cannot be compared with anything.
Timestamp = Annotated[datetime, msgspec.Meta(tz=True)]

DEFAULT_TENANT = "default"


class Role(StrEnum):
    """Role of a speaker."""

    USER = "user"
    ASSISTANT = "assistant"
    SYSTEM = "system"
    TOOL = "tool"


#: What other clients call the roles.  Upper and lower case are the same.
ROLES: dict[str, Role] = {
    **{role.value: role for role in Role},
    "human": Role.USER,
    "model": Role.ASSISTANT,
    "ai": Role.ASSISTANT,
    "bot": Role.ASSISTANT,
    "developer": Role.SYSTEM,
    "function": Role.TOOL,
}


class ChatMessage(msgspec.Struct, frozen=True, kw_only=True):
    """One chat message, as the services read it; :class:`IncomingMessage` is what producers may send.

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


#: An identifier as clients have it: an integer stands for its digits.
AnyIdentifier = Identifier | int

#: A time as clients have it: RFC 3339 (UTC if it has no offset), or seconds, milliseconds or microseconds since
#: 1970.  The number of digits decides which.
TIME_PATTERN = (
    r"^[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt ][0-9]{2}:[0-9]{2}"
    r"(:[0-9]{2}([.,][0-9]+)?)?([Zz]|[+-][0-9]{2}(:?[0-9]{2})?)?$"
)
DIGITS_PATTERN = r"^[0-9]{9,16}([.][0-9]+)?$"
_TimeText = Annotated[
    str, msgspec.Meta(extra_json_schema={"anyOf": [{"pattern": TIME_PATTERN}, {"pattern": DIGITS_PATTERN}]})
]
_Below = msgspec.Meta(extra_json_schema={"exclusiveMaximum": 10**17})  # microseconds in the year 5138
AnyTime = _TimeText | Annotated[int, _Below] | Annotated[float, _Below]

AnyRole = Annotated[
    str,
    msgspec.Meta(
        description="`human` is user; `model`, `ai`, `bot` are assistant; `developer` is system; `function` is "
        "tool; capitals do not matter.",
        extra_json_schema={"enum": [*ROLES]},
    ),
]
Part = Annotated[dict[str, Any], msgspec.Meta(extra_json_schema=PART_SCHEMA)]


class MessageShape(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Role and words of a message as clients of language models have them.

    ``content`` is text, or parts in the form of OpenAI, Anthropic or Gemini (``parts``, too): their texts are
    joined by line feeds, an image, audio, video or file is named (``[image]``) and never fetched, thoughts of a
    model are left out.  Without ``content`` a message has ``tool_calls`` or ``function_call`` (``[tool call:
    weather]``), a ``refusal``, or the transcript of its ``audio``.  Calls and results of tools are named where
    nothing else is said; a user's message of nothing but results of tools is the tool's.  ``metadata``: null is
    none.  What else such clients have for a message is taken and not kept.
    """

    role: AnyRole
    content: str | list[str | Part] | dict[str, Any] | None = None
    parts: list[str | Part] | None = None
    tool_calls: list[dict[str, Any]] | None = None
    function_call: dict[str, Any] | None = None
    refusal: str | None = None
    audio: dict[str, Any] | None = None
    metadata: dict[str, Any] | None = None


class IncomingMessage(MessageShape, frozen=True, kw_only=True, omit_defaults=True):
    """One chat message, as a producer may send it.  The record's key is ``conversation_id``; unknown fields are
    ignored.

    ``user_id`` is the person whose memory the message belongs to: the speaker of a ``user`` message, and the
    person spoken with for the other roles.  A message without ``message_id`` gets one made of where its record
    stands (topic, partition, offset): sent again it counts again.  An integer as an id is its digits.
    ``sent_at`` is RFC 3339, without an offset in UTC; or seconds, milliseconds or microseconds since 1970.
    """

    #: What the JSON Schema says beyond the fields: a message has words, or something that stands for them.
    schema: ClassVar[dict[str, Any]] = {
        "anyOf": [
            {"required": [name], "properties": {name: {"not": {"enum": [None, [], {}]}}}}
            for name in ("content", "parts", "tool_calls", "function_call", "refusal", "audio")
        ]
    }

    conversation_id: AnyIdentifier
    user_id: AnyIdentifier
    sent_at: AnyTime
    message_id: AnyIdentifier | None = None
    tenant_id: AnyIdentifier = DEFAULT_TENANT


class MendedMessage(ChatMessage, frozen=True, kw_only=True):
    """A message in whose content so many characters were replaced: what no content may hold."""

    replaced: int


class PunctuationKind(StrEnum):
    """Kind of a punctuation."""

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
