"""State of a conversation: one immutable :class:`ConversationState`, and pages of bodies beside it.

Bodies of messages are kept once, already encoded, as long as the open window or the token table still needs
them; everything else about a message is forgotten.  The state is written with every change, so it must stay
small: bodies that a window has left and only the token table needs are moved to a page under a key of its own,
and so are hashes of message ids, but for the latest (:mod:`.message_ids`).
"""

from __future__ import annotations

import msgspec

from processors.conversations import token_table
from processors.conversations.message_ids import IdPage
from processors.conversations.token_table import TokenTable
from processors.conversations.windows import WindowCursor, WindowSizes


class ConversationPolicy(msgspec.Struct, frozen=True):
    """How conversations are cut, summarized and forgotten.  Times in seconds, tokens in cl100k."""

    sizes: WindowSizes = WindowSizes()
    idle_seconds: float = 900.0
    forget_seconds: float = 90 * 86_400.0
    token_threshold: int = 1200
    summary_retry_seconds: float = 60.0


class Kept(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A message that is still needed: its offset, its id, its encoded :class:`WindowMessage`, and when it
    arrived (epoch seconds).
    """

    offset: int
    message_id: str
    body: bytes
    arrived_at: float


class KeptSummary(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """An accepted summary: its encoded content, the offsets of the messages that it stands for, and when the
    last of them arrived (epoch seconds).
    """

    body: bytes
    first_offset: int
    last_offset: int
    arrived_at: float


class ConversationState(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """Everything that is known of one conversation.

    ``next_index`` is the absolute index of the next message; ``kept[0]`` has index ``kept_from``;
    ``recent_ids`` are hashes of the latest message ids, to tell a repeat, and ``paged_ids`` is how many earlier
    ones are in pages (:mod:`.message_ids`);
    ``sent_at`` is the latest ``sent_at`` and ``arrived_at`` the latest arrival (epoch seconds);
    ``copied`` is, for each partition from which copies of records came here, the offset after the latest;
    ``erased`` is, for each person who was erased (``""``: everybody), up to which arrival (epoch seconds);
    ``end_mark`` is the id of the last message that a window had; ``summaries`` are the accepted summaries'
    contents, in the table's order;
    ``pages`` are the indices at which pages of earlier bodies begin, the last one ending before ``kept_from``.
    """

    tenant_id: str
    user_id: str
    next_index: int = 0
    cursor: WindowCursor = WindowCursor()
    kept_from: int = 0
    kept: tuple[Kept, ...] = ()
    recent_ids: bytes = b""
    sent_at: float = 0.0
    arrived_at: float = 0.0
    end_mark: str = ""
    tokens: TokenTable = TokenTable()
    summaries: tuple[KeptSummary, ...] = ()
    pages: tuple[int, ...] = ()
    copied: tuple[tuple[str, int], ...] = ()
    erased: tuple[tuple[str, float], ...] = ()
    paged_ids: int = 0


#: What parts a page's key from its conversation's: no id holds it.
_PAGE_MARK = b"\x00"


def page_key(conversation: bytes, from_index: int) -> bytes:
    """Return the key under which the page of ``conversation`` that begins at ``from_index`` is stored."""
    return conversation + _PAGE_MARK + str(from_index).encode()


def id_page_key(conversation: bytes, page: IdPage) -> bytes:
    """Return the key under which a page of message ids of ``conversation`` is stored."""
    return conversation + _PAGE_MARK + "i{}/{}/{}".format(*page).encode()


def is_page(key: bytes) -> bool:
    """Say whether ``key`` is that of a page and not of a conversation."""
    return _PAGE_MARK in key


def silent_at(state: ConversationState, policy: ConversationPolicy) -> float:
    """Return when this conversation is next changed by silence, if nothing arrives (epoch seconds, the log's
    clock): when its open window ends or, if nothing is in it, when it is forgotten.
    """
    is_open = state.cursor.pending(state.next_index)
    return state.arrived_at + (policy.idle_seconds if is_open else policy.forget_seconds)


def repeat_at(state: ConversationState, policy: ConversationPolicy) -> float | None:
    """Return when the open request is to be repeated (epoch seconds); ``None``: none is open."""
    return token_table.repeat_at(state.tokens, policy.summary_retry_seconds)


def wake_at(state: ConversationState, policy: ConversationPolicy) -> float:
    """Return when this conversation has to be looked at, if nothing arrives (epoch seconds)."""
    silent = silent_at(state, policy)
    repeat = repeat_at(state, policy)
    return silent if repeat is None else min(silent, repeat)
