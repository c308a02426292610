"""Which turns and facts answer a question best: a weighted sum of what can be seen of each.

:mod:`.features` says what is seen and how much it counts, :mod:`.answering` whether anything answers at all,
:mod:`.ordering` what no candidate shows by itself: which is the newest, which say the same.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from processors.recall.answering import FLOOR, chance_of_answer
from processors.recall.features import FEATURES, Candidate, features
from processors.recall.ordering import put_in_order
from processors.recall.question import Question

#: How steeply scores fall below the best one, by its lead in parts.
STEEPNESS = 0.25

#: What the graph adds says which is better, and not whether anything answers: the chance was fitted without it.
GRAPH = "graph"


class Ranked(NamedTuple):
    """A candidate's position in what was given, its score, and what each feature added to it.

    The score, 0..1, of the best is the chance that something of what was found answers the question
    (:mod:`.answering`); that of another is less by as much as its ``parts`` are in sum, which are the
    logarithms of all scores but for a constant and a factor.
    """

    position: int
    score: float
    parts: dict[str, float]


def rank(question: Question, candidates: Sequence[Candidate], floor: float = FLOOR) -> list[Ranked]:
    """Return the candidates that may answer, best first; none if the chance that one does is below
    ``floor``.
    """
    seen = features(question, candidates)
    if not seen:
        return []
    parts = [
        {name: FEATURES[name].part(value) for name, value in each.values.items() if name != GRAPH}
        for each in seen
    ]
    chance = chance_of_answer(question, candidates, seen, parts)
    if chance < floor:
        return []
    for each, part in zip(seen, parts, strict=True):
        part[GRAPH] = FEATURES[GRAPH].part(each.values[GRAPH])
    put_in_order(question, candidates, seen, parts)
    sums = [sum(each.values()) for each in parts]
    best = max(sums)
    ranked = [
        Ranked(position, chance * math.exp(STEEPNESS * (total - best)), parts[position])
        for position, total in enumerate(sums)
    ]
    return sorted(ranked, key=lambda one: (-sums[one.position], one.position))
