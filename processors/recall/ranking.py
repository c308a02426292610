"""The order of the turns and facts that may answer a question: a weighted sum of their features.

:mod:`.features` says what is seen and how much it counts, :mod:`.answering` whether anything answers at all.  A
turn that a better fact quotes stands behind everything else: it would say the same again.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from processors.recall.answering import FLOOR, chance_of_answer
from processors.recall.features import FEATURES, Candidate, Feature, Seen, features
from processors.recall.question import Question

#: How steeply scores fall below the best one, by its lead in parts.
STEEPNESS = 0.25

#: The part of a turn that a better fact quotes.
SOURCE = "source"

_STEP = 0.001


class Ranked(NamedTuple):
    """A candidate's position in what was given, its score, and what each feature added to it.

    The score, 0..1, of the best is the chance that something of what was found answers the question
    (:mod:`.answering`); that of another is less by as much as its ``parts`` are in sum, which are the
    logarithms of all scores but for a constant and a factor.  ``added`` is in the order of :data:`FEATURES`;
    ``changed``, by name, what the order among candidates asked for.
    """

    position: int
    score: float
    added: Sequence[float]
    changed: Mapping[str, float]

    @property
    def parts(self) -> dict[str, float]:
        """Contribution of each feature by name, computed on demand."""
        return dict(zip(FEATURES, self.added, strict=True), **self.changed)


def rank(question: Question, candidates: Sequence[Candidate], floor: float = FLOOR) -> list[Ranked]:
    """Return the candidates that may answer, best first; none if the chance that one does is below
    ``floor``.
    """
    return rank_seen(candidates, features(question, candidates), floor) if candidates else []


def rank_seen(
    candidates: Sequence[Candidate], seen: Seen, floor: float = FLOOR, weights: Mapping[str, Feature] = FEATURES
) -> list[Ranked]:
    """Rank as :func:`rank` does the features of candidates, of which there is at least one; ``weights``: others
    than those of the package.
    """
    parts = seen.parts(weights)
    chance = chance_of_answer(candidates, seen, parts)
    if chance < floor:
        return []
    sums: list[float] = parts.sum(axis=1).tolist()
    best = max(sums)
    rows = parts.tolist()
    order = sorted(range(len(sums)), key=sums.__getitem__, reverse=True)  # of equals the first stays first
    first, behind = _quoted_last(order, candidates)
    changed: dict[int, dict[str, float]] = {}
    last = sums[first[-1]]
    for at in behind:
        last = min(last, sums[at]) - _STEP
        changed[at] = {SOURCE: last - sums[at]}
        sums[at] = last
    return [
        Ranked(
            position,
            chance * math.exp(STEEPNESS * (sums[position] - best)),
            rows[position],
            changed.get(position, {}),
        )
        for position in (*first, *behind)
    ]


def _quoted_last(order: Sequence[int], candidates: Sequence[Candidate]) -> tuple[list[int], list[int]]:
    """Return the order without the turns that a fact before them quotes, and these."""
    quoted: set[str] = set()
    first, behind = list[int](), list[int]()
    for at in order:
        each = candidates[at]
        if each.index is None:
            quoted.update(each.message_ids)
            first.append(at)
        else:
            (behind if quoted.intersection(each.message_ids) else first).append(at)
    return first, behind
