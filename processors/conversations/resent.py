"""Ids of messages whose client sends all of a conversation with each request, and gives no ids.

An id is made of the message and the one before it, and of how often those two have come.  So it is the same
when the client sends the message again, also when it has left out the beginning since.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import msgspec

from models.ids import deterministic_id, text_hash
from models.messages import ROLES, MessageShape, Role
from processors.text import shapes


class ResentMessage(NamedTuple):
    """A message: who said what, its ``key``, which others with the same words share, and its id."""

    role: Role
    text: str
    key: str
    message_id: str


def spoken(message: Mapping[str, Any]) -> tuple[Role, str] | None:
    """Return the author and the text of a client's message; ``None`` if nothing of it is remembered.

    What a client tells a model as the system is its own business, and changes with every request.

    Raises:
        InvalidRecord: the role is unknown, or the content is none.
    """
    try:
        given = msgspec.convert(message, MessageShape)
    except msgspec.ValidationError as error:
        raise shapes.explained(error) from error
    is_silent = not (given.content or given.tool_calls or given.function_call)
    if is_silent and given.role.lower() in ROLES:
        return None
    role, text = shapes.said_by(given)
    return (role, text) if role is not Role.SYSTEM and text.strip() else None


def key_of(role: Role, text: str) -> str:
    """Return a key that messages with the same words share; clients change white space."""
    return text_hash(f"{role.value} {' '.join(text.split())}")


def said_of(tenant_id: str, conversation_id: str, messages: Iterable[tuple[Role, str]]) -> list[ResentMessage]:
    """Return the messages of a request with their ids."""
    seen: Counter[tuple[str, str]] = Counter()
    said: list[ResentMessage] = []
    before = ""
    for role, text in messages:
        key = key_of(role, text)
        seen[before, key] += 1
        made = deterministic_id("resent", tenant_id, conversation_id, before, key, seen[before, key])
        said.append(ResentMessage(role, text, key, made))
        before = key
    return said


def conversation_of(tenant_id: str, user_id: str, messages: Iterable[tuple[Role, str]]) -> str:
    """Return the id of a conversation that its client does not name: of its person and its first question."""
    first = next((text for role, text in messages if role is Role.USER), "")
    return f"chat-{deterministic_id('chat', tenant_id, user_id, key_of(Role.USER, first))}"
