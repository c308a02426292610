"""Pack the best sentences into a summary of bounded size.

A budgeted choice (Lin and Bilmes 2010): greedily by worth per token, as in maximal marginal relevance
(Carbonell and Goldstein 1998), then by exchange, as long as that is better: few sentences fit, so the last
tokens count.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import sqrt
from typing import NamedTuple

import msgspec

from models.summaries import SessionSummary, UserProfile
from processors.summaries.building import context_text, summary_tokens
from processors.summaries.cues import Section
from processors.text.tokens import TokenCounter

#: Sentences that share this part of the smaller one's words say the same.
SAME_WORDS = 0.8

#: Sharing all its words with another sentence would take half of this off a sentence's worth.
REPEATED = 0.4

#: What is worth less than this part of the best sentence is not said, even if there is room.
WORTHWHILE = 0.1

#: No more sentences than this are compared with each other; the ones with lower scores are left out.
MAXIMUM_CANDIDATES = 40


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
        chosen = _Choice(pool, costs, names, room).best()
        summary = _summary(chosen)
        # Tokens of the whole are nearly those of the parts.
        excess = summary_tokens(summary, count) - limit
        if excess <= 0 or not chosen:
            return summary
        room -= excess


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


class _Choice:
    """Which of ``pool`` are worth most together within ``room`` tokens; candidates go by their places.

    ``costs``: tokens of each line; ``names``: those of each list's name, once it has a line.
    """

    def __init__(
        self, pool: Sequence[Candidate], costs: Sequence[int], names: Mapping[Section, int], room: int
    ) -> None:
        self._pool = pool
        self._costs = costs
        self._names = names
        self._room = room
        self._overlaps = [[_overlap(one.words, other.words) for other in pool] for one in pool]

    def best(self) -> list[Candidate]:
        """Return the chosen candidates."""
        chosen = self._filled([])
        worth = self._worth(chosen)
        exchanged = True
        while exchanged:
            exchanged = False
            for other in self._exchanges(chosen):
                if self._worth(other) > worth + 1e-9:  # more than adding in another order makes
                    chosen, worth, exchanged = other, self._worth(other), True
                    break
        return [self._pool[place] for place in chosen]

    def _exchanges(self, chosen: list[int]) -> Iterator[list[int]]:
        for leaving in chosen:
            rest = [place for place in chosen if place != leaving]
            room = self._room_beside(rest)
            for coming in range(len(self._pool)):
                if coming not in chosen and self._fits(rest, coming, room):
                    yield self._filled([*rest, coming])

    def _filled(self, chosen: list[int]) -> list[int]:
        """With what is worth most for what it costs, as long as there is room."""
        chosen = list(chosen)
        while True:
            room, others = self._room_beside(chosen), set(range(len(self._pool))).difference(chosen)
            fitting = [place for place in sorted(others) if self._fits(chosen, place, room)]
            if not fitting:
                return chosen
            # The first of equals: the best score.
            chosen.append(
                max(fitting, key=lambda place: self._share(place, chosen) / sqrt(self._more(place, chosen)))
            )

    def _room_beside(self, chosen: Sequence[int]) -> int:
        lists = {self._pool[place].section for place in chosen}
        return self._room - sum(self._costs[place] for place in chosen) - sum(self._names[s] for s in lists)

    def _fits(self, chosen: Sequence[int], place: int, room: int) -> bool:
        if self._costs[place] > room or self._more(place, chosen) > room:
            return False
        overlaps = self._overlaps[place]
        return all(overlaps[other] < SAME_WORDS for other in chosen)

    def _more(self, place: int, chosen: Sequence[int]) -> int:
        """The tokens that a line adds: its own, and those of its list's name if it is the first there."""
        section = self._pool[place].section
        known = any(self._pool[other].section is section for other in chosen)
        return self._costs[place] + (0 if known else self._names[section])

    def _worth(self, chosen: Sequence[int]) -> float:
        return sum(self._share(place, chosen) for place in chosen)

    def _share(self, place: int, chosen: Sequence[int]) -> float:
        overlaps = self._overlaps[place]
        most = max((overlaps[other] for other in chosen if other != place), default=0.0)
        return self._pool[place].score * (1 - REPEATED * most / 2)


def _overlap(left: frozenset[str], right: frozenset[str]) -> float:
    return len(left & right) / (min(len(left), len(right)) or 1)


def _summary(chosen: Sequence[Candidate]) -> SessionSummary:
    lists: dict[Section, list[str]] = {section: [] for section in Section}
    for candidate in sorted(chosen, key=lambda candidate: candidate.position):
        lists[candidate.section].append(candidate.text)
    return SessionSummary(
        profile=UserProfile(
            preferences=tuple(lists[Section.PREFERENCES]), constraints=tuple(lists[Section.CONSTRAINTS])
        ),
        key_facts=tuple(lists[Section.KEY_FACTS]),
        decisions=tuple(lists[Section.DECISIONS]),
        open_questions=tuple(lists[Section.OPEN_QUESTIONS]),
        todos=tuple(lists[Section.TODOS]),
    )
