"""The order of what answers, as far as no candidate shows it by itself.

*Facts*: one that is as near to the question as the turn it was taken from says it better, and stands before it.
*Values*: who asks how many, how much or when now wants the latest of what was said of it.  *Broad questions*
("summarize", "in which order", "over time") are answered by what was said here and there, not by five turns in
a row.  What is changed is one more part of a candidate's score.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from models.messages import Role
from processors.recall.features import Candidate, Seen, sessions
from processors.recall.question import Question, words_of

#: A candidate's parts, by feature.
Parts = dict[str, float]

_STEP = 0.001

#: How many of the best are put in the order of time, and how far below the best they may be (in parts).
_LATEST_OF, _LATEST_WITHIN = 5, 4.0

#: A sentence is about the value that is asked for if it has so many of the question's words, of the best one's.
_SAME_VALUE, _LEAST_SHARED = 0.5, 0.25

#: A session that is all there is is cut into so many spans, and each further turn from a span costs so much.
_SPANS, _SPAN_COST, _SPREAD = 5, 1.0, 12

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
_BROAD = re.compile(
    r"\b(?:summar\w+|overview|(?:in (?:what|which)|the) order|in order|throughout|across|over time"
    r"|progress(?:ed|ion)?|evol(?:ved?|ution)|walk me through|sequence|timeline|comprehensive"
    r"|journey|so far|developed)\b",
    re.IGNORECASE,
)
_NUMBER = re.compile(
    r"\d|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|dozen|once|twice|daily|weekly"
    r"|(?:mon|tues|wednes|thurs|fri|satur|sun)day)\b",
    re.IGNORECASE,
)
_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+")


def put_in_order(
    question: Question, candidates: Sequence[Candidate], seen: Sequence[Seen], parts: Sequence[Parts]
) -> None:
    """Add to the candidates' parts what their order asks for."""
    _facts_first(candidates, seen, parts)
    if _VALUE.search(question.query) and not _PAST.search(question.query):
        _latest_first(question, candidates, parts)
    elif _BROAD.search(question.query):
        _spread(candidates, parts)


def _sum(parts: Parts) -> float:
    return sum(parts.values())


def _best(parts: Sequence[Parts], count: int) -> list[int]:
    sums = [_sum(each) for each in parts]
    return sorted(range(len(parts)), key=lambda position: (-sums[position], position))[:count]


def _facts_first(candidates: Sequence[Candidate], seen: Sequence[Seen], parts: Sequence[Parts]) -> None:
    turns = {
        each.message_ids[0]: at
        for at, each in enumerate(candidates)
        if each.index is not None and each.message_ids
    }
    for at, each in enumerate(candidates):
        sources = [turns[name] for name in each.message_ids if name in turns] if each.index is None else []
        if not sources:
            continue
        source = max(sources, key=lambda position: _sum(parts[position]))
        own, its = _sum(parts[at]), _sum(parts[source])
        if own <= its and seen[at].values["meaning"] >= seen[source].values["meaning"]:
            parts[at]["source"] = its + _STEP - own


def _latest_first(question: Question, candidates: Sequence[Candidate], parts: Sequence[Parts]) -> None:
    first = _best(parts, _LATEST_OF)
    asked = set(words_of(question.text))
    shares = {at: _value_share(asked, candidates[at].text) for at in first}
    least = max(_LEAST_SHARED, _SAME_VALUE * max(shares.values()))
    best, whose = _sum(parts[first[0]]), _speaker(candidates[first[0]])
    same = [
        at
        for at in first
        if shares[at] >= least
        and best - _sum(parts[at]) <= _LATEST_WITHIN
        and _speaker(candidates[at]) == whose
    ]
    # from the earliest on, each steps before all that there are
    for at in sorted(same, key=lambda position: candidates[position].said_at):
        change = max(map(_sum, parts)) + _STEP - _sum(parts[at])
        if change > _STEP:
            parts[at]["latest"] = change


def _speaker(candidate: Candidate) -> tuple[Role, str]:
    return candidate.role, candidate.speaker


def _value_share(asked: set[str], text: str) -> float:
    """Return which share of the question's words stand in the sentence with a number that has most of them."""
    shares = (
        len(asked.intersection(words_of(sentence))) / len(asked)
        for sentence in _SENTENCE.split(text)
        if asked and _NUMBER.search(sentence)
    )
    return max(shares, default=0.0)


def _spread(candidates: Sequence[Candidate], parts: Sequence[Parts]) -> None:
    """Let each session, or each span of a long one, have its turn."""
    spans = _spans(candidates)
    taken: Counter[int] = Counter()
    left = set(range(len(candidates)))
    floor = float("inf")
    for _ in range(min(_SPREAD, len(candidates))):
        cost = {at: _SPAN_COST * taken[spans[at]] if at in spans else 0.0 for at in left}
        chosen = max(left, key=lambda at: (_sum(parts[at]) - cost[at], -at))
        left.remove(chosen)
        if chosen in spans:
            taken[spans[chosen]] += 1
        # what is chosen later stands below what was chosen before
        worth = min(_sum(parts[chosen]) - cost[chosen], floor - _STEP)
        if change := worth - _sum(parts[chosen]):
            parts[chosen]["spread"] = change
        floor = worth
    for at in left:
        if (change := floor - _STEP - _sum(parts[at])) < 0:
            parts[at]["spread"] = change


def _spans(candidates: Sequence[Candidate]) -> dict[int, int]:
    """Return the span of each turn among the candidates: its session, or, if there is only one, its fifth."""
    found = sessions(candidates)
    if len(found) == 1:
        first, last = (candidates[found[0][at]].index or 0 for at in (0, -1))
        length = max(1, last - first + 1)
        return {at: ((candidates[at].index or 0) - first) * _SPANS // length for at in found[0]}
    return {at: number for number, session in enumerate(found) for at in session}
