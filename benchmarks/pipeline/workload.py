"""The work that every contender does: decode, windows of 10 with 3 overlapping, uuid5, encode.

The same functions for all, so that a ratio compares how records are moved, not how windows are cut.
"""

from __future__ import annotations

from typing import Any
from uuid import UUID, uuid5

import msgspec

NAMESPACE = UUID("6ba7b811-9dad-11d1-80b4-00c04fd430c8")
SIZE, OVERLAP = 10, 3


class Message(msgspec.Struct):
    """The fields of a chat message that the windows need."""

    message_id: str
    conversation_id: str
    content: str


class Window(msgspec.Struct):
    """A window of whole messages."""

    window_id: str
    conversation_id: str
    message_ids: list[str]
    contents: list[str]


class State(msgspec.Struct, array_like=True):
    """Per conversation: messages so far, and the open window."""

    count: int = 0
    ids: list[str] = []
    contents: list[str] = []


decode_message = msgspec.json.Decoder(Message).decode
decode_state = msgspec.json.Decoder(State).decode
encode = msgspec.json.Encoder().encode


def fold(state: State, message: Message) -> Window | None:
    """Add ``message`` to ``state`` (in place); return the window that it completes."""
    state.count += 1
    state.ids.append(message.message_id)
    state.contents.append(message.content)
    if len(state.ids) < SIZE:
        return None
    name = f"{message.conversation_id}/{state.count}"
    window = Window(str(uuid5(NAMESPACE, name)), message.conversation_id, state.ids, state.contents)
    state.ids, state.contents = state.ids[-OVERLAP:], state.contents[-OVERLAP:]
    return window


def chat_message(n: int, conversations: int) -> tuple[bytes, bytes]:
    """Return key and value of the ``n``-th message of a load over ``conversations`` (about 280 bytes)."""
    conversation = f"conversation-{n % conversations:06d}"
    turn = n // conversations
    value: dict[str, Any] = {
        "message_id": f"{conversation}-{turn}",
        "conversation_id": conversation,
        "user_id": f"user-{n % conversations:06d}",
        "role": "assistant" if turn % 2 else "user",
        "content": f"I like to walk along the river on Sundays, and this is thought number {n} about it.",
        "sent_at": f"2026-03-01T{turn // 3600 % 24:02d}:{turn // 60 % 60:02d}:{turn % 60:02d}Z",
    }
    return conversation.encode(), encode(value)
