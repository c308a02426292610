"""How a search came to what it answers: how long its parts took, and what was found and left out."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence

import msgspec

from processors.retrieval.recall.features import Candidate
from processors.retrieval.recall.ranking import Ranked

#: The best of what was left out, so many of them.
_SHOWN = 5


class NoResult(msgspec.Struct, frozen=True, kw_only=True):
    """Something that was found and is no result; ``position`` counts from 1, over results and these."""

    position: int
    score: float
    text: str
    message_ids: tuple[str, ...]


class Explanation(msgspec.Struct, frozen=True, kw_only=True):
    """How a search came to its answer.

    ``milliseconds``: of each part, in their order.  ``candidates``: how many were ranked.  ``chance``: that any
    of them answers; below ``floor`` nothing is returned.  ``left_out``: how many for which reason:
    ``below_floor`` (nothing answers), ``same_source`` (it rests on a message that a result rests on),
    ``beyond_limit``; ``best``: the first of these.
    """

    milliseconds: dict[str, float]
    candidates: int
    chance: float | None
    floor: float
    left_out: dict[str, int]
    best: list[NoResult]


class Stopwatch:
    """Measures one part after the other."""

    def __init__(self) -> None:
        self.milliseconds: dict[str, float] = {}
        self._at = time.perf_counter()

    def lap(self, name: str) -> None:
        """Count the time since the last call for ``name``."""
        now = time.perf_counter()
        self.milliseconds[name] = round(1000 * (now - self._at), 3)
        self._at = now


def explain(
    ranked: Sequence[Ranked], candidates: Sequence[Candidate], results: int, floor: float, watch: Stopwatch
) -> Explanation:
    """Return the explanation; the first ``results`` of ``ranked`` were returned."""
    shown = {name for each in ranked[:results] for name in candidates[each.position].message_ids}
    chance = ranked[0].score if ranked else None
    left_out: Counter[str] = Counter()
    best: list[NoResult] = []
    for position, each in enumerate(ranked[results:], results + 1):
        candidate = candidates[each.position]
        if chance is not None and chance < floor:
            left_out["below_floor"] += 1
        elif shown.intersection(candidate.message_ids):
            left_out["same_source"] += 1
        else:
            left_out["beyond_limit"] += 1
        if len(best) < _SHOWN:
            best.append(
                NoResult(
                    position=position,
                    score=each.score,
                    text=candidate.text,
                    message_ids=tuple(candidate.message_ids),
                )
            )
    return Explanation(
        milliseconds=watch.milliseconds,
        candidates=len(candidates),
        chance=chance,
        floor=floor,
        left_out=dict(left_out),
        best=best,
    )
