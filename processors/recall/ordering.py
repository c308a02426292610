"""The order of what answers, as far as no candidate shows it by itself.

*Facts*: one that is as near to the question as the turn it was taken from says it better, and stands before it.
*Values*: who asks how many, how much or when now wants the latest of what was said of it.  *Broad questions*
("summarize", "in which order", "over time") are answered by what was said here and there, not by five turns in
a row.  What is changed is one more part of a candidate's score, by the name of what changed it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from heapq import nsmallest
from typing import NamedTuple

from models.messages import Role
from processors.recall.features import Candidate, Seen, sessions
from processors.recall.question import Question, words_of

#: What is added to candidates, by position and name.
Changes = dict[int, dict[str, float]]

_STEP = 0.001

#: How many of the best are put in the order of time, and how far below the best they may be (in parts).
_LATEST_OF, _LATEST_WITHIN = 5, 4.0

#: A sentence is about the value that is asked for if it has so many of the question's words (by rarity), of the
#: best one's; one that says that a value has changed names it in fewer words, and is looked for among more.
_SAME_VALUE, _LEAST_SHARED = 0.5, 0.25
_CHANGED_VALUE, _CHANGED_OF = 0.35, 12

#: A session that is all there is is cut into so many spans, and each further turn from a span costs so much.
_SPANS, _SPAN_COST, _SPREAD = 5, 0.5, 12

#: Asked for what both said, a reply stands behind what it replies to (and that before its reply) if it is worth
#: that much less at most.
_EXCHANGE_WITHIN = 1.0

_VALUE = re.compile(
    r"\b(?:how (?:many|much|long|often|old|far|big|high|fast)|when|what time"
    r"|what(?:'s| is| are)? (?:the |my |our )?(?:\w+ ){0,4}?(?:time|date|deadline|number|percentage|rate"
    r"|score|target|goal|quota|price|cost|count|average|limit|budget|age|size|salary|amount|level|coverage|version|speed))\b",
    re.IGNORECASE,
)
#: Who asks for the past, or for how one value became another, wants no latest one.
_PAST = re.compile(
    r"\b(?:did|was|were|originally|initially|used to|ago|earlier|previous(?:ly)?|between|across|order"
    r"|throughout|summar\w+|increased?)\b",
    re.IGNORECASE,
)
_NUMBER = re.compile(
    r"\d|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|dozen|once|twice|daily|weekly"
    r"|(?:mon|tues|wednes|thurs|fri|satur|sun)day)\b",
    re.IGNORECASE,
)
_CHANGED = re.compile(
    r"\b(?:new|now|recently|improved|dropped|rose|risen|grew|grown|growth|pushed (?:back|to)|brought forward"
    r"|(?:updat|adjust|revis|reschedul|postpon|extend|mov|chang|rais|increas|reduc|lower)(?:ed|ing)"
    r"|(?:up|down) (?:from|to))\b",
    re.IGNORECASE,
)
_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+")


def put_in_order(
    question: Question, candidates: Sequence[Candidate], seen: Seen, sums: Sequence[float]
) -> tuple[list[float], Changes]:
    """Return the candidates' sums of parts as their order asks for, and what was added."""
    order = _Order([*sums])
    _facts_first(candidates, seen, order)
    if _VALUE.search(question.query) and not _PAST.search(question.query):
        _latest_first(candidates, seen, order)
    elif question.broad:
        _spread(question, candidates, order)
    return order.sums, order.changes


class _Order:
    """Sums of parts, and what was added to them."""

    def __init__(self, sums: list[float]) -> None:
        self.sums = sums
        self.changes: Changes = {}

    def set(self, at: int, name: str, wanted: float) -> None:
        self.changes.setdefault(at, {})[name] = wanted - self.sums[at]
        self.sums[at] = wanted

    def best(self, count: int) -> list[int]:
        return nsmallest(count, range(len(self.sums)), key=lambda at: (-self.sums[at], at))


def _facts_first(candidates: Sequence[Candidate], seen: Seen, order: _Order) -> None:
    turns = {
        each.message_ids[0]: at
        for at, each in enumerate(candidates)
        if each.index is not None and each.message_ids
    }
    meaning = seen.of("meaning")
    for at, each in enumerate(candidates):
        sources = [turns[name] for name in each.message_ids if name in turns] if each.index is None else []
        if not sources:
            continue
        source = max(sources, key=lambda position: order.sums[position])
        own, its = order.sums[at], order.sums[source]
        if own <= its and not meaning[at] < meaning[source]:  # what is not known is not less
            order.set(at, "source", its + _STEP)


def _latest_first(candidates: Sequence[Candidate], seen: Seen, order: _Order) -> None:
    near = order.best(_CHANGED_OF)
    best, whose = order.sums[near[0]], _speaker(candidates[near[0]])
    values = {at: _value(seen, candidates[at].text) for at in near}
    most = max(values[at].share for at in near[:_LATEST_OF])
    same = []
    for number, at in enumerate(near):
        share, is_changed = values[at]
        if is_changed:
            is_same = share >= max(_LEAST_SHARED, _CHANGED_VALUE * most)
        else:
            is_near = number < _LATEST_OF and best - order.sums[at] <= _LATEST_WITHIN
            is_same = is_near and share >= max(_LEAST_SHARED, _SAME_VALUE * most)
        if is_same and _speaker(candidates[at]) == whose:
            same.append(at)
    # from the earliest on, each steps before all that there are
    for at in sorted(same, key=lambda position: candidates[position].said_at):
        wanted = max(order.sums) + _STEP
        if wanted - order.sums[at] > _STEP:
            order.set(at, "latest", wanted)


def _speaker(candidate: Candidate) -> tuple[Role, str]:
    return candidate.role, candidate.speaker


class _Value(NamedTuple):
    """Of the sentence with a number that has most of the question's words: their share, and whether it says
    that the value has changed.
    """

    share: float = 0.0
    is_changed: bool = False


def _value(seen: Seen, text: str) -> _Value:
    rarity, found = seen.rarity, _Value()
    whole = sum(rarity.values()) or 1.0
    for sentence in _SENTENCE.split(text):
        if _NUMBER.search(sentence):
            held = sorted(rarity.keys() & words_of(sentence))
            share = sum(rarity[word] for word in held) / whole
            found = max(found, _Value(share, _CHANGED.search(sentence) is not None))
    return found


def _spread(question: Question, candidates: Sequence[Candidate], order: _Order) -> None:
    """Let each session, or each span of a long one, have its turn."""
    spans = _spans(candidates)
    beside = _exchanges(candidates) if question.role is None and not question.asked else {}
    taken: Counter[int] = Counter()
    left = dict.fromkeys(range(len(candidates)))
    floor = float("inf")
    # what is chosen later stands below what was chosen before
    put = 0
    while left and put < _SPREAD:
        cost = {at: _SPAN_COST * taken[spans[at]] if at in spans else 0.0 for at in left}
        chosen = max(left, key=lambda at: (order.sums[at] - cost[at], -at))
        if chosen in spans:
            taken[spans[chosen]] += 1
        other = beside.get(chosen, -1)
        both = other in left and order.sums[other] >= order.sums[chosen] - _EXCHANGE_WITHIN
        for at in (chosen, other) if both else (chosen,):
            floor = _put_below(order, at, order.sums[at] - cost[at], floor)
            del left[at]
            put += 1
    for at in sorted(left, key=lambda at: (-order.sums[at], at)):
        floor = _put_below(order, at, order.sums[at], floor)


def _put_below(order: _Order, at: int, worth: float, floor: float) -> float:
    worth = min(worth, floor - _STEP)
    if worth != order.sums[at]:
        order.set(at, "spread", worth)
    return worth


def _exchanges(candidates: Sequence[Candidate]) -> dict[int, int]:
    """Return the reply to each turn of the person, and the turn that each reply of the assistant is to."""
    places = {
        (each.conversation_id, each.index): at for at, each in enumerate(candidates) if each.index is not None
    }
    found = {}
    for (conversation_id, index), at in places.items():
        step = 1 if candidates[at].role is Role.USER else -1
        other = places.get((conversation_id, index + step))
        if other is not None and candidates[other].role is not candidates[at].role:
            found[at] = other
    return found


def _spans(candidates: Sequence[Candidate]) -> dict[int, int]:
    """Return the span of each turn among the candidates: its session, or, if there is only one, its fifth."""
    found = sessions(candidates)
    if len(found) == 1:
        first, last = (candidates[found[0][at]].index or 0 for at in (0, -1))
        length = max(1, last - first + 1)
        return {at: ((candidates[at].index or 0) - first) * _SPANS // length for at in found[0]}
    return {at: number for number, session in enumerate(found) for at in session}
