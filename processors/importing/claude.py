"""Claude's ``conversations.json``: an array of conversations, each with its messages in order."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from models.messages import Role
from processors.importing.drafts import Draft, Skipped, iso, one_line
from processors.importing.elements import elements

_decode = msgspec.json.Decoder(dict[str, Any]).decode

_ROLES = {"human": Role.USER, "assistant": Role.ASSISTANT}


def read(pieces: Iterable[bytes]) -> Iterator[Draft | Skipped]:
    """Yield what the file holds.

    Raises :class:`InvalidRecord` for a file that is no such array, or is cut off.
    """
    for element in elements(pieces):
        where = f"line {element.line}, conversation {element.number}"
        if element.data is None:
            yield Skipped(
                where, "conversation_too_large", "the conversation is larger than 64 MiB", broken=True
            )
            continue
        try:
            conversation = _decode(element.data)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            yield Skipped(where, "invalid_json", f"the conversation cannot be read: {error}", broken=True)
            continue
        yield from _conversation(conversation, where)


def _conversation(conversation: dict[str, Any], where: str) -> Iterator[Draft | Skipped]:
    identity, messages = conversation.get("uuid"), conversation.get("chat_messages")
    if not isinstance(identity, str) or not isinstance(messages, list):
        yield Skipped(where, "no_conversation", "it has no uuid and no list of chat_messages", broken=True)
        return
    title = conversation.get("name")
    metadata = {"title": one_line(title)} if isinstance(title, str) and title else {}
    latest = iso(conversation.get("created_at"))
    for number, message in enumerate(messages, 1):
        place = f"{where}, message {number}"
        name = message.get("uuid") if isinstance(message, dict) else None
        if not isinstance(name, str):
            yield Skipped(place, "no_message", "the message is no object with a uuid", broken=True)
            continue
        role = _ROLES.get(message["sender"]) if isinstance(message.get("sender"), str) else None
        text = _text(message)
        latest = iso(message.get("created_at")) or latest
        if role is None:
            yield Skipped(place, "not_said", "its sender is neither human nor assistant")
        elif not text.strip():
            yield Skipped(place, "no_text", "it holds no text (a file, or thoughts of the model)")
        elif latest is None:
            yield Skipped(
                place, "no_time", "neither the message nor its conversation says when it was", broken=True
            )
        else:
            yield Draft(place, identity, name, role, text, latest, metadata=metadata)


def _text(message: dict[str, Any]) -> str:
    content = message.get("content")
    blocks = content if isinstance(content, list) else ()
    texts = [
        block["text"]
        for block in blocks
        if isinstance(block, dict) and block.get("type") == "text" and isinstance(block.get("text"), str)
    ]
    said = "\n\n".join(filter(None, texts))
    whole = message.get("text")
    return said or (whole if isinstance(whole, str) else "")
