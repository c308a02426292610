"""The model that decides which units are kept: a linear model over surface features and two vectors.

Weights: ``weights.npz`` beside this file, made by ``python -m benchmarks.notebook.train`` (see MODEL_CARD.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from models.statements import Kind
from processors.extraction.features import NAMES, surface
from processors.extraction.units import Unit

WEIGHTS = Path(__file__).with_name("weights.npz")

#: The probability from which on a unit is kept.
KEEP_FROM = 0.38

#: The probability from which on a kept unit has importance 3: it never fades, and is in every prompt.
LASTING_FROM = 0.35

#: The confidence of a unit that is just kept: the rest of the scale is for those that are kept more surely.
LEAST_CONFIDENCE = 0.7

#: Below this probability by surface features alone a unit is dropped without a vector.
DROP_BELOW = 0.1

Floats = NDArray[np.float32]

KINDS = tuple(Kind)


class Judgement(NamedTuple):
    """The model's verdict on a unit.

    ``probability`` that a careful note-taker would keep it, 0..1; ``kind`` and ``importance`` (1..3) if so;
    ``why``: the features that weighed most; ``expected``: the importance that is to be expected, 0..3, that of
    what is not kept being 0.
    """

    probability: float
    kind: Kind
    importance: int
    why: str = ""
    expected: float = 0.0

    @property
    def confidence(self) -> float:
        """The confidence of the statement, 0..1: :data:`LEAST_CONFIDENCE` at the floor."""
        above = max(0.0, self.probability - KEEP_FROM) / (1.0 - KEEP_FROM)
        return LEAST_CONFIDENCE + (1.0 - LEAST_CONFIDENCE) * above


#: Importance of the classes of :attr:`Weights.keep`.
_LEVELS = np.arange(4, dtype=np.float32)

#: The judgement of a unit that is dropped by its surface features.
DROPPED = Judgement(0.0, Kind.STATE, 1)


class Weights(NamedTuple):
    """Linear weights, a row per class: ``keep`` for none and importance 1, 2, 3; ``kind`` for :data:`KINDS`;
    ``cheap`` for the surface features alone.  The last column of each is the intercept.
    """

    keep: Floats
    kind: Floats
    cheap: Floats


@cache
def weights() -> Weights:
    """Return the weights that come with the package."""
    with np.load(WEIGHTS, allow_pickle=False) as file:
        if tuple(file["names"].tolist()) != NAMES:
            raise ValueError(
                f"{WEIGHTS.name} was trained with other features: run python -m benchmarks.notebook.train"
            )
        return Weights(*(file[name].astype(np.float32) for name in Weights._fields))


def judge_by_cues(units: Sequence[Unit]) -> list[Judgement]:
    """Judge units by their surface features alone: less surely, without kind and importance."""
    if not units:
        return []
    score = _linear(np.stack([surface(unit) for unit in units]), weights().cheap)[:, 0]
    return [Judgement(float(each), Kind.STATE, 2) for each in 1.0 / (1.0 + np.exp(-score))]


def worth_reading(units: Sequence[Unit]) -> list[bool]:
    """Return for each unit whether it may be kept, by its surface features alone."""
    return [judged.probability >= DROP_BELOW for judged in judge_by_cues(units)]


def judge(units: Sequence[Unit], vectors: Floats) -> list[Judgement]:
    """Judge units by their features and vectors.

    ``vectors``: two rows a unit, of :func:`processors.extraction.features.texts`, shape
    ``(2 * len(units), dimensions)``.
    """
    if not units:
        return []
    known = weights()
    cues = np.stack([surface(unit) for unit in units])
    features = np.hstack([cues, vectors.reshape(len(units), -1)])
    keep = _softmax(_linear(features, known.keep))
    kind = _linear(features, known.kind).argmax(axis=1)
    return [
        Judgement(
            float(1.0 - shares[0]),
            KINDS[int(kind[row])],
            importance_of(shares),
            _why(cues[row], features[row], known.keep),
            float(shares @ _LEVELS),
        )
        for row, shares in enumerate(keep)
    ]


def importance_of(shares: Floats) -> int:
    """Return the importance of a unit by the probabilities of none, 1, 2 and 3."""
    return 3 if shares[3] >= LASTING_FROM else 1 + int(shares[2:].sum() > shares[1])


def _linear(features: Floats, rows: Floats) -> Floats:
    scores: Floats = features @ rows[:, :-1].T + rows[:, -1]
    return scores


def _softmax(scores: Floats) -> Floats:
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    shares: Floats = powers / powers.sum(axis=1, keepdims=True)
    return shares


#: Features that are named in ``why``.
_MOST_NAMED = 3


def _why(cues: Floats, features: Floats, rows: Floats) -> str:
    """Return the features that weighed most for keeping a unit, each with its weight, and that of the meaning."""
    towards = rows[1:, :-1].mean(axis=0) - rows[0, :-1]
    added = features * towards
    named = added[: len(cues)]
    best = [int(n) for n in np.argsort(-named)[:_MOST_NAMED] if named[n] > 0]
    parts = [f"{NAMES[n]} +{named[n]:.1f}" for n in best]
    return ", ".join([*parts, f"meaning {added[len(cues) :].sum():+.1f}"])
