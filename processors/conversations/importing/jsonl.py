"""One message per line: bodies of ``chat.messages.v1`` in any form, or what ``switchboard export`` writes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from typing import Any, NamedTuple

import msgspec

from models.errors import InvalidRecord
from models.ids import deterministic_id
from models.messages import DEFAULT_TENANT, AnyTime, MessageShape, Role
from processors.conversations.importing.drafts import Draft, Skipped
from processors.conversations.importing.lines import lines
from processors.text import shapes
from processors.text.surrogates import without_halves


class _Line(MessageShape, frozen=True, kw_only=True, omit_defaults=True):
    sent_at: AnyTime
    conversation_id: str | int | None = None
    message_id: str | int | None = None
    user_id: str | int | None = None


class _Read(NamedTuple):
    """Decoded line; a missing id is empty."""

    conversation_id: str
    message_id: str
    user_id: str
    role: Role
    content: str
    sent_at: datetime
    metadata: dict[str, Any]


class _Kind(msgspec.Struct, frozen=True):
    type: str = "message"


_decode = msgspec.json.Decoder(_Line).decode
_decode_kind = msgspec.json.Decoder(_Kind).decode


def read(
    pieces: Iterable[bytes],
    *,
    met: Callable[[str], int],
    user_id: str = "",
    tenant_id: str = DEFAULT_TENANT,
    conversation_id: str = "",
) -> Iterator[Draft | Skipped]:
    """Yield what the file holds.

    ``user_id`` and ``conversation_id`` are those of lines that name none.  A message without an id gets one of
    what it says, when, and how many times it was said before: ``met`` counts a name, and returns how often it
    has been counted.
    """
    for number, data in lines(pieces):
        where = f"line {number}"
        if data is None:
            yield Skipped(where, "line_too_long", "the line is longer than 4 MiB", broken=True)
            continue
        if not data.strip():
            continue
        try:
            whole = without_halves(data, b"\\ufffd")
            if _decode_kind(whole).type != "message":
                yield Skipped(where, "not_a_message", "it is made anew from the messages")
                continue
            line = _read(_decode(whole), is_mended=whole != data)
        except (InvalidRecord, msgspec.ValidationError) as error:
            refused = shapes.explained(error) if isinstance(error, msgspec.ValidationError) else error
            yield Skipped(where, refused.reason, str(refused), broken=True)
            continue
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            yield Skipped(where, "invalid_json", str(error), broken=True)
            continue
        said_in, person = line.conversation_id or conversation_id, line.user_id or user_id
        if not said_in or not person:
            missing = "--conversation" if not said_in else "--user"
            field = "conversation_id" if not said_in else "user_id"
            yield Skipped(where, "missing_field", f"it has no {field}: give one with {missing}", broken=True)
            continue
        message_id = line.message_id
        if not message_id:
            made_of = (tenant_id, said_in, person, line.role, line.sent_at.isoformat(), line.content)
            name = deterministic_id("line", *(text.encode(errors="replace").decode() for text in made_of))
            message_id = deterministic_id("line", name, met(name))
        yield Draft(
            where,
            said_in,
            message_id,
            line.role,
            line.content,
            line.sent_at,
            user_id=person,
            metadata=line.metadata,
            as_is=True,
        )


def _read(line: _Line, *, is_mended: bool) -> _Read:
    def name(given: str | int | None, field: str) -> str:
        text = shapes.identifier("" if given is None else given, field)
        if is_mended and "\ufffd" in text:
            raise InvalidRecord("invalid_field", f"{field} holds half a character: send whole ones")
        return text

    role, content = shapes.said_by(line)
    return _Read(
        conversation_id=name(line.conversation_id, "conversation_id"),
        message_id=name(line.message_id, "message_id"),
        user_id=name(line.user_id, "user_id"),
        role=role,
        content=content,
        sent_at=shapes.moment(line.sent_at),
        metadata=line.metadata or {},
    )
