"""What the response filter is told, what it knows of a response, and what a step of it gives (seed 003)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import msgspec

from models.errors import ConfigurationError
from processors.responses.duplicates import Match, find_duplicate, find_exact, may_become_duplicate
from processors.responses.gaps import Gap

#: Sentences whose exact repetition is noticed.  Bounds the state: 500 of 100 bytes are 50 KB.
EXACT_MEMORY = 500


class FilterPolicy(msgspec.Struct, frozen=True):
    """How responses are filtered.  Times in seconds; ``threshold`` 1 turns content filtering off.

    Raises:
        ConfigurationError: if a value makes no sense.
    """

    threshold: float = 0.85
    window_sentences: int = 50
    minimum_columns: int = 12
    hold_seconds: float = 0.5
    idle_seconds: float = 60.0

    def __post_init__(self) -> None:
        if not 0.0 <= self.threshold <= 1.0:
            raise ConfigurationError(f"a similarity threshold of {self.threshold} is not between 0 and 1")
        if self.window_sentences < 1 or self.hold_seconds < 0 or self.idle_seconds <= 0:
            raise ConfigurationError(
                "compare with at least 1 sentence; hold for 0 s or more, idle for more than 0 s"
            )


class Duplicate(msgspec.Struct, frozen=True):
    """A sentence that was taken out, at character ``position`` of the incoming text, and what it repeats."""

    sentence: str
    similar: str
    score: float
    position: int


class FilterState(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """Where the filter stands in one response.

    ``said``: content sentences that were sent on, oldest first.  ``text``: what is not settled, from character
    ``position`` of the response on; its first ``sent`` characters have left.  ``inside``: "" or "line" (the
    rest of the line passes), the fence of the open code block, or "table".  ``gap``: the white space before a
    sentence that was taken out, still to be joined with what follows.  ``held_since``: when the oldest visible
    text that is held came in (epoch seconds), if any is.  ``run``: the white space at the end of what came in,
    counted anew after every ``LONGEST_GAP``.
    """

    said: tuple[str, ...] = ()
    text: str = ""
    sent: int = 0
    position: int = 0
    line_begins: bool = True
    inside: str = ""
    gap: Gap | None = None
    began: bool = False
    held_since: float | None = None
    run: int = 0


class Filtered(msgspec.Struct, frozen=True):
    """What a step gave: the new state, the text that leaves, and what there is to count.

    ``held`` characters of the text that came in stay behind; ``waited`` is how long (seconds) text was held
    that is held no longer, if any was; ``errors`` in detection let their text through.
    """

    state: FilterState
    text: str
    duplicates: tuple[Duplicate, ...] = ()
    held: int = 0
    waited: float | None = None
    errors: tuple[Exception, ...] = ()


class Detection(msgspec.Struct, frozen=True):
    """The functions that decide, replaceable so that their failure can be tested."""

    find_duplicate: Callable[[str, Iterable[str], float], Match | None] = find_duplicate
    find_exact: Callable[[str, Iterable[str]], Match | None] = find_exact
    may_become_duplicate: Callable[[str, Sequence[str], Sequence[str], float], bool] = may_become_duplicate
