"""Bodies of messages that are still needed: those from the open window on at hand, earlier ones in pages.

Only the token table needs what a window has left, so that goes to a page under a key of its own: the state,
which is written with every change, stays small.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

import msgspec

from models.windows import WindowMessage
from processors.conversations.state import ConversationState, Kept

_decode = msgspec.json.Decoder(WindowMessage).decode
_encode = msgspec.json.Encoder().encode

#: Loads the page of bodies that begins at an index.
LoadPage = Callable[[int], Sequence[Kept]]


class Bodies:
    """The bodies of one conversation.

    ``kept`` are those at hand, the first of them with index ``kept_from``; ``begins`` the indices at which
    pages begin.  ``pages`` are the pages to store, by the index that they begin at, ``None`` for one that is no
    longer needed.
    """

    __slots__ = ("_load_page", "_turns", "begins", "kept", "kept_from", "pages")

    def __init__(self, state: ConversationState, load_page: LoadPage) -> None:
        self._load_page = load_page
        self._turns: list[int] = []
        self.kept = list(state.kept)
        self.kept_from = state.kept_from
        self.begins = list(state.pages)
        self.pages: dict[int, Sequence[Kept] | None] = {}

    def of_window(self, from_index: int, to_index: int) -> list[Kept]:
        """Return the messages ``from_index``..``to_index`` of the open window: none of them is in a page."""
        begin = from_index - self.kept_from
        return self.kept[begin : begin + to_index + 1 - from_index]

    def between(self, from_index: int, to_index: int) -> list[Kept]:
        """Return the messages ``from_index``..``to_index``, from pages where they are stored in pages."""
        paged: list[Kept] = []
        for begins, ends in pairwise([*self.begins, self.kept_from]):
            if from_index < ends and begins <= to_index:
                paged += self._load_page(begins)[max(0, from_index - begins) : to_index + 1 - begins]
        begin = max(0, from_index - self.kept_from)
        return paged + self.kept[begin : max(0, to_index + 1 - self.kept_from)]

    def turn(self, index: int) -> None:
        """A window has ended, and the next one begins at ``index``."""
        self._turns.append(index)

    def settle(self, needed_from: int) -> None:
        """Drop what nobody needs; bodies that only the token table needs go to a page per window.

        ``needed_from``: the index of the first message that the token table needs.
        """
        while self.begins and [*self.begins[1:], self.kept_from][0] <= needed_from:
            self.pages[self.begins.pop(0)] = None
        for turn in self._turns:
            begins = max(self.kept_from, min(needed_from, turn))
            if begins < turn:
                self.pages[begins] = self.kept[begins - self.kept_from : turn - self.kept_from]
                self.begins.append(begins)
            del self.kept[: turn - self.kept_from]
            self.kept_from = turn
        self._turns.clear()

    def clear(self) -> None:
        """Drop everything; the next message has index 0."""
        self.pages.update(dict.fromkeys(self.begins))
        self.kept_from = 0
        for collection in (self.kept, self.begins, self._turns):
            collection.clear()

    def erase_words(self, user_id: str) -> None:
        """Let go of what a person says in the messages at hand.  Those in pages nobody may need any more."""
        self.kept[:] = [_without_words(each, user_id) for each in self.kept]


def _without_words(kept: Kept, user_id: str) -> Kept:
    """Return a message of a person without what it says; one of somebody else as it is."""
    message = _decode(kept.body)
    if message.user_id != user_id:
        return kept
    return msgspec.structs.replace(kept, body=_encode(msgspec.structs.replace(message, content="")))
