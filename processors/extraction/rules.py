"""Which statement a first-person clause makes: its wording, and whether it can stand alone.

Its category and confidence are decided in :mod:`processors.extraction.categories`; a hedge ("I think",
"maybe") takes a fifth off the confidence, a missing subject ("Love hiking!") a twentieth.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from models.facts import Category
from processors.extraction.categories import categorize
from processors.extraction.clauses import Clause
from processors.extraction.grammar import third_person
from processors.extraction.lexicon import NEED_AN_OBJECT
from processors.extraction.rewriting import Predicate, parse

_HEDGED, _ELIDED = 0.8, 0.95


@dataclass(frozen=True, slots=True)
class Ruling:
    """A statement in the third person.  ``category`` is None when no rule admits it."""

    statement: str
    category: Category | None
    confidence: float


def rule(clause: Clause) -> Ruling | None:
    """Judge a clause; None when it is no statement about the person, or not one that stands alone."""
    predicate = parse(clause.text)
    if predicate is None or not _stands_alone(predicate, clause):
        return None
    statement = predicate.statement
    if clause.lead:
        lead = clause.lead if clause.lead[1:2].isupper() else clause.lead[:1].lower() + clause.lead[1:]
        statement = f"{statement} {third_person(lead)}"
    verdict = categorize(predicate, clause)
    if verdict is None:
        return Ruling(statement, None, 0.0)
    category, confidence = verdict
    confidence *= (_HEDGED if clause.hedged or predicate.hedged else 1.0) * (_ELIDED if clause.elided else 1.0)
    return Ruling(statement, category, round(confidence, 3))


#: An object that only the words before it explain.
_POINTS_ELSEWHERE = re.compile(
    r"(?:(?:to |at |with |about |for |of |on |in |like )?(?:it|that|this|these|those|them|him|her|she|he|they|"
    r"one|ones|so|his|her|hers|their|theirs|its|(?:both|either|there|here|some|everything|anything|something|"
    r"all)$|the same|the idea|the sound|what|how|all of (?:it|that|this|them))\b"
    r"(?! (?:when\b|week|weekend|month|year|morning|evening|summer|winter|spring|fall|time of|kinds? of|"
    r"sorts? of|to (?!me\b)\w+ [a-z]+))|that's\b|it's\b|the (?:idea|sound|way|look|vibe|thought|one)\b|"
    r"such a\b$)",
    re.IGNORECASE,
)
_ENDS_ELSEWHERE = re.compile(r"\b(?:it|this|that|these|those|them)$", re.IGNORECASE)
_DANGLES = re.compile(r"\b(?:to|and|but|or|the|an?|of|than|if|when|so)$")
_ADDRESSES = re.compile(r"\b(?:you|your|yours|yourself|you're|you've|you'd|you'll|ya|u)\b", re.IGNORECASE)
_MIN_WORDS, _MAX_WORDS = 3, 45


def _stands_alone(predicate: Predicate, clause: Clause) -> bool:
    words = predicate.statement.split()
    if not _MIN_WORDS <= len(words) <= _MAX_WORDS:
        return False
    if _ADDRESSES.search(f"{clause.text} {clause.lead}"):
        return False
    rest = predicate.rest
    if not rest and (predicate.verb in NEED_AN_OBJECT or predicate.subject != "User"):
        return False
    if _DANGLES.search(predicate.statement) or (len(rest.split()) <= 6 and _ENDS_ELSEWHERE.search(rest)):
        return False
    if predicate.auxiliary == "be" and not predicate.subject.startswith("User's"):
        # "I'm into it", "I'm a fan of those"
        rest = re.sub(r"^.*?\b(?=(?:it|that|this|these|those|them)$)", "", rest)
    return _POINTS_ELSEWHERE.match(rest) is None
