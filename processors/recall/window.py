"""The window around a match: the turns before and after a range of messages of one conversation (seed 001).

A turn is approximated as two messages, what a person says and what is answered, so a window of 3 turns reaches
6 messages to each side of the match.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from models.turns import Turn

#: Turns to each side, unless somebody says otherwise.
DEFAULT_TURNS = 3

#: Messages in a turn: one of the person, one of the assistant.
MESSAGES_PER_TURN = 2

#: Turns to each side, and messages of a match, at most: more is a transcript, not a window.
MOST_TURNS = 500
MOST_MATCHED = 2_000


class InvalidWindow(ValueError):
    """What was asked for is no window; the message says why."""


class MessageWindow(msgspec.Struct, frozen=True, rename="camel"):
    """The messages of a window, in order, and where it lies.

    ``window_start`` and ``window_end`` are the first and the last index of what was found; of an empty window
    those that were looked for.  ``matched_sequence_range`` is the match (inclusive).  In JSON the names are
    those of the seed: ``windowStart``.
    """

    messages: tuple[Turn, ...]
    matched_sequence_range: tuple[int, int]
    window_start: int
    window_end: int
    conversation_id: str


def bounds(conversation_id: str, first: int, last: int, turns: int = DEFAULT_TURNS) -> tuple[int, int]:
    """Return the indices from and to which (inclusive) the window around ``first`` to ``last`` reaches.

    Raises:
        InvalidWindow: no conversation is named, an index is negative, the match ends before it begins, or it is
            too large.
    """
    if not conversation_id:
        raise InvalidWindow("conversationId is required")
    if first < 0 or last < 0:
        raise InvalidWindow("Sequence numbers must be non-negative")
    if first > last:
        raise InvalidWindow(f"matchedStartSeq ({first}) must be <= matchedEndSeq ({last})")
    if not 0 <= turns <= MOST_TURNS:
        raise InvalidWindow(f"windowSize ({turns}) must be between 0 and {MOST_TURNS} turns")
    if last - first >= MOST_MATCHED:
        raise InvalidWindow(f"the match has {last - first + 1} messages: ask for at most {MOST_MATCHED}")
    reach = turns * MESSAGES_PER_TURN
    return max(0, first - reach), last + reach


def window(conversation_id: str, first: int, last: int, turns: int, found: Sequence[Turn]) -> MessageWindow:
    """Return the window of ``found``, turns of the conversation, of which those within its bounds count.

    Raises:
        InvalidWindow: as :func:`bounds`.
    """
    start, end = bounds(conversation_id, first, last, turns)
    inside = sorted((turn for turn in found if start <= turn.index <= end), key=lambda turn: turn.index)
    if inside:
        start, end = inside[0].index, inside[-1].index
    return MessageWindow(tuple(inside), (first, last), start, end, conversation_id)
