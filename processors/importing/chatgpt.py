"""ChatGPT's ``conversations.json``: an array of conversations, each a tree of messages.

A tree branches where a person edited a question or had it answered anew; ``current_node`` is the leaf that they
see.  What leads to it is the conversation; other branches are left out, or become conversations of their own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from models.messages import Role
from processors.importing.drafts import Draft, Skipped, epoch, one_line
from processors.importing.elements import elements

_decode = msgspec.json.Decoder(dict[str, Any]).decode

_ROLES = {"user": Role.USER, "assistant": Role.ASSISTANT}


def read(pieces: Iterable[bytes], *, branches: bool = False) -> Iterator[Draft | Skipped]:
    """Yield what the file holds; with ``branches`` what was left of edited conversations, too.

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
        yield from _conversation(conversation, where, branches)


def _conversation(conversation: dict[str, Any], where: str, branches: bool) -> Iterator[Draft | Skipped]:
    mapping = conversation.get("mapping")
    identity = conversation.get("conversation_id") or conversation.get("id")
    if not isinstance(mapping, dict) or not isinstance(identity, str):
        yield Skipped(where, "no_conversation", "it has no id and no mapping of messages", broken=True)
        return
    nodes = {name: node for name, node in mapping.items() if isinstance(node, dict)}
    for name in mapping.keys() - nodes.keys():
        yield Skipped(f"{where}, node {one_line(name)}", "deleted", "the node is empty")
    seen = _path(nodes, _current(conversation, nodes))
    yield from _branch(conversation, identity, nodes, seen, where)
    for name in nodes.keys() - set(seen):
        if not branches and _has_text(nodes[name]):
            place = f"{where}, message {one_line(name)}"
            yield Skipped(place, "other_branch", "it stands on a branch that was edited or answered anew")
    if branches:
        taken = set(seen)
        for leaf in _leaves(nodes):
            rest = [name for name in _path(nodes, leaf) if name not in taken]
            taken.update(rest)
            yield from _branch(conversation, f"{identity}/{leaf}", nodes, rest, where)


def _current(conversation: dict[str, Any], nodes: dict[str, Any]) -> str | None:
    current = conversation.get("current_node")
    if isinstance(current, str) and current in nodes:
        return current
    # The branch with the latest message: the last one of it may have no time.
    return max(
        _leaves(nodes), key=lambda leaf: max(_time(nodes[name]) for name in _path(nodes, leaf)), default=None
    )


def _leaves(nodes: dict[str, Any]) -> list[str]:
    parents = {node.get("parent") for node in nodes.values() if isinstance(node.get("parent"), str)}
    return [name for name in nodes if name not in parents]


def _time(node: dict[str, Any]) -> float:
    message = node.get("message")
    created = epoch(message.get("create_time")) if isinstance(message, dict) else None
    return created.timestamp() if created else 0.0


def _path(nodes: dict[str, Any], leaf: str | None) -> list[str]:
    """Return the names from the root to ``leaf``; a circle, which no tree has, is walked once."""
    path: dict[str, None] = {}
    while isinstance(leaf, str) and leaf in nodes and leaf not in path:
        path[leaf] = None
        leaf = nodes[leaf].get("parent")
    return list(reversed(path))


def _branch(
    conversation: dict[str, Any], identity: str, nodes: dict[str, Any], names: list[str], where: str
) -> Iterator[Draft | Skipped]:
    title = conversation.get("title")
    metadata = {"title": one_line(title)} if isinstance(title, str) and title else {}
    latest = epoch(conversation.get("create_time"))
    for name in names:
        message = nodes[name].get("message")
        place = f"{where}, message {one_line(name)}"
        if message is None:
            continue  # the root
        if not isinstance(message, dict):
            yield Skipped(place, "no_message", "the message is no object", broken=True)
            continue
        latest = epoch(message.get("create_time")) or latest
        reason = _why_not(message)
        if reason is not None:
            yield Skipped(place, *reason)
            continue
        if latest is None:
            yield Skipped(
                place, "no_time", "neither the message nor its conversation says when it was", broken=True
            )
            continue
        role = _ROLES[message["author"]["role"]]
        yield Draft(place, identity, name, role, _text(message), latest, metadata=metadata)


def _why_not(message: dict[str, Any]) -> tuple[str, str] | None:
    """Return reason and explanation if a message is not imported."""
    author = message.get("author")
    role = author.get("role") if isinstance(author, dict) else None
    hidden = message.get("metadata")
    if message.get("weight") == 0:
        return "deleted", "it was deleted, or replaced"
    if isinstance(hidden, dict) and hidden.get("is_visually_hidden_from_conversation"):
        return "hidden", "the person never saw it"
    if not isinstance(role, str) or role not in _ROLES:
        return "not_said", "it comes from a tool or from the system"
    if message.get("recipient", "all") != "all":
        return "to_a_tool", "the assistant said it to a tool"
    if not _text(message).strip():
        return "no_text", "it holds no text (a picture, a file, or thoughts of the model)"
    return None


def _has_text(node: dict[str, Any]) -> bool:
    message = node.get("message")
    return isinstance(message, dict) and _why_not(message) is None


def _text(message: dict[str, Any]) -> str:
    content = message.get("content")
    if not isinstance(content, dict):
        return ""
    if content.get("content_type") not in ("text", "multimodal_text"):
        return ""
    parts = content.get("parts")
    return "\n\n".join(text for part in (parts if isinstance(parts, list) else ()) if (text := _part(part)))


def _part(part: object) -> str:
    if isinstance(part, dict) and part.get("content_type") == "audio_transcription":
        part = part.get("text")
    return part if isinstance(part, str) else ""
