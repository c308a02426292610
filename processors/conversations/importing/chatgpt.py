"""ChatGPT's ``conversations.json``: an array of conversations, each a tree of messages.

A tree branches where a person edited a question or had it answered anew; ``current_node`` is the leaf that they
see.  What leads to it is the conversation; other branches are left out, or become conversations of their own.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

from models.messages import Role
from processors.conversations.importing.branches import OTHER_BRANCH, leaves, path, shown_leaf
from processors.conversations.importing.conversations import conversations
from processors.conversations.importing.drafts import Draft, Skipped, epoch, one_line

#: What ChatGPT shows as a link stands in the text between characters of private use, its parts parted by one.
_MARKER = re.compile(r"(?P<space>[ \t]*)\ue200(?P<kind>\w*)(?P<parts>(?:\ue202[^\ue200\ue201\n]*)?)\ue201")
_OPEN_MARKER = re.compile(r"[ \t]*\ue200\w*(?:\ue202[^\s\ue200-\ue2ff]*)*")
_OLD_MARKER = re.compile(r"[ \t]*【\d+(?::\d+)?†[^】\n]{0,200}】")
_PRIVATE = re.compile("[\ue200-\ue2ff]")

_ROLES = {"user": Role.USER, "assistant": Role.ASSISTANT}


def read(pieces: Iterable[bytes], *, branches: bool = False) -> Iterator[Draft | Skipped]:
    """Yield what the file holds; with ``branches`` what was left of edited conversations, too.

    Raises :class:`InvalidRecord` for a file that is no such array, or is cut off.
    """
    for where, conversation in conversations(pieces):
        if isinstance(conversation, Skipped):
            yield conversation
        else:
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
    parents = {name: _parent(node) for name, node in nodes.items()}
    seen = path(parents, shown_leaf(parents, conversation.get("current_node"), lambda name: _time(nodes[name])))
    yield from _branch(conversation, identity, nodes, seen, where)
    for name in nodes.keys() - set(seen):
        if not branches and _has_text(nodes[name]):
            yield Skipped(f"{where}, message {one_line(name)}", "other_branch", OTHER_BRANCH)
    if branches:
        taken = set(seen)
        for leaf in leaves(parents):
            rest = [name for name in path(parents, leaf) if name not in taken]
            taken.update(rest)
            yield from _branch(conversation, f"{identity}/{leaf}", nodes, rest, where)


def _parent(node: dict[str, Any]) -> str | None:
    parent = node.get("parent")
    return parent if isinstance(parent, str) else None


def _time(node: dict[str, Any]) -> float:
    message = node.get("message")
    created = epoch(message.get("create_time")) if isinstance(message, dict) else None
    return created.timestamp() if created else 0.0


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
    whole = "\n\n".join(text for part in (parts if isinstance(parts, list) else ()) if (text := _part(part)))
    return _without_markers(whole)


def _without_markers(text: str) -> str:
    """Return a text without what cites a source; what a marker shows (a name, a link's text) stays."""
    text = _OPEN_MARKER.sub("", _MARKER.sub(_shown, text))
    return _PRIVATE.sub("", _OLD_MARKER.sub("", text))


def _shown(marker: re.Match[str]) -> str:
    parts = marker["parts"].split("\ue202")[1:]
    if marker["kind"] == "url" and parts:
        return marker["space"] + parts[0]
    if marker["kind"] != "entity" or not parts:
        return ""
    try:
        described = json.loads(parts[0])  # ["people", "Ida Holm", 0]
    except ValueError:
        return ""
    names = [each for each in described if isinstance(each, str)] if isinstance(described, list) else []
    return marker["space"] + names[1] if len(names) > 1 else ""


def _part(part: object) -> str:
    if isinstance(part, dict) and part.get("content_type") == "audio_transcription":
        part = part.get("text")
    return part if isinstance(part, str) else ""
