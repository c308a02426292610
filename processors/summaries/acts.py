"""The model of what is done by a sentence: decided, to be done, left open, or set as a limit.

A linear model over the features of :mod:`processors.extraction.features` and who speaks.  Weights: ``acts.npz``
beside this file, made by ``python -m benchmarks.notebook.train_acts`` (see MODEL_CARD.md).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import StrEnum
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from models.messages import Role
from processors.extraction.features import NAMES, surface
from processors.extraction.units import Unit
from processors.summaries.cues import ACT_CUES

WEIGHTS = Path(__file__).with_name("acts.npz")

Floats = NDArray[np.float32]


class Act(StrEnum):
    """What is done by a sentence; the classes of the model, in the order of its rows."""

    NONE = "none"
    DECISION = "decision"
    TODO = "todo"
    QUESTION = "question"
    CONSTRAINT = "constraint"


ACTS = tuple(Act)

#: A label says what a sentence is ("Todo for me: ..."), whatever the model thinks.
_LABELS = {
    Act.TODO: re.compile(
        r"(?:to-?dos?|note to self|pendiente|à faire|zu erledigen)\b[^:.!?]{0,30}:", re.IGNORECASE
    ),
    Act.DECISION: re.compile(
        r"(?:decision|decided|entschieden|decidido|décidé)\b[^:.!?]{0,30}:", re.IGNORECASE
    ),
    Act.QUESTION: re.compile(r"(?:open|offene) (?:question|frage)\b[^:.!?]{0,30}:", re.IGNORECASE),
}
#: Words of a sentence that does one thing; a longer one tells many, and none of them is all of it.
_LONGEST = 24

#: Features that need no vector: who speaks, the cues of acts, and those of the extractor.
SURFACE = 1 + len(ACT_CUES) + len(NAMES)


def names() -> list[str]:
    """Return what the weights are of, to be stored beside them."""
    return [*NAMES, *(cue.pattern for cue in ACT_CUES)]


@cache
def _weights() -> Floats:
    with np.load(WEIGHTS, allow_pickle=False) as file:
        if file["names"].tolist() != names():
            raise ValueError(
                f"{WEIGHTS.name} was trained with other features: run python -m benchmarks.notebook.train_acts"
            )
        rows: Floats = file["rows"].astype(np.float32)
    return rows


def features(units: Sequence[Unit], vectors: Floats) -> Floats:
    """Return a row of features for each unit.

    ``vectors``: two rows a unit, of :func:`processors.extraction.features.texts`; zeros where there are none.
    """
    own = [
        [float(unit.message.role is Role.ASSISTANT), *(float(bool(cue.search(unit.text))) for cue in ACT_CUES)]
        for unit in units
    ]
    cues = np.stack([surface(unit) for unit in units])
    # Half as long: what is meant says less of what is done by it than how it is put.
    return np.hstack([np.array(own, dtype=np.float32), cues, 0.5 * vectors.reshape(len(units), -1)])


def acts(units: Sequence[Unit], vectors: Floats) -> list[dict[Act, float]]:
    """Return the probability of each act for each unit; ``vectors`` as for :func:`features`."""
    if not units:
        return []
    rows = _weights()
    scores = features(units, vectors) @ rows[:, :-1].T + rows[:, -1]
    shares = np.exp(scores - scores.max(axis=1, keepdims=True))
    shares /= shares.sum(axis=1, keepdims=True)
    return [
        _of(unit, dict(zip(ACTS, map(float, each), strict=True)))
        for unit, each in zip(units, shares, strict=True)
    ]


def _of(unit: Unit, found: dict[Act, float]) -> dict[Act, float]:
    label = next((act for act, pattern in _LABELS.items() if pattern.match(unit.text)), None)
    if label is None and len(unit.text.split()) > _LONGEST:
        label = Act.NONE
    return found if label is None else {act: float(act is label) for act in ACTS}
