"""One message per line: bodies of ``chat.messages.v1``, or what ``switchboard export`` writes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from typing import Any

import msgspec

from models.ids import deterministic_id
from models.messages import DEFAULT_TENANT, Role
from processors.importing.drafts import Draft, Skipped
from processors.importing.lines import lines


class _Line(msgspec.Struct, frozen=True):
    role: Role
    content: str
    sent_at: datetime
    conversation_id: str = ""
    message_id: str = ""
    user_id: str = ""
    metadata: dict[str, Any] = {}


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
            kind = _decode_kind(data).type
            if kind != "message":
                yield Skipped(where, "not_a_message", "it is made anew from the messages")
                continue
            line = _decode(data)
        except msgspec.ValidationError as error:
            yield Skipped(where, "invalid_field", str(error), broken=True)
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
        if line.sent_at.tzinfo is None:
            yield Skipped(
                where, "invalid_field", "sent_at has no offset: write 2026-01-05T07:12:00Z", broken=True
            )
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
