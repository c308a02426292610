"""The chance that anything of what was found answers a question.

A logistic of the best sum of parts, fitted with the ranking (``benchmarks/quality/recall/fitting.py``).  It
is a weak sign: most questions without an answer are about something that was spoken of.  The floor is where
two in a hundred answers are lost.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from processors.recall.features import FEATURES, GRAPH, Candidate, Seen
from processors.recall.weights import CHANCE

#: Below this chance nothing is returned (seed 002's .3 for an explicit search).
FLOOR = 0.3

#: Of so few texts compared by meaning, nearness and words decide alone: the best of few says little.
_FEW = 20
_FEW_STEEPNESS, _FEW_EVEN, _COVERAGE_COUNTS = 8.0, 0.2, 0.33

#: Cosines of unrelated texts; chosen, not measured: so that 80 texts give .22.
_UNRELATED_MEAN, _UNRELATED_SPREAD = 0.10, 0.04

_TELLING = [name not in ("importance", "length", GRAPH) for name in FEATURES]

#: What was not compared by meaning answers by its words alone, if it has so many of the question's.
_LEAST_COVERAGE = 0.5


def chance_of_answer(candidates: Sequence[Candidate], seen: Seen, parts: NDArray[np.float64]) -> float:
    """Return the chance, 0..1, that one of the candidates answers; there is at least one.

    ``parts``: as :meth:`Seen.parts` gives them.
    """
    known = sum(each.cosine is not None for each in candidates)
    by_words = [share for each, share in zip(candidates, seen.coverage, strict=True) if each.cosine is None]
    chance = max(by_words, default=0.0)
    chance = chance if chance >= _LEAST_COVERAGE else 0.0
    if not known:
        return chance
    nearest = max(each.cosine for each in candidates if each.cosine is not None)
    nearest += _COVERAGE_COUNTS * max(seen.coverage)
    if known < _FEW:
        return max(chance, _logistic(_FEW_STEEPNESS * (nearest - _FEW_EVEN)))
    if nearest < _UNRELATED_MEAN + _UNRELATED_SPREAD * math.sqrt(2 * math.log(known)):
        return chance
    slope, start = CHANCE
    return max(chance, _logistic(start + slope * best_sum(parts)))


def best_sum(parts: NDArray[np.float64]) -> float:
    """Return the best sum of the parts that tell whether something answers.

    Importance, length and the graph tell which is better: a memory without facts, or of few words, answers as
    well.
    """
    return float(parts[:, _TELLING].sum(axis=1).max())


def _logistic(odds: float) -> float:
    return 1.0 / (1.0 + math.exp(-max(-60.0, min(60.0, odds))))
