"""Whether anything of what was found answers a question at all.

The odds are a sum of small decision trees (gradient boosting; Friedman, "Greedy function approximation", 2001)
over what can be seen of the best candidates (:mod:`.signs`), which come with the package
(``benchmarks/quality/recall`` makes them).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import resources
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from processors.recall.features import Candidate, Seen
from processors.recall.question import Question
from processors.recall.signs import NAMES, signs

#: Below this chance nothing is returned (seed 002's .3 for an explicit search).
FLOOR = 0.3

#: Of so few texts compared by meaning, nearness and words decide alone: the best of few says little.
_FEW = 20
_FEW_STEEPNESS, _FEW_EVEN, _COVERAGE_COUNTS = 8.0, 0.2, 0.33

#: Cosines of unrelated texts; chosen, not measured: so that 80 texts give .22.
_UNRELATED_MEAN, _UNRELATED_SPREAD = 0.10, 0.04

#: What is added to the odds where no speaker has a name.  There the signs tell little: asked for advice, what a
#: preference bears on looks like nothing.  Where they have names the floor costs two to three of a hundred
#: answers of conversations that nothing was fitted to.
_UNNAMED = 0.75

#: What was not compared by meaning answers by its words alone, if it has so many of the question's.
_LEAST_COVERAGE = 0.5


class Trees(NamedTuple):
    """Complete binary trees of one depth.  ``sign`` (a number of :data:`NAMES`) and ``split``, of shape
    ``(trees, 2**depth - 1)``, say what each node asks, level by level: more than the split goes right;
    ``leaf``, ``(trees, 2**depth)``, says what that adds to ``start``.
    """

    sign: NDArray[np.integer[Any]]
    split: NDArray[np.floating[Any]]
    leaf: NDArray[np.floating[Any]]
    start: float

    def odds(self, found: Mapping[str, float]) -> float:
        """Return the logarithm of the odds that something answers."""
        values = np.array([found[name] for name in NAMES])
        trees = np.arange(len(self.sign))
        node = np.zeros(len(trees), dtype=np.intp)
        while node.size and node[0] < self.sign.shape[1]:
            node = 2 * node + 1 + (values[self.sign[trees, node]] > self.split[trees, node])
        return float(self.start + self.leaf[trees, node - self.sign.shape[1]].sum())


WEIGHTS = "answering.npz"


@cache
def built_in() -> Trees:
    """Return the trees that come with the package."""
    with resources.files(__package__).joinpath(WEIGHTS).open("rb") as file, np.load(file) as stored:
        return Trees(stored["sign"], stored["split"], stored["leaf"], float(stored["start"]))


def chance_of_answer(
    question: Question,
    candidates: Sequence[Candidate],
    seen: Seen,
    parts: NDArray[np.float64],
    trees: Trees | None = None,
) -> float:
    """Return the chance, 0..1, that one of the candidates answers; there is at least one.

    ``parts``: as :meth:`Seen.parts` gives them.  ``trees``: others than those of the package.
    """
    known = sum(each.cosine is not None for each in candidates)
    by_words = [share for each, share in zip(candidates, seen.coverage, strict=True) if each.cosine is None]
    chance = max(by_words, default=0.0)
    chance = chance if chance >= _LEAST_COVERAGE else 0.0
    if not known:
        return chance
    if known < _FEW:
        nearest = max(each.cosine for each in candidates if each.cosine is not None)
        nearest += _COVERAGE_COUNTS * max(seen.coverage)
        return max(chance, _logistic(_FEW_STEEPNESS * (nearest - _FEW_EVEN)))
    if _is_unrelated(candidates, seen, known):
        return chance
    odds = (trees or built_in()).odds(signs(question, candidates, seen, parts))
    if not any(each.speaker for each in candidates):
        odds += _UNNAMED
    return max(chance, _logistic(odds))


def _is_unrelated(candidates: Sequence[Candidate], seen: Seen, known: int) -> bool:
    """Tell whether the nearest of what was found is no nearer than the nearest of so many unrelated texts may
    be.
    """
    nearest = max(each.cosine for each in candidates if each.cosine is not None)
    nearest += _COVERAGE_COUNTS * max(seen.coverage)
    return nearest < _UNRELATED_MEAN + _UNRELATED_SPREAD * math.sqrt(2 * math.log(known))


def _logistic(odds: float) -> float:
    return 1.0 / (1.0 + math.exp(-max(-60.0, min(60.0, odds))))
