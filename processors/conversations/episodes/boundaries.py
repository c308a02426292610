"""Detection of topic boundaries: a linear model over the turns around a position.

It is asked as a conversation goes on, and looks at the turn, the one after it and the four before it: so a
boundary is found one turn late.  The weights (:mod:`.boundary_weights`) are fitted by
``python -m benchmarks.quality.boundaries --fit`` (MODEL_CARD.md); without ``--fit`` it says how good that is.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from processors.conversations.episodes.boundary_weights import BIAS, THRESHOLD, WEIGHTS
from processors.conversations.episodes.traits import Traits

#: Turns before a boundary that are looked at.
CONTEXT = 4

#: Turns between two boundaries, at least: one turn is no topic.
SHORTEST = 2

#: Turns before a boundary that vectors are compared of.
_LATEST = 2

FEATURES = (
    "turn.before",  # cosine of the turn and the one before it
    "pair.latest",  # of the mean of the turn and the next one, and the mean of the two before
    "left",  # of the two before
    "right",  # of the turn and the next one
    "words",  # share of words that the turn and the next one have in common with the four before
    "user",
    "asks",
    "asked",  # the one before it ends with a question
    "length",
    "length.before",
    "opens",
    "refers",
    "answers",
    "greets",
)


def is_boundary(before: Sequence[Traits], turn: Traits, after: Traits | None) -> bool:
    """Say whether something else is talked of from ``turn`` on.

    ``before``: the turns before it, the latest last; ``after``: the one after it, if there is one.  Never
    before a turn without words, nor where none of those before it has any.
    """
    return probability(before, turn, after) >= THRESHOLD


def probability(before: Sequence[Traits], turn: Traits, after: Traits | None) -> float:
    """Return how likely that is, 0..1."""
    values = features(before, turn, after)
    if values is None:
        return 0.0
    odds = BIAS + sum(WEIGHTS[name] * value for name, value in zip(FEATURES, values, strict=True))
    return 1 / (1 + math.exp(-max(-60.0, min(60.0, odds))))


def features(before: Sequence[Traits], turn: Traits, after: Traits | None) -> list[float] | None:
    """Return the value of each of :data:`FEATURES`; ``None`` if there is nothing to compare."""
    spoken = [each for each in before[-CONTEXT:] if each.vector]
    if not turn.vector or not spoken:
        return None
    following = [each for each in (turn, after) if each is not None and each.vector]
    left = np.stack([each.numbers() for each in spoken[-_LATEST:]])
    right = np.stack([each.numbers() for each in following])
    turn_before = float(right[0] @ left[-1])
    words = {stem for each in spoken for stem in each.stems}
    ahead = {stem for each in following for stem in each.stems}
    latest = before[-1]
    return [
        turn_before,
        _cosine(right.mean(0), left.mean(0)),
        float(left[0] @ left[-1]) if len(left) > 1 else turn_before,
        float(right[0] @ right[-1]) if len(right) > 1 else turn_before,
        len(ahead & words) / max(1, min(len(ahead), len(words))),
        float(turn.by_user),
        float(turn.asks),
        float(latest.ends_asking),
        math.log1p(turn.words),
        math.log1p(latest.words),
        float(turn.opens),
        float(turn.refers),
        float(turn.answers),
        float(turn.greets),
    ]


def _cosine(one: NDArray[np.float32], other: NDArray[np.float32]) -> float:
    size = float(np.linalg.norm(one) * np.linalg.norm(other))
    return float(one @ other) / size if size else 0.0
