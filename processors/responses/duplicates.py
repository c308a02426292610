"""Does a sentence repeat an earlier one?  Symmetric; a duplicate if and only if score >= threshold (seed 003).

One scale, two bands:

* 0.85 to 1, *repeated*: the same content words in the same order.  Only light words differ, inflection, and at
  most about one content word in ten, which one of the two has and the other has not.  A sentence with another
  number, negation, name or any other content word in the place of one is not a repetition, however alike the
  characters are: "Room 12 is free" does not repeat "Room 13 is free".
* below 0.85, *restated*: the share of the words that both have, in the same order.

The seed's ``difflib`` ratio depends on the order of its arguments and takes 0.5 ms per pair; here the
distances are rapidfuzz's Indel distance over words.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec
from rapidfuzz.distance import Indel

from processors.responses.words import Words, words_of

#: Where the band of repeated sentences begins: the seed's default threshold.
REPEATED = 0.85

#: The most that a pair can score which is no repetition.
RESTATED_MOST = 0.84

#: A content word more says something more: it weighs as much as this many content words.
_ADDED_WORD = 3.0
_LIGHT_WORD = 0.25


class Match(msgspec.Struct, frozen=True):
    """The earlier sentence that a new one repeats, and how similar they are."""

    sentence: str
    score: float


def similarity(first: str, second: str) -> float:
    """Return how far one sentence repeats the other: 0 to 1, the same in both directions."""
    a, b = words_of(first), words_of(second)
    score = _repeated(a, b)
    return score if score >= REPEATED else _restated(a, b)


def find_duplicate(sentence: str, earlier: Iterable[str], threshold: float) -> Match | None:
    """Return the earlier sentence most similar to ``sentence``, if that is at least ``threshold``.

    Of equally similar ones, the last.
    """
    words = words_of(sentence)
    best: Match | None = None
    for other in earlier:
        score = _repeated(words, words_of(other))
        if score < REPEATED:
            if threshold > RESTATED_MOST:
                continue
            score = _restated(words, words_of(other))
        if score >= threshold and (best is None or score >= best.score):
            best = Match(other, score)
    return best


def _repeated(a: Words, b: Words) -> float:
    if (a.numbers, a.negations, a.literals, a.question) != (b.numbers, b.negations, b.literals, b.question):
        return 0.0
    if bool(a.content) != bool(b.content):
        return 0.0
    if not a.content:
        return float(a.stems == b.stems != ())
    added = abs(len(a.content) - len(b.content))
    # One contains the other, in order, exactly if nothing but the difference in length has to be edited.
    if Indel.distance(a.content, b.content) != added:
        return 0.0
    weight = len(a.content) + len(b.content) + _LIGHT_WORD * (len(a.light) + len(b.light))
    return max(0.0, 1.0 - (_ADDED_WORD * added + _LIGHT_WORD * Indel.distance(a.light, b.light)) / weight)


def _restated(a: Words, b: Words) -> float:
    return RESTATED_MOST * Indel.normalized_similarity(a.stems, b.stems) if a.stems and b.stems else 0.0
