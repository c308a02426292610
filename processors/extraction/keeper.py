"""Judgements of sentences: kept or not, kind and importance, by thresholds on the reader model's scores.

Weights: ``reader.onnx`` beside this file, made by ``python -m benchmarks.notebook.reader`` (see MODEL_CARD.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from models.readings import KINDS, Reading
from models.statements import Kind

MODEL_FILE = Path(__file__).with_name("reader.onnx")

#: The probability from which on a unit is kept.
KEEP_FROM = 0.32

#: A sentence whose own words add less than this to the log odds is kept for none of what stands around it:
#: "ok go on." before an allergy.
OWN_WORDS_FROM = -1.5

#: The probability from which on a kept unit has importance 3: it never fades, and is in every prompt.
LASTING_FROM = 0.35

#: The confidence of a unit that is just kept: the rest of the scale is for those that are kept more surely.
LEAST_CONFIDENCE = 0.7

#: Words that are named in ``why``.
_MOST_NAMED = 3


class Judgement(NamedTuple):
    """The model's verdict on a unit.

    ``probability`` that a careful note-taker would keep it, 0..1; ``kind`` and ``importance`` (1..3) if so;
    ``expected``: the importance that is to be expected, 0..3, that of what is not kept being 0.  ``words`` and
    ``around``: what each word and the context add to the log odds of a note.
    """

    probability: float
    kind: Kind
    importance: int
    expected: float = 0.0
    words: tuple[float, ...] = ()
    around: float = 0.0

    @property
    def confidence(self) -> float:
        """The confidence of the statement, 0..1: :data:`LEAST_CONFIDENCE` at the floor."""
        above = max(0.0, self.probability - KEEP_FROM) / (1.0 - KEEP_FROM)
        return LEAST_CONFIDENCE + (1.0 - LEAST_CONFIDENCE) * above


def judge(readings: Sequence[Reading]) -> list[Judgement]:
    """Return the judgement of each reading."""
    return [
        Judgement(
            1.0 - each.levels[0] if sum(each.words) >= OWN_WORDS_FROM else 0.0,
            KINDS[max(range(len(KINDS)), key=each.kinds.__getitem__)],
            importance_of(each.levels),
            sum(level * share for level, share in enumerate(each.levels)),
            each.words,
            each.around,
        )
        for each in readings
    ]


def importance_of(levels: Sequence[float]) -> int:
    """Return the importance of a unit by the probabilities of none, 1, 2 and 3."""
    return 3 if levels[3] >= LASTING_FROM else 1 + int(sum(levels[2:]) > levels[1])


def why(words: Sequence[float], around: float) -> str:
    """Return the numbers of the words that weighed most for a note, each with its part of the log odds.

    It holds no word itself: it outlives an erasure of the message.  ``around``: what the context adds.
    """
    best = sorted((at for at, added in enumerate(words) if added > 0), key=lambda at: -words[at])[:_MOST_NAMED]
    return ", ".join([*(f"word {at + 1} {words[at]:+.1f}" for at in best), f"context {around:+.1f}"])
