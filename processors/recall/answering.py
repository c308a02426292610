"""Whether anything of what was found answers a question at all.

The chance is a logistic sum of what can be seen of the best candidates.  A question about somebody that another
person's words answer better is often about the wrong one; names that are asked for and stand nowhere tell, too.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from statistics import fmean, pstdev

from processors.recall.features import Candidate, Feature, Seen
from processors.recall.question import Question, words_of

#: Below this chance nothing is returned (seed 002's .3 for an explicit search).
FLOOR = 0.3

#: ``lead``: parts of the best; ``ahead``: how far it is ahead of the fifth; ``meaning``, ``stands_out``: the
#: best cosine, and how many spreads above the mean it is; ``covered``, ``covered_often``: the best share of the
#: question's words, and the mean of the three best; ``rival``, ``rival_meaning``, ``rival_words``: by how much
#: the words of whom the question names are better than others' (parts, cosine, share); ``named``: it names
#: somebody; ``best_meaning``, ``best_words``, ``best_around``: of the best candidate; ``words``: how many the
#: question has.
SIGNS: Mapping[str, Feature] = {
    "lead": Feature(0.687, 5.881, 1.939),
    "ahead": Feature(-0.963, 2.631, 1.365),
    "meaning": Feature(0.353, 0.547, 0.127),
    "stands_out": Feature(0.259, 3.504, 1.037),
    "covered": Feature(0.196, 0.598, 0.253),
    "covered_often": Feature(0.245, 0.466, 0.202),
    "rival": Feature(1.893, 0.462, 1.428),
    "rival_meaning": Feature(-0.605, 0.005, 0.101),
    "rival_words": Feature(0.468, 0.073, 0.287),
    "named": Feature(-0.737, 0.763, 0.425),
    "best_meaning": Feature(-0.644, 0.477, 0.157),
    "best_words": Feature(-0.238, 0.471, 0.281),
    "best_around": Feature(-0.362, 0.880, 0.166),
    "words": Feature(-0.193, 5.418, 3.264),
}
BIAS = 0.627

#: Of so few texts compared by meaning, nearness and words decide alone: the best of few says little.
_FEW = 20
_FEW_STEEPNESS, _FEW_EVEN, _COVERAGE_COUNTS = 8.0, 0.2, 0.33

#: Cosines of unrelated texts; chosen, not measured: so that 80 texts give .22.
_UNRELATED_MEAN, _UNRELATED_SPREAD = 0.10, 0.04

#: What is added to the odds, so that the floor costs about one of a hundred answers where speakers have names.
#: Where they have none the signs tell little: asked for advice, what a preference bears on looks like nothing.
_NAMED, _UNNAMED = 1.45, 2.0

#: What was not compared by meaning answers by its words alone, if it has so many of the question's.
_LEAST_COVERAGE = 0.5


def chance_of_answer(
    question: Question,
    candidates: Sequence[Candidate],
    seen: Sequence[Seen],
    parts: Sequence[Mapping[str, float]],
) -> float:
    """Return the chance, 0..1, that one of the candidates answers; there is at least one."""
    known = sum(each.cosine is not None for each in candidates)
    by_words = [one.coverage for each, one in zip(candidates, seen, strict=True) if each.cosine is None]
    chance = max(by_words, default=0.0)
    chance = chance if chance >= _LEAST_COVERAGE else 0.0
    if not known:
        return chance
    if known < _FEW:
        nearest = max(each.cosine for each in candidates if each.cosine is not None)
        nearest += _COVERAGE_COUNTS * max(each.coverage for each in seen)
        return max(chance, _logistic(_FEW_STEEPNESS * (nearest - _FEW_EVEN)))
    if _is_unrelated(candidates, seen, known):
        return chance
    found = signs(question, candidates, seen, parts)
    odds = BIAS + sum(SIGNS[name].part(value) for name, value in found.items())
    have_names = any(each.speaker for each in candidates)
    return max(chance, _logistic(odds + (_NAMED if have_names else _UNNAMED)))


def _is_unrelated(candidates: Sequence[Candidate], seen: Sequence[Seen], known: int) -> bool:
    """Tell whether the nearest of what was found is no nearer than the nearest of so many unrelated texts may
    be.
    """
    nearest = max(each.cosine for each in candidates if each.cosine is not None)
    nearest += _COVERAGE_COUNTS * max(each.coverage for each in seen)
    return nearest < _UNRELATED_MEAN + _UNRELATED_SPREAD * math.sqrt(2 * math.log(known))


def signs(
    question: Question,
    candidates: Sequence[Candidate],
    seen: Sequence[Seen],
    parts: Sequence[Mapping[str, float]],
) -> dict[str, float]:
    """Return what is seen of the turns among the candidates (of all, if there are none), by name of the
    sign.
    """
    turns = [at for at, each in enumerate(candidates) if each.index is not None] or list(range(len(candidates)))
    sums = {at: sum(parts[at].values()) for at in turns}
    order = sorted(turns, key=lambda at: -sums[at])
    best = order[0]
    meanings = {at: seen[at].values["meaning"] for at in turns}
    covered = sorted((seen[at].coverage for at in turns), reverse=True)
    nearest = max(meanings.values())
    found = {
        "lead": sums[best],
        "ahead": sums[best] - sums[order[min(4, len(order) - 1)]],
        "meaning": nearest,
        "stands_out": (nearest - fmean(meanings.values())) / (pstdev(meanings.values()) or 1.0),
        "covered": covered[0],
        "covered_often": fmean(covered[:3]),
        "named": float(bool(question.asked)),
        "best_meaning": meanings[best],
        "best_words": seen[best].coverage,
        "best_around": seen[best].values["around"],
        "words": float(len(set(words_of(question.text)))),
        "rival": 0.0,
        "rival_meaning": 0.0,
        "rival_words": 0.0,
    }
    theirs = [at for at in turns if candidates[at].speaker == question.asked]
    others = [at for at in turns if candidates[at].speaker != question.asked]
    if question.asked and theirs and others:
        content = {at: sums[at] - parts[at]["speaker"] for at in turns}
        found["rival"] = max(content[at] for at in theirs) - max(content[at] for at in others)
        found["rival_meaning"] = max(meanings[at] for at in theirs) - max(meanings[at] for at in others)
        found["rival_words"] = max(seen[at].coverage for at in theirs) - max(seen[at].coverage for at in others)
    return found


def _logistic(odds: float) -> float:
    return 1.0 / (1.0 + math.exp(-max(-60.0, min(60.0, odds))))
