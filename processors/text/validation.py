"""Validation of chat messages.

Everything here is decided by the record alone, so a bad record is bad on every replay.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import TypeVar

import msgspec

from models.errors import InvalidRecord
from models.messages import ChatMessage, MendedMessage
from processors.text import shapes
from processors.text.surrogates import without_halves

T = TypeVar("T")

#: C0 control characters other than tab, line feed and carriage return, and DEL.
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
_CONTROL_ANYWHERE = re.compile(r"[\x00-\x1f\x7f]")

#: Halves of characters cannot be written as UTF-8.
_HALF = re.compile("[\ud800-\udfff]")

_IDS = ("message_id", "conversation_id", "user_id", "tenant_id")

#: What a serializer of a schema registry writes in front: a zero byte and the id of the schema (4 bytes).
_FRAME_BYTES = 5

#: No chat is older than this; what claims to be has a broken clock or a wrong unit.
EARLIEST = datetime(2000, 1, 1, tzinfo=UTC)

#: How far a producer's clock may be ahead of the broker's.
MAXIMUM_AHEAD = timedelta(days=1)

_EARLIEST_SECONDS = EARLIEST.timestamp()
_AHEAD_SECONDS = MAXIMUM_AHEAD.total_seconds()

#: Looked for as numbers: finding a byte is ten times as fast as finding a text of one byte.
_BACKSLASH, _DEL = 0x5C, 0x7F

#: Deepest nesting of ``metadata``: deeper is an attack or a bug, and costs every reader.
MAXIMUM_DEPTH = 32

#: What stands for half a character, as JSON.
_REPLACEMENT = b"\\ufffd"

_DECODERS: dict[type, msgspec.json.Decoder[object]] = {}
_decode_chat_message = msgspec.json.Decoder(ChatMessage).decode

#: What a decoder raises.
_UNDECODABLE = (msgspec.MsgspecError, UnicodeDecodeError, TypeError, RecursionError)


def decode(kind: type[T], value: bytes | None) -> T:
    """Decode a record's value as ``kind``.

    Raises:
        InvalidRecord: ``null_value``, ``empty_value``, ``schema_registry``, ``invalid_utf8``,
            ``invalid_json``, ``nested_too_deep`` or ``invalid_field``.
    """
    decoder = _DECODERS.get(kind)
    if decoder is None:
        decoder = _DECODERS[kind] = msgspec.json.Decoder(kind)
    try:
        return decoder.decode(value)  # type: ignore[return-value,arg-type]  # one decoder per kind; None raises
    except _UNDECODABLE as exc:
        raise _explain(value, exc) from exc


def _explain(value: bytes | None, exc: Exception) -> InvalidRecord:
    if value is None:
        return InvalidRecord("null_value", "the record has no value: deleting is done by a command, not here")
    if not value.strip():
        return InvalidRecord("empty_value", "the record's value is empty: a JSON object is expected")
    # A registry counts its schemas from 1: bytes that are all zero are no frame.
    if value[0] == 0 and (schema := int.from_bytes(value[1:_FRAME_BYTES])) and len(value) >= _FRAME_BYTES:
        return InvalidRecord(
            "schema_registry",
            f"the value begins with a schema registry's magic byte and schema id {schema} (Avro, Protobuf or "
            "JSON Schema): have the producer write plain JSON, with a string or byte-array serializer",
        )
    try:
        value.decode()
    except UnicodeDecodeError as error:
        return InvalidRecord("invalid_utf8", f"the value is not UTF-8: byte {error.start} cannot be decoded")
    if isinstance(exc, RecursionError):
        return InvalidRecord("nested_too_deep", f"the value nests deeper than {MAXIMUM_DEPTH} levels")
    if isinstance(exc, msgspec.ValidationError):
        return InvalidRecord("invalid_field", str(exc))
    return InvalidRecord("invalid_json", str(exc))


def decode_message(value: bytes | None, message_id: str = "") -> ChatMessage:
    """Decode the value of a record of ``chat.messages.v1``, in any form that clients have (:mod:`.shapes`).

    ``message_id`` is for a message that has none.  Control characters and halves of characters in ``content``
    are replaced, and counted in a :class:`MendedMessage`.

    Raises:
        InvalidRecord: as :func:`decode`, or ``control_characters`` (in an id), or :class:`MissingMessageId`.
    """
    try:
        message = _decode_chat_message(value)  # type: ignore[arg-type]  # None raises
        if not message.content:
            message = _with_calls(value, message)
    except _UNDECODABLE as exc:
        message = _decode_other_shape(value, message_id, exc)
    assert value is not None  # or it would not have been decoded
    # JSON has control characters only as escapes (DEL apart), so most records need no second look.
    if _BACKSLASH in value or _DEL in value:
        return _without_control_characters(message)
    return message


def decode_chat_message(
    key: bytes | None, value: bytes | None, *, max_content_bytes: int, arrived_ms: int, message_id: str = ""
) -> ChatMessage:
    """Decode and check a record of ``chat.messages.v1``.

    ``arrived_ms`` is the record's timestamp (milliseconds), ``message_id`` for a message that has none.  A
    record without a key passes: what to do with it is the stage's business.

    Raises:
        InvalidRecord: as :func:`decode_message`, or ``key_mismatch``, ``content_too_large``, ``absurd_time``,
            ``nested_too_deep``.
    """
    message = decode_message(value, message_id)
    assert value is not None  # or it would not have been decoded
    if key is not None and key != message.conversation_id.encode():
        raise InvalidRecord(
            "key_mismatch", "the record's key differs from conversation_id in its value: they must be equal"
        )
    # JSON writes no text in fewer bytes than UTF-8 does, so few contents need be encoded to be measured.
    if len(value) > max_content_bytes and len(message.content.encode()) > max_content_bytes:
        raise InvalidRecord("content_too_large", f"content exceeds {max_content_bytes} bytes of UTF-8")
    seconds = message.sent_at.timestamp()
    if seconds < _EARLIEST_SECONDS or seconds - arrived_ms / 1000 > _AHEAD_SECONDS:
        _refuse_time(message.sent_at, arrived_ms)
    if message.metadata and not _is_shallow(message.metadata, MAXIMUM_DEPTH):
        raise InvalidRecord("nested_too_deep", f"metadata nests deeper than {MAXIMUM_DEPTH} levels")
    return message


def fit(text: str) -> str:
    """Return a text with a space for each control character, and without halves of characters."""
    return _HALF.sub("", _CONTROL.sub(" ", text))


def _without_control_characters(message: ChatMessage) -> ChatMessage:
    for name in _IDS:
        if _CONTROL_ANYWHERE.search(getattr(message, name)):
            raise InvalidRecord("control_characters", f"{name} holds control characters: remove them")
    content, replaced = _CONTROL.subn(" ", message.content)
    return _mended(message, content, replaced) if replaced else message


def _decode_other_shape(value: bytes | None, message_id: str, failed: Exception) -> ChatMessage:
    """Decode a message that is not in the services' own form, or has halves of characters in its content."""
    if value is None:
        raise _explain(value, failed) from failed
    try:
        return shapes.read(value, message_id)
    except _UNDECODABLE as exc:
        failed = exc
    whole = without_halves(value, _REPLACEMENT) if b"\\u" in value else value
    if whole == value:
        raise _explain(value, failed) from failed
    try:
        message = shapes.read(whole, message_id)
    except _UNDECODABLE:
        raise _explain(value, failed) from failed
    if any("\ufffd" in getattr(message, name) for name in _IDS):
        raise _explain(value, failed) from failed
    return _mended(message, message.content, message.content.count("\ufffd"))


def _with_calls(value: bytes | None, message: ChatMessage) -> ChatMessage:
    """Return a message without content with what it has instead, if there is such."""
    try:
        return shapes.read(value or b"", message.message_id)
    except (InvalidRecord, *_UNDECODABLE):
        return message  # of fields that mean nothing here


def _mended(message: ChatMessage, content: str, replaced: int) -> MendedMessage:
    fields = msgspec.structs.asdict(message)
    before = fields.pop("replaced", 0)
    return MendedMessage(**fields | {"content": content}, replaced=before + replaced)


def _refuse_time(sent_at: datetime, arrived_ms: int) -> None:
    seconds = sent_at.timestamp()
    if seconds < _EARLIEST_SECONDS:
        raise InvalidRecord("absurd_time", f"sent_at {sent_at.isoformat()} lies before {EARLIEST.year}")
    # A record without a time of its own (0 or -1) says nothing about the producer's clock.
    if arrived_ms > 0:
        days = (seconds - arrived_ms / 1000) / 86400
        raise InvalidRecord("absurd_time", f"sent_at {sent_at.isoformat()} lies {days:.0f} days in the future")


def _is_shallow(thing: object, depth: int) -> bool:
    if isinstance(thing, dict):
        return depth > 0 and all(_is_shallow(value, depth - 1) for value in thing.values())
    if isinstance(thing, list):
        return depth > 0 and all(_is_shallow(value, depth - 1) for value in thing)
    return True
