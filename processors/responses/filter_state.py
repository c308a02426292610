"""Input, state and output of the response filter (requirement 4)."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import msgspec

from models.errors import ConfigurationError
from processors.responses.duplicates import Match
from processors.responses.elements import Context
from processors.responses.history import SeenElement
from processors.responses.lines import Kind

#: What decides on similarity, ``find_duplicate(sentence, earlier, threshold)``; tests let it fail.
FindDuplicate = Callable[[str, Iterable[str], float], Match | None]


class FilterPolicy(msgspec.Struct, frozen=True):
    """How responses are filtered.  Times in seconds; ``threshold`` 1 turns content filtering off.

    ``fuzzy``: take out what is similar by ``threshold`` to one of the last ``window_sentences``, too (as the
    prototype did, requirement 4); else it is only told.  ``hold_seconds``: how long text waits that may become
    similar; ``repeat_hold_seconds`` and ``repeat_hold_characters``: how long an element waits that was read
    before word for word, and how much with all that is held before it.

    Raises:
        ConfigurationError: if a value makes no sense.
    """

    threshold: float = 0.85
    window_sentences: int = 50
    hold_seconds: float = 0.5
    repeat_hold_seconds: float = 10.0
    repeat_hold_characters: int = 16_384
    idle_seconds: float = 60.0
    fuzzy: bool = False

    def __post_init__(self) -> None:
        if not 0.0 <= self.threshold <= 1.0:
            raise ConfigurationError(f"a similarity threshold of {self.threshold} is not between 0 and 1")
        if self.window_sentences < 1 or self.hold_seconds < 0 or self.idle_seconds <= 0:
            raise ConfigurationError(
                "compare with at least 1 sentence; hold for 0 s or more, idle for more than 0 s"
            )
        if self.repeat_hold_seconds < 0 or self.repeat_hold_characters < 0:
            raise ConfigurationError("repeated text waits for 0 s and 0 characters or more")


class Duplicate(msgspec.Struct, frozen=True):
    """A passage that repeats an earlier one, at character ``position`` of the incoming text, and which.

    ``kept``: it was not taken out, for it differs in something that may matter, or its beginning had left.
    """

    sentence: str
    similar: str
    score: float
    position: int
    kept: bool = False


class Held(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A settled element that waits for the end of its block, at character ``position`` of the response.

    ``gap`` and ``tail``: white space before it and at its end.  ``similar``: the text of what it repeats by
    itself, or "", and how well (``score``).  ``goes_on``: what stood before it was taken out, and stood before
    it when it was said first.
    """

    element: SeenElement
    tail: str
    gap: str
    position: int
    similar: str = ""
    score: float = 1.0
    goes_on: bool = False


class FilterState(msgspec.Struct, array_like=True, gc=False):
    """Where the filter stands in one response; a step changes a copy of it.

    What a reader has seen: ``said``, oldest first; ``began``: any text has left; ``after``: what the element
    that left last is to what follows; ``verse``: the line before stands in verse.

    What has come: ``text`` that is not settled, from character ``position`` of the response on, behind
    ``context``; its first ``sent`` characters have left.  ``line``: they are of one that only its end ends.

    What is withheld: ``held`` elements may belong to a passage; ``run``: where the last one that waits or went
    was said.  ``owed`` headings were taken out and come back if anything under them stays.  ``gap``: white
    space around what was taken out just now.  ``shown``: a draft is shown again on purpose: the place in
    ``said`` that it has come to, where it began, and the level of the headings that end it.  ``held_since``:
    when the last that waits, at ``held_at``, began to (epoch seconds); ``similar``: only to become similar.
    """

    said: tuple[SeenElement, ...] = ()
    text: str = ""
    sent: int = 0
    position: int = 0
    context: Context = Context()
    held: tuple[Held, ...] = ()
    run: tuple[int, ...] = ()
    owed: tuple[Held, ...] = ()
    gap: str | None = None
    began: bool = False
    after: int = Kind.SPACE
    verse: bool = False
    held_since: float | None = None
    held_at: int = 0
    similar: bool = False
    shown: tuple[int, ...] | None = None
    line: bool = False

    @property
    def held_characters(self) -> int:
        """How much is held, from the white space before the first element on."""
        return self.position - self.held[0].position + len(self.held[0].gap) if self.held else 0


class Filtered(msgspec.Struct, frozen=True):
    """Result of a step: the new state, the text that leaves, and what there is to count.

    ``held`` characters of the text that came in stay behind; ``waited`` is how long (seconds) text was held
    that is held no longer, if any was; ``errors`` in detection let their text through.
    """

    state: FilterState
    text: str
    duplicates: tuple[Duplicate, ...] = ()
    held: int = 0
    waited: float | None = None
    errors: tuple[Exception, ...] = ()
