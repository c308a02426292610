"""The words of content in parts (:mod:`models.parts`)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from models.errors import InvalidRecord
from models.parts import PART_FIELDS, PART_TYPES, TOOL_TYPE_PREFIX, PartKind

#: Longer is no name of a tool (OpenAI and Anthropic allow 64 characters).
_TOOL_NAME = re.compile(r"[\w.:/-]{1,128}")

#: Where a part without words of its own has its media type.
_MEDIA_TYPES = ("mime_type", "mimeType", "media_type", "mediaType")
_BY_MEDIA_TYPE = {"image": PartKind.IMAGE, "audio": PartKind.AUDIO, "video": PartKind.VIDEO}

_SAID = (PartKind.TEXT, PartKind.IMAGE, PartKind.AUDIO, PartKind.VIDEO, PartKind.FILE)


class Piece(NamedTuple):
    """Content of a part: ``text`` is its words, or what names it."""

    kind: PartKind
    text: str


class Words(NamedTuple):
    """Content of a message.  ``is_result``: nothing but the results of tools."""

    text: str
    is_result: bool = False


def words_of(pieces: Iterable[Piece]) -> Words:
    """Return the text of all pieces: calls and results of tools only where nothing else is said."""
    given = [piece for piece in pieces if piece.kind is not PartKind.HIDDEN]
    said = [piece for piece in given if piece.kind in _SAID]
    results = [piece for piece in given if piece.kind is PartKind.RESULT]
    return Words(
        "\n".join(piece.text for piece in said or given if piece.text),
        is_result=bool(results) and len(results) == len(given),
    )


def pieces_of(content: Sequence[Any] | Mapping[str, Any], field: str) -> list[Piece]:
    """Return the pieces of a content's parts; ``field`` is its place in the message.

    Raises:
        InvalidRecord: ``invalid_field``; it is not known what a part is.
    """
    if isinstance(content, Mapping):
        parts = content.get("parts")  # Gemini's Content
        if isinstance(parts, list) and "type" not in content:
            return pieces_of(parts, f"{field}.parts")
        return [_piece(content, field)]
    return [
        Piece(PartKind.TEXT, part) if isinstance(part, str) else _piece(part, f"{field}[{number}]")
        for number, part in enumerate(content)
    ]


def call_of(call: Mapping[str, Any]) -> Piece:
    """Return the piece that names the call of a tool."""
    inner = next((each for name in ("function", "custom") if isinstance(each := call.get(name), dict)), call)
    name = next((each for key in ("name", "toolName") if isinstance(each := inner.get(key), str)), "")
    return Piece(PartKind.CALL, f"[tool call: {name}]" if _TOOL_NAME.fullmatch(name) else "[tool call]")


def _piece(part: Any, where: str) -> Piece:
    if not isinstance(part, Mapping):
        raise _unknown(f"Expected text or a part, got `{type(part).__name__}`", where)
    type_ = part.get("type")
    if type_ is None:
        field = next((name for name in PART_FIELDS if name in part), None)
        if field is None:
            raise _unknown("A part without `type` and without a field that says what it is", where)
        if part.get("thought") is True:
            return Piece(PartKind.HIDDEN, "")
        return _READERS[PART_FIELDS[field]](PART_FIELDS[field], part, part[field], where)
    if not isinstance(type_, str):
        raise _unknown(f"Expected text as the type of a part, got `{type(type_).__name__}`", where)
    kind = PART_TYPES.get(type_)
    if kind is None and type_.startswith(TOOL_TYPE_PREFIX):
        return call_of({"name": type_.removeprefix(TOOL_TYPE_PREFIX)})
    if kind is None:
        raise _unknown(f"Unknown type of a part {type_[:64]!r}", where)
    return _READERS[kind](kind, part, part.get("refusal" if type_ == "refusal" else "text"), where)


def _text(_: PartKind, part: Mapping[str, Any], text: Any, where: str) -> Piece:
    if isinstance(text, Mapping):  # OpenAI's threads
        text = text.get("value")
    if not isinstance(text, str):
        raise _unknown("A part of type text without text", where)
    return Piece(PartKind.TEXT, text)


def _thing(kind: PartKind, part: Mapping[str, Any], value: Any, where: str) -> Piece:
    if kind is PartKind.FILE:
        holders = [part, *(each for each in part.values() if isinstance(each, Mapping))]
        media = next(
            (each[key] for each in holders for key in _MEDIA_TYPES if isinstance(each.get(key), str)), ""
        )
        kind = _BY_MEDIA_TYPE.get(media.partition("/")[0].lower(), kind)
    return Piece(kind, f"[{kind}]")


def _call(_: PartKind, part: Mapping[str, Any], value: Any, where: str) -> Piece:
    return call_of(value if isinstance(value, Mapping) else part)


def _result(_: PartKind, part: Mapping[str, Any], value: Any, where: str) -> Piece:
    holder = value if isinstance(value, Mapping) else part
    given = next((holder[key] for key in ("content", "output", "response", "result") if holder.get(key)), None)
    if isinstance(given, str):
        return Piece(PartKind.RESULT, given)
    try:
        return Piece(PartKind.RESULT, words_of(pieces_of(given or (), where)).text or "[tool result]")
    except InvalidRecord:  # what a tool answers may have any form
        return Piece(PartKind.RESULT, msgspec.json.encode(given).decode())


def _hidden(kind: PartKind, part: Mapping[str, Any], value: Any, where: str) -> Piece:
    return Piece(kind, "")


_READERS: dict[PartKind, Callable[[PartKind, Mapping[str, Any], Any, str], Piece]] = {
    PartKind.TEXT: _text,
    PartKind.IMAGE: _thing,
    PartKind.AUDIO: _thing,
    PartKind.VIDEO: _thing,
    PartKind.FILE: _thing,
    PartKind.CALL: _call,
    PartKind.RESULT: _result,
    PartKind.HIDDEN: _hidden,
}


def _unknown(what: str, where: str) -> InvalidRecord:
    return InvalidRecord(
        "invalid_field",
        f'{what} - at `$.{where}`: send words as text or as {{"type": "text", "text": "..."}}, '
        "and leave out what nobody said",
    )
