"""The words of a sentence, as far as they matter for telling whether another one repeats it.

This is the measure of :func:`processors.responses.duplicates.similarity`; what is taken out of a response is
decided on its exact words (:mod:`.canonical`).
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

import msgspec

from processors.text.stemming import stem_of

_LIGHT = """
    a an the this that these those is are was were be been being am 're 'm do does did has have had 've of to at
    as it its 's there here and also really very just even quite indeed actually then please well so too such
"""
_NEGATION = "not no never without none nobody nothing neither nor cannot hardly"
_NUMBER = """
    two three four five six seven eight nine ten eleven twelve twenty thirty forty fifty hundred thousand
    million billion half twice first second third
"""

#: Words that may come, go or change without the sentence saying anything else.  Whatever can turn a meaning
#: (on/off, to/from, can/must, my/your) is left out on purpose: those count like any other word.
LIGHT = frozenset(_LIGHT.split())
_NEGATIONS = frozenset(_NEGATION.split())
_NUMBER_WORDS = frozenset(_NUMBER.split())

_CONTRACTION = re.compile(r"n't\b|'(?:s|m|re|ve|ll|d)\b")
_CONTRACTED = {"n't": " not", "'ll": " will", "'d": " "}
_WORD = re.compile(r"(?<!\S)-\d+(?:[.,:]\d+)*|\d+(?:[.,:]\d+)*|'(?:s|m|re|ve)(?!\S)|[^\s\d.,:'\-]+")
_LITERAL = re.compile(r"`+[^`\n]+`+|https?://[^\s<>\"]*[^\s<>\".,;:!?)*_]")
_QUESTION = re.compile(r"[?？؟][\"'”’)\]」』*_]*\s*\Z")

#: Scripts that put no space between words: each character is a word.
_UNSPACED = (
    (0x0E00, 0x0EFF),  # Thai, Lao
    (0x1000, 0x109F),  # Myanmar
    (0x1780, 0x17FF),  # Khmer
    (0x3040, 0x30FF),  # kana
    (0x31F0, 0x31FF),
    (0x3400, 0x9FFF),  # ideographs
    (0xF900, 0xFAFF),
    (0x20000, 0x3FFFF),
)


class _Folding(dict[int, str]):
    """For :meth:`str.translate`: what each character becomes, worked out when it is first met."""

    def __missing__(self, code: int) -> str:
        folded = self[code] = _fold(chr(code))
        return folded


def _fold(character: str) -> str:
    """Lower case without compatibility forms; punctuation becomes a space, a symbol a word of its own."""
    if character in "'’ʼ＇":
        return "'"
    if character in ".,:-":
        return character
    if character in "−‐‑":
        return "-"
    if character == "&":
        return " and "
    category = unicodedata.category(character)
    if category == "Nd":
        return str(unicodedata.digit(character))
    if any(first <= ord(character) <= last for first, last in _UNSPACED):
        return f" {character} " if category[0] in "LM" else " "
    if category[0] == "L" or (category[0] == "M" and not 0xFE00 <= ord(character) <= 0xFE0F):
        # Forms that decompose into several words ("㎏") or marks would not stay where they are.
        decomposed = unicodedata.normalize("NFKD", character).casefold()
        return decomposed if not any(part.isspace() for part in decomposed) else f" {character} "
    if (category[0] == "S" and character not in "^`~|") or category[0] == "N" or character in "%#@":
        return f" {character} "
    # Joiners, direction marks and variation selectors are not seen, so they part no words.
    return "" if category in ("Cf", "Mn") else " "


_FOLDING = _Folding()


class Words(msgspec.Struct, frozen=True, gc=False):
    """What a sentence is made of, each in the order of the sentence.

    ``stems`` are all words without their inflection; ``content`` the stems of those that carry the meaning,
    ``light`` the other words.  ``literals`` are code spans and addresses as written.
    """

    stems: tuple[str, ...]
    content: tuple[str, ...]
    light: tuple[str, ...]
    numbers: tuple[str, ...]
    negations: tuple[str, ...]
    literals: tuple[str, ...]
    question: bool


@lru_cache(maxsize=8192)
def words_of(sentence: str) -> Words:
    """Return the words of a whole sentence."""
    return _words(_split(_folded(sentence)), sentence)


def _folded(text: str) -> str:
    return text.translate(_FOLDING)


def _split(folded: str) -> list[str]:
    if "'" in folded:
        folded = _CONTRACTION.sub(lambda found: _CONTRACTED.get(found[0], f" {found[0]}"), folded)
    return _WORD.findall(folded)


def _words(found: list[str], sentence: str) -> Words:
    stems = tuple(map(stem_of, found))
    content = tuple(stem for word, stem in zip(found, stems, strict=True) if word not in LIGHT)
    return Words(
        stems=stems,
        content=content,
        light=tuple(word for word in found if word in LIGHT),
        numbers=tuple(word for word in found if word[-1].isdigit() or word in _NUMBER_WORDS),
        negations=tuple(word for word in found if word in _NEGATIONS),
        literals=tuple(_LITERAL.findall(sentence)),
        question=_QUESTION.search(sentence) is not None,
    )
