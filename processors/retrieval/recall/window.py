"""The window around a match: the turns before and after a range of messages (requirement 2).

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
    """The requested window is invalid; the message says why."""


class MessageWindow(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """The messages of a window, in order, and where it lies.

    ``window_start`` and ``window_end`` are the first and the last index of what was found; of an empty window
    those that were looked for.  ``matched_sequence_range`` is the match (inclusive).  In JSON the names are
    those of the seed: ``windowStart``.  ``note``: why there is nothing, and what to ask for instead.
    """

    messages: tuple[Turn, ...]
    matched_sequence_range: tuple[int, int]
    window_start: int
    window_end: int
    conversation_id: str
    note: str = ""


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


def window(
    conversation_id: str, first: int, last: int, turns: int, found: Sequence[Turn], length: int = 0
) -> MessageWindow:
    """Return the window of ``found``, turns of the conversation, of which those within its bounds count.

    ``length``: how many messages the conversation has, if it is more than ``found`` tells.

    Raises:
        InvalidWindow: as :func:`bounds`.
    """
    start, end = bounds(conversation_id, first, last, turns)
    inside = sorted((turn for turn in found if start <= turn.index <= end), key=lambda turn: turn.index)
    if inside:
        start, end = inside[0].index, inside[-1].index
    length = max([length, *(turn.index + 1 for turn in found)])
    note = "" if inside else _nothing(start, end, length)
    return MessageWindow(tuple(inside), (first, last), start, end, conversation_id, note)


def _nothing(start: int, end: int, length: int) -> str:
    there = f"There is no message from {start} to {end}"
    if start < length:
        return f"{there} any more: what was said there is erased, or kept no longer. Ask for later ones."
    numbers = f"0 to {length - 1}" if length > 1 else "0"
    return f"{there}: the conversation has {length}, numbered {numbers}. Ask for one of these."
