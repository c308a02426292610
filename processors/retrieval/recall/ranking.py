"""The order of the turns and facts that may answer a question: a weighted sum of their features.

:mod:`.features` says what is seen and how much it counts, :mod:`.answering` whether anything answers at all.  A
turn that a fact quotes which is better, or nearly as good, stands behind everything else, and the fact has its
place: the turn would say the same again.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from processors.retrieval.recall.answering import FLOOR, chance_of_answer
from processors.retrieval.recall.features import FEATURES, Candidate, Feature, Seen, features
from processors.retrieval.recall.question import Question

#: How steeply scores fall below the best one, by its lead in parts.
STEEPNESS = 0.25

#: The part of a turn that a fact quotes which is placed before it, and of a fact that takes a turn's place.
SOURCE = "source"

#: By how much, in parts, a fact may be worse than a turn that it quotes and still take its place.
_NEARLY = 0.5

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
    changed: dict[int, dict[str, float]] = {}
    first, behind, raised = _placed(order, sums, candidates)
    for at, turn in raised.items():
        changed[at] = {SOURCE: sums[turn] - sums[at]}
        sums[at] = sums[turn]
    last = sums[first[-1]]
    for at in behind:
        last = min(last, sums[at]) - _STEP
        changed[at] = {SOURCE: last - sums[at]}
        sums[at] = last
    return [
        Ranked(
            position,
            min(1.0, chance * math.exp(STEEPNESS * (sums[position] - best))),
            rows[position],
            changed.get(position, {}),
        )
        for position in (*first, *behind)
    ]


def _placed(
    order: Sequence[int], sums: Sequence[float], candidates: Sequence[Candidate]
) -> tuple[list[int], list[int], dict[int, int]]:
    """Return the order, the turns that move behind it, and the turn whose place each raised fact takes."""
    facts: dict[str, list[int]] = {}
    for at in order:
        if candidates[at].index is None:
            for name in candidates[at].message_ids:
                facts.setdefault(name, []).append(at)
    first: dict[int, None] = {}
    behind, raised = list[int](), dict[int, int]()
    for at in order:
        if candidates[at].index is None:
            first.setdefault(at)
            continue
        quoting = [fact for name in candidates[at].message_ids for fact in facts.get(name, ())]
        nearly = [fact for fact in quoting if sums[fact] >= sums[at] - _NEARLY]
        if not nearly:
            first[at] = None
            continue
        behind.append(at)
        if nearly[0] not in first:
            first[nearly[0]] = None
            raised[nearly[0]] = at
    return [*first], behind, raised
