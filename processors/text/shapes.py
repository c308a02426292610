"""Messages as clients have them, read as the services read them: the one place for Kafka, HTTP and importers.

What has one reading is taken, what has several is refused, with a sentence that says how to send it.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

import msgspec

from models.errors import InvalidRecord, MissingMessageId
from models.messages import (
    DIGITS_PATTERN,
    ROLES,
    TIME_PATTERN,
    ChatMessage,
    IncomingMessage,
    MessageShape,
    Role,
    Timestamp,
)
from models.parts import PartKind
from processors.text.parts import Piece, call_of, pieces_of, words_of

_decode = msgspec.json.Decoder(IncomingMessage).decode

_LONGEST_ID = 256
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_TIME, _DIGITS = re.compile(TIME_PATTERN), re.compile(DIGITS_PATTERN)

#: Numbers below each are in its unit, whose seconds end in the year 5138: (below, microseconds in one).
_UNITS = ((10**11, 1_000_000), (10**14, 1_000), (10**17, 1))

#: How a field is sent; said where a decoder only says what it has found.
_HOW = {
    "conversation_id": "an id is text of 1 to 256 characters, or an integer",
    "sent_at": "send RFC 3339 (2026-01-05T07:12:00Z), or seconds, milliseconds or microseconds since 1970",
    "content": 'send text, or parts; a message without words has ""',
    "role": "send user, assistant, system or tool",
    "metadata": "send an object, or leave it out",
}
_HOW |= dict.fromkeys(("message_id", "user_id", "tenant_id"), _HOW["conversation_id"])
_FIELD = re.compile(r"`(?:\$\.)?(\w+)[^`]*`$")


def read(value: bytes, message_id: str = "") -> ChatMessage:
    """Read the JSON of a message in any form that a client may have it in.

    ``message_id`` is for one that has none.

    Raises:
        InvalidRecord: ``invalid_field``, ``content_too_large``; or :class:`MissingMessageId`.
        msgspec.DecodeError: it is no JSON.
    """
    try:
        given = _decode(value)
    except msgspec.ValidationError as error:
        raise explained(error) from error
    if given.message_id is None and not message_id:
        raise MissingMessageId
    message = message_of(
        given,
        message_id=message_id if given.message_id is None else given.message_id,
        conversation_id=given.conversation_id,
        user_id=given.user_id,
        tenant_id=given.tenant_id,
        sent_at=moment(given.sent_at),
    )
    if len(message.content.encode()) > len(value):  # so content is measured by its value first (validation)
        raise InvalidRecord("content_too_large", "calls and results of tools take more room than the message")
    return message


def message_of(
    given: MessageShape,
    *,
    message_id: str | int,
    conversation_id: str | int,
    user_id: str | int,
    tenant_id: str | int,
    sent_at: datetime,
) -> ChatMessage:
    """Return a message as the services read it.

    Raises:
        InvalidRecord: ``invalid_field``.
    """
    role, content = said_by(given)
    return ChatMessage(
        message_id=identifier(message_id, "message_id"),
        conversation_id=identifier(conversation_id, "conversation_id"),
        user_id=identifier(user_id, "user_id"),
        tenant_id=identifier(tenant_id, "tenant_id"),
        role=role,
        content=content,
        sent_at=sent_at,
        metadata=given.metadata or {},
    )


def explained(error: msgspec.ValidationError) -> InvalidRecord:
    """Return the decoder's error with advice on the field's form."""
    found = _FIELD.search(str(error))
    how = _HOW.get(found[1]) if found else None
    return InvalidRecord("invalid_field", f"{error}: {how}" if how else str(error))


def said_by(given: MessageShape) -> tuple[Role, str]:
    """Return the role and the text of a message.

    Raises:
        InvalidRecord: ``invalid_field``; the role is unknown, or it is not known what is said.
    """
    role = ROLES.get(given.role.lower())
    if role is None:
        raise _wrong(f"Unknown role {given.role[:64]!r}", "role")
    if isinstance(given.content, str) and given.content:
        return role, given.content
    pieces = _pieces(given)
    if not pieces and given.content != "":
        raise _wrong("The message says nothing", "content")
    words = words_of(pieces)
    return (Role.TOOL if words.is_result and role is Role.USER else role), words.text


def _pieces(given: MessageShape) -> list[Piece]:
    pieces: list[Piece] = []
    if given.content and not isinstance(given.content, str):
        pieces += pieces_of(given.content, "content")
    elif given.parts:
        pieces += pieces_of(given.parts, "parts")
    transcript = (given.audio or {}).get("transcript")
    pieces += [
        Piece(PartKind.TEXT, text) for text in (given.refusal, transcript) if isinstance(text, str) and text
    ]
    calls = [*(given.tool_calls or ()), *([given.function_call] if given.function_call else ())]
    return pieces + [call_of(call) for call in calls]


def identifier(given: str | int, field: str) -> str:
    """Return an id as text: an integer is its digits.

    Raises:
        InvalidRecord: ``invalid_field``; it has too many.
    """
    if isinstance(given, str):
        return given
    if abs(given) >= 10**_LONGEST_ID:
        raise InvalidRecord("invalid_field", f"Integer of too many digits - at `$.{field}`: {_HOW[field]}")
    return str(given)


def moment(given: str | float) -> datetime:
    """Return the time that a message names: in UTC if it names no offset.

    Raises:
        InvalidRecord: ``invalid_field``; it is none.
    """
    if not isinstance(given, str):
        return _since_1970(given)
    try:
        return msgspec.convert(given, Timestamp)  # as the decoder of the services' own form reads it
    except msgspec.ValidationError:
        pass
    if _DIGITS.match(given):
        return _since_1970(float(given) if "." in given else int(given))
    try:
        found = datetime.fromisoformat(given.upper()) if _TIME.match(given) else None
    except ValueError:
        found = None
    if found is None:
        raise _wrong(f"No time {given[:64]!r}", "sent_at")
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def _since_1970(given: float) -> datetime:
    for below, microseconds in _UNITS:
        if abs(given) < below:
            try:
                return _EPOCH + timedelta(microseconds=round(given * microseconds))
            except OverflowError:
                break
    raise _wrong("The number is no time", "sent_at")


def _wrong(what: str, field: str) -> InvalidRecord:
    return InvalidRecord("invalid_field", f"{what} - at `$.{field}`: {_HOW[field]}")
