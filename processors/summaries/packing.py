"""Pack the best lines into a summary of bounded size.

Greedily by worth for what a line takes (Lin and Bilmes 2010), as in maximal marginal relevance (Carbonell and
Goldstein 1998): what repeats the words of a chosen line is worth less.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from math import sqrt
from typing import NamedTuple

import msgspec

from models.summaries import SessionSummary, UserProfile
from processors.summaries.building import context_text, summary_tokens
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
    costs = [_cost(candidate.text, count) for candidate in pool]
    names = {section: _name_cost(section, count) for section in {candidate.section for candidate in pool}}
    room = limit
    while True:
        chosen, left = list[Candidate](), room
        while (best := _best(pool, chosen, costs, names, left)) is not None:
            more, place = best
            chosen.append(pool[place])
            left -= more
        summary = _summary(chosen)
        # Tokens of the whole are nearly those of the parts.
        excess = summary_tokens(summary, count) - limit
        if excess <= 0 or not chosen:
            return summary
        room -= excess


def _best(
    pool: Sequence[Candidate],
    chosen: Sequence[Candidate],
    costs: Sequence[int],
    names: dict[Section, int],
    room: int,
) -> tuple[int, int] | None:
    """Return the tokens and the place of the line that is worth most beside the chosen ones; the first of equals."""
    known = {each.section for each in chosen}
    best, found = 0.0, None
    for place, each in enumerate(pool):
        more = costs[place] + (0 if each.section in known else names[each.section])
        if more > room or each in chosen:
            continue
        shared = max((_overlap(each.words, other.words) for other in chosen), default=0.0)
        worth = each.score * (1 - REPEATED * shared) / sqrt(max(1, more))
        if shared < SAME_WORDS and worth > best:
            best, found = worth, (more, place)
    return found


def _pool(candidates: Sequence[Candidate]) -> list[Candidate]:
    """The best of the candidates, each text once: of equals the latest."""
    ranked = sorted(candidates, key=lambda candidate: candidate.score)
    distinct = {candidate.text.casefold(): candidate for candidate in ranked}
    best = sorted(distinct.values(), key=lambda candidate: (-candidate.score, candidate.position))
    floor = WORTHWHILE * best[0].score if best else 0.0
    return [candidate for candidate in best[:MAXIMUM_CANDIDATES] if candidate.score > floor]


def _cost(text: str, count: TokenCounter) -> int:
    """The tokens of a line behind another one in a list."""
    one, two = msgspec.json.encode(["A."]).decode(), msgspec.json.encode(["A.", text]).decode()
    return count(two) - count(one)


def _name_cost(section: Section, count: TokenCounter) -> int:
    """The tokens of a list with one line, besides those of the line."""
    text = context_text(_summary([Candidate(section, "A.", 1.0, 0, frozenset())]))
    return count(text) - _cost("A.", count)


def _overlap(left: frozenset[str], right: frozenset[str]) -> float:
    return len(left & right) / (min(len(left), len(right)) or 1)


def _summary(chosen: Sequence[Candidate]) -> SessionSummary:
    lists: dict[Section, list[str]] = {section: [] for section in Section}
    for candidate in sorted(chosen, key=lambda candidate: candidate.position):
        lists[candidate.section].append(candidate.text)
    preferences, constraints = (tuple(lists.pop(s)) for s in (Section.PREFERENCES, Section.CONSTRAINTS))
    rest = {section.value: tuple(lines) for section, lines in lists.items()}
    return SessionSummary(profile=UserProfile(preferences=preferences, constraints=constraints), **rest)
