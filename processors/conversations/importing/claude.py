"""Claude's ``conversations.json``: an array of conversations, each with all its messages in order of time.

``parent_message_uuid`` makes a tree of them, as in :mod:`.chatgpt`; older exports have none, and one branch.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any

from models.messages import Role
from processors.conversations.importing.branches import OTHER_BRANCH, leaves, path, shown_leaf
from processors.conversations.importing.conversations import conversations
from processors.conversations.importing.drafts import Draft, Skipped, iso, one_line

#: What the first messages of a conversation name as their parent.
_ROOT = "00000000-0000-4000-8000-000000000000"

_ROLES = {"human": Role.USER, "assistant": Role.ASSISTANT}


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
    identity, messages = conversation.get("uuid"), conversation.get("chat_messages")
    if not isinstance(identity, str) or not isinstance(messages, list):
        yield Skipped(where, "no_conversation", "it has no uuid and no list of chat_messages", broken=True)
        return
    found: dict[str, tuple[int, dict[str, Any]]] = {}
    for number, message in enumerate(messages, 1):
        name = message.get("uuid") if isinstance(message, dict) else None
        if isinstance(name, str):
            found[name] = number, message
        else:
            place = f"{where}, message {number}"
            yield Skipped(place, "no_message", "the message is no object with a uuid", broken=True)
    title = conversation.get("name")
    metadata = {"title": one_line(title)} if isinstance(title, str) and title else {}
    begun = iso(conversation.get("created_at"))
    parents = _parents(found)

    def branch(identity: str, names: Iterable[str]) -> Iterator[Draft | Skipped]:
        return _branch(
            metadata, begun, identity, ((found[name][0], name, found[name][1]) for name in names), where
        )

    def time_of(name: str) -> float:
        sent_at = iso(found[name][1].get("created_at"))
        return sent_at.timestamp() if sent_at else 0.0

    seen = path(parents, shown_leaf(parents, conversation.get("current_leaf_message_uuid"), time_of))
    yield from branch(identity, seen)
    taken = set(seen)
    if not branches:
        for number, message in (found[name] for name in parents if name not in taken):
            if _why_not(message) is None:
                yield Skipped(f"{where}, message {number}", "other_branch", OTHER_BRANCH)
        return
    for leaf in leaves(parents):
        rest = [name for name in path(parents, leaf) if name not in taken]
        taken.update(rest)
        yield from branch(f"{identity}/{leaf}", rest)


def _parents(messages: Mapping[str, tuple[int, dict[str, Any]]]) -> dict[str, str | None]:
    """Return the message that each one goes on from: the one before it, if it names none that there is."""
    named = {name: message.get("parent_message_uuid") for name, (_, message) in messages.items()}
    is_tree = any(parent in messages for parent in named.values() if isinstance(parent, str))
    parents: dict[str, str | None] = {}
    before: str | None = None
    for name, parent in named.items():
        if isinstance(parent, str) and parent in messages:
            parents[name] = parent
        else:
            begins = parent == _ROOT or (parent is None and is_tree)
            parents[name] = None if begins else before
        before = name
    return parents


def _branch(
    metadata: dict[str, Any],
    begun: datetime | None,
    identity: str,
    messages: Iterable[tuple[int, str, dict[str, Any]]],
    where: str,
) -> Iterator[Draft | Skipped]:
    latest = begun
    for number, name, message in messages:
        place = f"{where}, message {number}"
        latest = iso(message.get("created_at")) or latest
        reason = _why_not(message)
        if reason is not None:
            yield Skipped(place, *reason)
        elif latest is None:
            why = "neither the message nor its conversation says when it was"
            yield Skipped(place, "no_time", why, broken=True)
        else:
            role = _ROLES[message["sender"]]
            yield Draft(place, identity, name, role, _text(message), latest, metadata=metadata)


def _why_not(message: dict[str, Any]) -> tuple[str, str] | None:
    """Return reason and explanation if a message is not imported."""
    sender = message.get("sender")
    if not isinstance(sender, str) or sender not in _ROLES:
        return "not_said", "its sender is neither human nor assistant"
    if not _text(message).strip():
        return "no_text", "it holds no text (a file, or thoughts of the model)"
    return None


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
