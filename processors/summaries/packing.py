"""Pack the best sentences into a summary of bounded size.

Greedy, as in maximal marginal relevance (Carbonell and Goldstein 1998): the next sentence is the one that is
worth most given those already taken, so that lists fill evenly and nothing is said twice.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from models.summaries import SessionSummary, UserProfile
from processors.summaries.building import summary_tokens
from processors.summaries.cues import Section
from processors.text.stemming import stem_of
from processors.text.tokens import TokenCounter

#: Each sentence already in a list makes the next one for that list worth less.
SAME_SECTION = 0.7

#: Sentences that share this part of the smaller one's words say the same.
SAME_WORDS = 0.7

#: What is worth less than this part of the best sentence is not said, even if there is room.
WORTHWHILE = 0.15

#: No more sentences than this are compared with each other; the ones with lower scores are left out.
MAXIMUM_CANDIDATES = 120

_WORD = re.compile(r"[぀-ヿ㐀-鿿가-힯]|[^\W_]+(?:['’][^\W_]+)?")
#: Words that say little about what is talked of: grammar, small talk, praise.
_STOP_TEXT = """
a about after again all also always am amazing an and any anything are as ask at awesome back be beautiful
because been before being bit both but by came can come cool could day did do does doing don done down each
even ever every excited exciting fantastic feel feeling feels few for from fun get getting give glad go goes
going gonna good got gotta great had happy has have having he hello her here hers hey hi him his hope how i
if in incredible inspiring interesting into is it its just keep kind know let like look looks lot lovely
made make makes many may maybe me might mine more most much must my need never new next nice no not now of
off oh ok okay on once one only or other our ours out over own perfect please pretty proud put quite rather
really right said same say see seem seems she should so some something soon sorry sound sounds still such
sure sweet take tell than thank thanks that the their them then there these they thing things think this
those though through time to too try up us use very want was way we well went were what when where which
while who whom whose why will wish with won wonderful would wow yeah year yes yet you your yours
"""
_STOP_WORDS = frozenset(_STOP_TEXT.split())


class Candidate(NamedTuple):
    """A sentence that may go into ``section``; ``position`` is its place in time, ``words`` :func:`words`."""

    section: Section
    text: str
    score: float
    position: int
    words: frozenset[str]


def words(text: str) -> frozenset[str]:
    """Return the content words of a text, folded; a CJK character is a word."""
    found = (match.group().casefold().replace("’", "'").split("'")[0] for match in _WORD.finditer(text))
    return frozenset(
        stem_of(word)
        for word in found
        if word not in _STOP_WORDS and (len(word) > 2 or not word.isascii() or word.isdigit())
    )


def pack(candidates: Sequence[Candidate], limit: int, count: TokenCounter) -> SessionSummary:
    """Return the summary of at most ``limit`` tokens (:func:`processors.summaries.building.summary_tokens`).

    Lists are in the order of time.  If even the empty summary is above the limit, it is returned.
    """
    ranked = sorted(candidates, key=lambda candidate: candidate.score)
    distinct = {candidate.text.casefold(): candidate for candidate in ranked}
    pool = sorted(distinct.values(), key=lambda candidate: (-candidate.score, candidate.position))
    del pool[MAXIMUM_CANDIDATES:]
    chosen: list[Candidate] = []
    summary = SessionSummary()
    floor = WORTHWHILE * pool[0].score if pool else 0.0
    while pool:
        best = max(pool, key=lambda candidate: (_worth(candidate, chosen), -candidate.position))
        pool.remove(best)
        if _worth(best, chosen) <= floor:
            break
        larger = _summary([*chosen, best])
        if summary_tokens(larger, count) <= limit:
            chosen.append(best)
            summary = larger
    return summary


def _worth(candidate: Candidate, chosen: Sequence[Candidate]) -> float:
    overlap = max((_overlap(candidate.words, other.words) for other in chosen), default=0.0)
    if overlap >= SAME_WORDS:
        return 0.0
    beside = sum(other.section is candidate.section for other in chosen)
    return candidate.score * (1.0 - overlap) * SAME_SECTION**beside


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
