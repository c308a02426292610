"""Pack the best lines into a summary of bounded size.

Greedily by worth for what a line takes (Lin and Bilmes 2010), as in maximal marginal relevance (Carbonell and
Goldstein 1998): what repeats the words of a chosen line is worth less.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from math import sqrt
from typing import NamedTuple

from models.summaries import SessionSummary, UserProfile
from processors.summaries.building import summary_tokens
from processors.text.tokens import TokenCounter

#: Lines that share this part of the smaller one's words say the same.
SAME_WORDS = 0.8
#: Sharing all its words with another line would take so much off a line's worth.
REPEATED = 0.4
#: What is worth less than this part of the best line is not said, even if there is room.
WORTHWHILE = 0.1
#: Lines that are looked at; the ones with lower scores are left out.
MAXIMUM_CANDIDATES = 80


class Section(StrEnum):
    """The lists of :class:`models.summaries.SessionSummary`."""

    PREFERENCES = "preferences"
    CONSTRAINTS = "constraints"
    KEY_FACTS = "key_facts"
    DECISIONS = "decisions"
    OPEN_QUESTIONS = "open_questions"
    TODOS = "todos"


class Candidate(NamedTuple):
    """A line that may go into ``section``; ``position`` is its place in time, ``words`` what it is about."""

    section: Section
    text: str
    score: float
    position: int
    words: frozenset[str]


def pack(candidates: Sequence[Candidate], limit: int, count: TokenCounter) -> SessionSummary:
    """Return the summary of at most ``limit`` tokens (:func:`processors.summaries.building.summary_tokens`).

    Lists are in the order of time.  Where not even one line fits, the summary is empty.
    """
    pool = _pool(candidates)
    sizes = [sqrt(1 + count(each.text)) for each in pool]
    shared = [0.0] * len(pool)
    chosen: list[Candidate] = []
    left = [*range(len(pool))]
    while left:
        best = max(left, key=lambda at: pool[at].score * (1 - REPEATED * shared[at]) / sizes[at])
        left.remove(best)
        more = [*chosen, pool[best]]
        if shared[best] < SAME_WORDS and summary_tokens(_summary(more), count) <= limit:
            chosen = more
            for at in left:
                one, other = pool[at].words, pool[best].words
                shared[at] = max(shared[at], len(one & other) / (min(len(one), len(other)) or 1))
    return _summary(chosen)


def _pool(candidates: Sequence[Candidate]) -> list[Candidate]:
    """The best of the candidates, each text once: of equals the latest."""
    ranked = sorted(candidates, key=lambda candidate: candidate.score)
    distinct = {candidate.text.casefold(): candidate for candidate in ranked}
    best = sorted(distinct.values(), key=lambda candidate: (-candidate.score, candidate.position))
    floor = WORTHWHILE * best[0].score if best else 0.0
    return [candidate for candidate in best[:MAXIMUM_CANDIDATES] if candidate.score > floor]


def _summary(chosen: Sequence[Candidate]) -> SessionSummary:
    lists: dict[Section, list[str]] = {section: [] for section in Section}
    for candidate in sorted(chosen, key=lambda candidate: candidate.position):
        lists[candidate.section].append(candidate.text)
    preferences, constraints = (tuple(lists.pop(s)) for s in (Section.PREFERENCES, Section.CONSTRAINTS))
    rest = {section.value: tuple(lines) for section, lines in lists.items()}
    return SessionSummary(profile=UserProfile(preferences=preferences, constraints=constraints), **rest)
