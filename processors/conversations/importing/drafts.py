"""Conversion of exported messages to chat messages.

Ids are made of what a message is (whose it is, where it comes from, its own id there), so the same export
imported twice, or a later one of the same chats, makes the same ids.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, NamedTuple

import msgspec

from models.errors import InvalidRecord
from models.ids import deterministic_id
from models.messages import DEFAULT_TENANT, ChatMessage, Role
from processors.text.validation import decode_chat_message, fit

_CONTROL = re.compile("[\x00-\x1f\x7f]")
_LONGEST_NAME = 200


class Draft(NamedTuple):
    """One message of an export.

    ``conversation`` and ``message`` are their ids there, ``speaker`` who says it (``""``: the person whose
    export it is, or the assistant), ``where`` the place in the file ("line 7", "line 1, conversation 3").
    With ``as_is`` the ids are those that the message has here, too.  ``continues``: the conversation here, for
    a draft whose export names none (``conversation`` is ``""``).
    """

    where: str
    conversation: str
    message: str
    role: Role
    content: str
    sent_at: datetime
    user_id: str = ""
    speaker: str = ""
    metadata: Mapping[str, Any] = {}
    as_is: bool = False
    continues: str = ""


class Skipped(NamedTuple):
    """Something that is not imported.

    ``reason`` is a slug; ``broken``: it ought to have been a message, and cannot be read.
    """

    where: str
    reason: str
    message: str
    broken: bool = False


class Owner(NamedTuple):
    """Owner of an export: ``source`` (chatgpt, ...), tenant and person."""

    source: str
    user_id: str
    tenant_id: str = DEFAULT_TENANT


class Ready(NamedTuple):
    """A message, and the value of its record."""

    message: ChatMessage
    value: bytes


def make_message(draft: Draft, owner: Owner, *, max_content_bytes: int, now: datetime) -> Ready:
    """Return the message that a draft is, checked as the services check it.

    Raises:
        InvalidRecord: it would be dead-lettered (:func:`processors.text.validation.decode_chat_message`).
    """
    user_id = draft.user_id or owner.user_id
    conversation_id, message_id = draft.conversation, draft.message
    metadata: dict[str, Any] = dict(draft.metadata)
    if not draft.as_is:
        conversation_id = draft.continues or conversation_of(draft.conversation or draft.message, owner)
        message_id = message_id_of(draft, owner)
        metadata = {**metadata, "imported_from": owner.source}
    if draft.speaker:
        metadata["name"] = one_line(draft.speaker)
    body = {
        "message_id": message_id,
        "conversation_id": conversation_id,
        "user_id": user_id,
        "tenant_id": owner.tenant_id,
        "role": draft.role,
        "content": fit(draft.content),
        "sent_at": draft.sent_at.astimezone(UTC),
        "metadata": metadata,
    }
    try:
        value = msgspec.json.encode(body)
    except (msgspec.MsgspecError, UnicodeEncodeError, RecursionError, TypeError, ValueError) as error:
        raise InvalidRecord("invalid_field", f"it cannot be written as JSON: {type(error).__name__}") from None
    message = decode_chat_message(
        conversation_id.encode(),
        value,
        max_content_bytes=max_content_bytes,
        arrived_ms=int(now.timestamp() * 1000),
    )
    return Ready(message, value)


def conversation_of(name: str, owner: Owner) -> str:
    """Return the id here of a conversation that is called ``name`` where the export comes from."""
    made_of = (owner.source, owner.tenant_id, owner.user_id)
    return f"{owner.source}-{deterministic_id('import', *made_of, name)}"


def message_id_of(draft: Draft, owner: Owner) -> str:
    """Return the id here of a draft; it is free of the conversation if the export names none."""
    made_of = (owner.source, owner.tenant_id, owner.user_id)
    return deterministic_id("imported", *made_of, draft.conversation, draft.message)


def one_line(text: str) -> str:
    """Return a title or a name from outside without control characters, and not longer than a name is."""
    return _CONTROL.sub(" ", fit(text))[:_LONGEST_NAME].strip()


def epoch(seconds: object) -> datetime | None:
    """Return the time that is so many seconds after 1970; ``None`` for what is none."""
    if not isinstance(seconds, (int, float)) or isinstance(seconds, bool):
        return None
    try:
        return datetime.fromtimestamp(seconds, UTC)
    except (OverflowError, ValueError, OSError):
        return None


def iso(text: object) -> datetime | None:
    """Return the time that an ISO 8601 text says (UTC without an offset); ``None`` for what is none."""
    if not isinstance(text, str):
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
