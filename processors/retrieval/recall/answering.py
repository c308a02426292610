"""The chance that anything of what was found answers a question.

A logistic of a few signs of the question and of the best candidates, fitted to questions with and without an
answer (``benchmarks/quality/recall/chance.py``).  Most questions without an answer are about something that was
spoken of, which no sign here tells well.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from processors.retrieval.recall.features import FEATURES, GRAPH, Candidate, Seen
from processors.retrieval.recall.weights import CHANCE, START

#: Below this chance nothing is returned (requirement 3.2: .3 for a search).
FLOOR = 0.3

#: These tell which candidate is better, and not whether one answers: a memory without facts, or of few words,
#: answers as well, and a time is seldom named.
_TELLING = np.array([name not in ("importance", "length", "period", GRAPH) for name in FEATURES])

#: What was not compared by meaning answers by its words alone, if it has so many of the question's.
_LEAST_COVERAGE = 0.5


def chance_of_answer(candidates: Sequence[Candidate], seen: Seen, parts: NDArray[np.float64]) -> float:
    """Return the chance, 0..1, that one of the candidates answers; there is at least one.

    ``parts``: as :meth:`Seen.parts` gives them.
    """
    if seen.is_empty:
        return 0.0
    by_words = [share for each, share in zip(candidates, seen.coverage, strict=True) if each.cosine is None]
    chance = max(by_words, default=0.0)
    chance = chance if chance >= _LEAST_COVERAGE else 0.0
    if len(by_words) == len(candidates):
        return chance
    odds = START + sum(CHANCE[name] * value for name, value in signs(candidates, seen, parts).items())
    return max(chance, 1.0 / (1.0 + math.exp(-max(-60.0, min(60.0, odds)))))


def signs(candidates: Sequence[Candidate], seen: Seen, parts: NDArray[np.float64]) -> dict[str, float]:
    """Return the signs by name, in the order of :data:`CHANCE`; some candidate has a cosine.

    ``best``: the best sum of the parts that tell; ``nearest``: the best cosine; ``many``: the logarithm of how
    many were compared by meaning, as the best of many is better.  Those of the question: :class:`Seen`.
    """
    cosines = [each.cosine for each in candidates if each.cosine is not None]
    return {
        "best": float(parts[:, _TELLING].sum(axis=1).max()),
        "nearest": max(cosines),
        "many": math.log(len(cosines)),
        **seen.asked,
    }
