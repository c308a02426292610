"""How good an order is: which share of a question's evidence the first messages hold that the results rest
on.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from statistics import fmean
from typing import Any, NamedTuple

from benchmarks.quality.recall.sets import Asked

#: Distinct messages that are looked at, at most.
MOST = 10


class Outcome(NamedTuple):
    """A question, and the first distinct messages that its results rest on, in order; none: it found
    nothing.
    """

    set: str
    asked: Asked
    messages: tuple[str, ...]


def distinct(ids: Iterable[Sequence[str]], most: int = MOST) -> tuple[str, ...]:
    """Return the first distinct message ids of results, in order."""
    return tuple(dict.fromkeys(name for each in ids for name in each))[:most]


def recall(outcome: Outcome, count: int) -> float:
    """Return the share of the evidence among the first ``count`` messages."""
    first = {*outcome.messages[:count]}
    return fmean(name in first for name in outcome.asked.evidence)


def is_newest_first(outcome: Outcome) -> bool:
    """Tell whether of the evidence that was found that with the newest value comes first."""
    found = [name for name in outcome.messages if name in outcome.asked.evidence]
    return bool(found) and found[0] in outcome.asked.newest


def figures(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """Return the figures of one set."""
    answered = [each for each in outcomes if each.asked.evidence]
    nothing = [each for each in outcomes if not each.asked.evidence]
    updates = [each for each in answered if each.asked.newest]
    kinds: dict[str, list[Outcome]] = defaultdict(list)
    for each in answered:
        kinds[each.asked.kind].append(each)
    found: dict[str, Any] = {
        "questions": len(answered),
        "r5": fmean(recall(each, 5) for each in answered),
        "r10": fmean(recall(each, 10) for each in answered),
        "kinds": {
            kind: {
                "questions": len(of),
                "r5": fmean(recall(e, 5) for e in of),
                "r10": fmean(recall(e, 10) for e in of),
            }
            for kind, of in sorted(kinds.items())
        },
    }
    if nothing:
        found["unanswerable"] = len(nothing)
        found["empty"] = fmean(not each.messages for each in nothing)
    if updates:
        found["updates"] = len(updates)
        found["newest_first"] = fmean(is_newest_first(each) for each in updates)
    return found


def worst(outcomes: Sequence[Outcome], count: int = 3, shown: int = 6) -> list[dict[str, Any]]:
    """Return the kinds of questions that cost the most recall, with questions that found none of their
    evidence.
    """
    lost: dict[str, list[Outcome]] = defaultdict(list)
    for each in outcomes:
        if each.asked.evidence:
            lost[f"{each.set} {each.asked.kind}"].append(each)
    costs = {kind: sum(1 - recall(each, 10) for each in of) for kind, of in lost.items()}
    return [
        {
            "kind": kind,
            "questions": len(lost[kind]),
            "r10": fmean(recall(each, 10) for each in lost[kind]),
            "missed": [each.asked.name for each in lost[kind] if not recall(each, 10)][:shown],
        }
        for kind in sorted(costs, key=lambda name: -costs[name])[:count]
    ]
