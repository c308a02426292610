"""Which turns and facts answer a question best: a weighted sum of what can be seen of each.

:mod:`.features` says what is seen and how much it counts, :mod:`.answering` whether anything answers at all,
:mod:`.ordering` what no candidate shows by itself: which is the newest, which say the same.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from processors.recall.answering import FLOOR, Trees, chance_of_answer
from processors.recall.features import FEATURES, Candidate, Feature, Seen, features
from processors.recall.ordering import put_in_order
from processors.recall.question import Question

#: How steeply scores fall below the best one, by its lead in parts.
STEEPNESS = 0.25


class Ranked(NamedTuple):
    """A candidate's position in what was given, its score, and what each feature added to it.

    The score, 0..1, of the best is the chance that something of what was found answers the question
    (:mod:`.answering`); that of another is less by as much as its ``parts`` are in sum, which are the
    logarithms of all scores but for a constant and a factor.  ``added`` is in the order of :data:`FEATURES`;
    ``changed``, by name, what the order among candidates asked for (:mod:`.ordering`).
    """

    position: int
    score: float
    added: Sequence[float]
    changed: Mapping[str, float]

    @property
    def parts(self) -> dict[str, float]:
        """What each feature added, by name: made when asked for, as hundreds are ranked and few are shown."""
        return dict(zip(FEATURES, self.added, strict=True), **self.changed)


def rank(question: Question, candidates: Sequence[Candidate], floor: float = FLOOR) -> list[Ranked]:
    """Return the candidates that may answer, best first; none if the chance that one does is below
    ``floor``.
    """
    return rank_seen(question, candidates, features(question, candidates), floor) if candidates else []


def rank_seen(
    question: Question,
    candidates: Sequence[Candidate],
    seen: Seen,
    floor: float = FLOOR,
    weights: Mapping[str, Feature] = FEATURES,
    trees: Trees | None = None,
) -> list[Ranked]:
    """Rank as :func:`rank` does what was seen of candidates, of which there is at least one; ``weights`` and
    ``trees``: others than those of the package.
    """
    parts = seen.parts(weights)
    chance = chance_of_answer(question, candidates, seen, parts, trees)
    if chance < floor:
        return []
    sums, changes = put_in_order(question, candidates, seen, parts.sum(axis=1).tolist())
    best = max(sums)
    rows = parts.tolist()
    order = sorted(range(len(sums)), key=sums.__getitem__, reverse=True)  # of equals the first stays first
    return [
        Ranked(
            position,
            chance * math.exp(STEEPNESS * (sums[position] - best)),
            rows[position],
            changes.get(position, {}),
        )
        for position in order
    ]
