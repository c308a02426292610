"""Similarity of sentences: symmetric; a duplicate if and only if score >= threshold (requirement 4).

The same content words in the same order score 1, and less for each light word that differs and each content
word that one of the two has and the other has not: .85 allows about one content word in ten.  A sentence with
another number, negation, name or any other content word in the place of one is not a repetition and scores 0,
however alike the characters are: "Room 12 is free" does not repeat "Room 13 is free".

The ratio of ``difflib`` depends on the order of its arguments and takes 0.5 ms per pair; here the
distances are rapidfuzz's Indel distance over words.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from functools import lru_cache

import msgspec
from rapidfuzz.distance import Indel

from processors.responses.canonical import canonical
from processors.text.stemming import stem_of

#: A content word more says something more: it weighs as much as this many content words.
_ADDED_WORD = 3.0
_LIGHT_WORD = 0.25

_LIGHT = """
    a an the this that these those is are was were be been being am do does did has have had of to at
    as it its s there here and also really very just even quite indeed actually then please well so too such
"""
_FIXED_WORD = """
    not no never without none nobody nothing neither nor cannot hardly minus
    two three four five six seven eight nine ten eleven twelve twenty thirty forty fifty hundred thousand
    million billion half twice first second third
"""

#: Words that may come, go or change without the sentence saying anything else.  Whatever can turn a meaning
#: (on/off, to/from, can/must, my/your) is left out on purpose: those count like any other word.
LIGHT = frozenset(_LIGHT.split())
#: Negations and numbers.
_FIXED = frozenset(_FIXED_WORD.split())

#: Joiners, direction marks and variation selectors are not seen, so they part no words.
_UNSEEN = re.compile("[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufe00-\ufe0f\ufeff]")
#: NFKC makes "102" of "10²".
_RAISED = re.compile("[\u00b2\u00b3\u00b9\u2070-\u207e]")
_SIGN = re.compile(r"(?<!\S)[-−](?=\d)")
_QUESTION = re.compile("[?؟]")
_LITERAL = re.compile(r"`+[^`\n]+`+|https?://[^\s<>\"]*[^\s<>\".,;:!?)*_]")


class Match(msgspec.Struct, frozen=True):
    """The earlier sentence that a new one repeats, and how similar they are."""

    sentence: str
    score: float


def similarity(first: str, second: str) -> float:
    """Return how far one sentence repeats the other: 0 to 1, the same in both directions."""
    return _score(words_of(first), words_of(second))


def find_duplicate(sentence: str, earlier: Iterable[str], threshold: float) -> Match | None:
    """Return the earlier sentence most similar to ``sentence``, if that is at least ``threshold``.

    Of equally similar ones, the last.
    """
    words = words_of(sentence)
    best: Match | None = None
    for other in earlier:
        score = _score(words, words_of(other))
        if score >= threshold and (best is None or score >= best.score):
            best = Match(other, score)
    return best


def _score(a: Words, b: Words) -> float:
    if a.fixed != b.fixed or bool(a.content) != bool(b.content):
        return 0.0
    if not a.content:
        return float(a.light == b.light != ())
    added = abs(len(a.content) - len(b.content))
    # One contains the other, in order, exactly if nothing but the difference in length has to be edited.
    if Indel.distance(a.content, b.content) != added:
        return 0.0
    weight = len(a.content) + len(b.content) + _LIGHT_WORD * (len(a.light) + len(b.light))
    return max(0.0, 1.0 - (_ADDED_WORD * added + _LIGHT_WORD * Indel.distance(a.light, b.light)) / weight)


class Words(msgspec.Struct, frozen=True, gc=False):
    """Words of a sentence, each kind in the order of the sentence.

    ``content``: the stems of the words that carry the meaning; ``light``: the other words.  ``fixed``: what
    must be the same: numbers, negations, code spans and addresses as written, and that it is a question.
    """

    content: tuple[str, ...]
    light: tuple[str, ...]
    fixed: tuple[str, ...]


@lru_cache(maxsize=8192)
def words_of(sentence: str) -> Words:
    """Return the words of a whole sentence; punctuation is none, but a symbol is one."""
    text = sentence
    if not text.isascii():
        text = unicodedata.normalize("NFKC", _RAISED.sub(r" ^ \g<0> ", _UNSEEN.sub("", text)))
    plain = canonical(_SIGN.sub("minus ", text).replace("&", " and ")).casefold()
    words = [word for word in plain.replace("'s", " s").split() if word.isalnum() or not _is_punctuation(word)]
    fixed = [word for word in words if word[0].isdigit() or word in _FIXED]
    return Words(
        content=tuple(stem_of(word) for word in words if word not in LIGHT),
        light=tuple(word for word in words if word in LIGHT),
        fixed=(*fixed, *_LITERAL.findall(sentence), *_QUESTION.findall(plain)[:1]),
    )


def _is_punctuation(word: str) -> bool:
    return len(word) == 1 and word not in "%#@" and unicodedata.category(word)[0] == "P"
