"""Does a sentence repeat an earlier one?  Symmetric; a duplicate if and only if score >= threshold (seed 003).

One scale, two bands:

* 0.85 to 1, *repeated*: the same content words in the same order.  Only light words differ, inflection, and at
  most about one content word in ten, which one of the two has and the other has not.  A sentence with another
  number, negation, name or any other content word in the place of one is not a repetition, however alike the
  characters are: "Room 12 is free" does not repeat "Room 13 is free".
* below 0.85, *restated*: how likely it is that the two say the same in other words
  (:mod:`processors.responses.paraphrase`).

The seed's ``difflib`` ratio depends on the order of its arguments and takes 0.5 ms per pair; here the
distances are rapidfuzz's Indel distance over words.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

import msgspec
from rapidfuzz.distance import Indel

from processors.responses.paraphrase import paraphrase_probability
from processors.responses.words import Beginning, Words, beginning_of, may_be_light, may_grow_into, words_of

#: Where the band of repeated sentences begins: the seed's default threshold.
REPEATED = 0.85

#: The most that a pair can score which is no repetition.
RESTATED_MOST = 0.84

#: From here on a pair says the same more likely than not: the threshold for filtering paraphrases too.
PARAPHRASE = RESTATED_MOST / 2

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
    return score if score >= REPEATED else RESTATED_MOST * paraphrase_probability(a, b)


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
            score = RESTATED_MOST * paraphrase_probability(words, words_of(other))
        if score >= threshold and (best is None or score >= best.score):
            best = Match(other, score)
    return best


def find_exact(sentence: str, earlier: Iterable[str]) -> Match | None:
    """Return an earlier sentence with exactly the same words, inflection and case aside."""
    words = words_of(sentence)
    return next((Match(other, 1.0) for other in earlier if words.stems and words_of(other) == words), None)


def may_become_duplicate(text: str, earlier: Sequence[str], exact: Sequence[str], threshold: float) -> bool:
    """Say whether any sentence that begins with ``text`` can be found by the two functions above.

    Never wrongly says no: the bound counts only what no continuation can mend.  In the band of restated
    sentences there is no such thing, so there every beginning may.
    """
    if earlier and threshold <= RESTATED_MOST:
        return True
    beginning = beginning_of(text)
    return any(_may_repeat(beginning, words_of(other), threshold) for other in earlier) or any(
        _may_equal(beginning, words_of(other)) for other in exact
    )


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


def _may_repeat(beginning: Beginning, other: Words, threshold: float) -> bool:
    words = beginning.words
    if not other.content:
        return _may_equal(beginning, other)
    if words.numbers != other.numbers[: len(words.numbers)]:
        return False
    if words.negations != other.negations[: len(words.negations)]:
        return False
    added = _added_at_least(words.content, beginning.partial, other.content)
    # The best continuation is the rest of the other sentence; anything else adds more to the distance.
    weight = 2 * len(other.content) + added + _LIGHT_WORD * 2 * len(other.light)
    if 1.0 - _ADDED_WORD * added / weight < threshold:
        return False
    light = sum((Counter(words.light) - Counter(other.light)).values()) if words.light else 0
    distance = _ADDED_WORD * added + _LIGHT_WORD * light
    return 1.0 - distance / (weight + _LIGHT_WORD * light) >= threshold


def _added_at_least(content: Sequence[str], partial: str, other: Sequence[str]) -> float:
    """Return how many content words one of the two will have more, at the least."""
    grows = bool(partial) and not may_be_light(partial)

    # Either this sentence has words that the other has not ...
    matched = 0
    for stem in content:
        matched += matched < len(other) and other[matched] == stem
    follows = matched < len(other) and (not grows or may_grow_into(partial, other[matched]))
    more = len(content) - matched + (grows and not follows)

    # ... or it leaves out some of the other's.
    at = 0
    try:
        for stem in content:
            at = other.index(stem, at) + 1
        if grows:
            at = next(i for i in range(at, len(other)) if may_grow_into(partial, other[i])) + 1
    except (ValueError, StopIteration):
        return more
    return min(more, at - len(content) - grows)


def _may_equal(beginning: Beginning, other: Words) -> bool:
    stems, partial = beginning.words.stems, beginning.partial
    if stems != other.stems[: len(stems)]:
        return False
    if not partial:
        return True
    following = other.stems[len(stems) : len(stems) + 1]
    return may_be_light(partial) or any(may_grow_into(partial, stem) for stem in following)
