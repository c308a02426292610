"""Features of a unit: cues of its words and of its place, then the two vectors that it is embedded as."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from processors.extraction.cues import CUES
from processors.extraction.slots import slots_of
from processors.extraction.units import Unit, leans

#: Longest sentence that counts, in characters.
_LONG = 240.0

#: Features besides the cues, in their order.
PLACE = (
    "length",
    "words",
    "very short",
    "answers a question",
    "short answer",
    "first sentence",
    "only sentence",
    "leans on the sentence before",
    "question asks for the person",
    "rest is not the author's",
    "fills a slot",
)
NAMES: tuple[str, ...] = (
    *(cue.name for cue in CUES),
    *(f"question: {cue.name}" for cue in CUES),
    *PLACE,
)


def surface(unit: Unit) -> NDArray[np.float32]:
    """Return the features that need no vector, shape ``(len(NAMES),)``."""
    text, asked = unit.text, unit.asked
    own = [float(cue.pattern.search(text) is not None) for cue in CUES]
    before = [float(cue.pattern.search(asked) is not None) for cue in CUES] if asked else [0.0] * len(CUES)
    words = len(text.split())
    content = unit.message.content
    is_only = len(text) >= 0.9 * len(content.strip())
    place = [
        min(len(text), _LONG) / _LONG,
        min(words, 40) / 40,
        float(words < 4),
        float(bool(asked)),
        float(bool(asked) and words < 6),
        float(unit.number == 0),
        float(is_only),
        float(leans(unit)),
        float(asked.endswith("?") and before[_YOU] > 0),
        float(unit.is_partial),
        float(bool(slots_of(text, unit.message.sent_at))),
    ]
    return np.array([*own, *before, *place], dtype=np.float32)


_YOU = next(n for n, cue in enumerate(CUES) if cue.name == "you")


def texts(units: Sequence[Unit]) -> list[str]:
    """Return the texts to embed: of each unit itself and in context, two a unit."""
    return [text for unit in units for text in (unit.text, unit.in_context)]
