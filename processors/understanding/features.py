"""What a question is made of, as numbers: the features of the model that says whether it needs to be clarified.

Three families, each counted once per question: the *frame* (runs of one to four closed-class words, with every
other word replaced by its kind), the *words* by themselves, and a few *measures*.  Runs and words are hashed
(the hashing trick, Weinberger et al. 2009), so that the weights name no word and hold no question.
"""

from __future__ import annotations

import math
import re
import zlib
from collections.abc import Iterator

from processors.text.stemming import stem_of
from processors.understanding.word_kinds import kind_of

#: Places for the hashed runs.
PLACES = 1 << 13
_LONGEST_RUN = 4
#: Places for the hashed words, and how many words are looked at.
WORD_PLACES = 1 << 13
_MOST_WORDS = 60

#: Characters of a question that are looked at: what it asks stands at its beginning.
_LONGEST = 4_000

_TOKEN = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)*|\d+|[^\w\s]")
_CLOSED_LINES = """
    a an the of in on at to for from by with about into over after before between during without within who
    whom whose which what when where why how is are was were be been being am do does did done has have had
    having can could will would shall should may might must i me my mine you your yours he him his she her
    hers it its we us our they them their this that these those not no nor and or but if because so than
    then as while until since there here some any all each every both either neither one two three first
    last next new old most more many much few less least best other another same such own only just also too
    very please give tell list name write help make find explain describe get come out go said say
"""
_CLOSED = frozenset(_CLOSED_LINES.split())

MEASURES = (
    "length",
    "under 6 words",
    "over 20 words",
    "over 60 words",
    "share of names",
    "has a name",
    "has quotation marks",
    "has several lines",
    "ends with ?",
    "ends with .",
    "years",
    "has a digit",
    "commas",
    "question marks",
    "letters per word",
    "has a long word",
    "begins in lower case",
)


def tokens(question: str) -> list[str]:
    """Return words, numbers and single marks, in order."""
    return _TOKEN.findall(question[:_LONGEST])


def frame(found: list[str]) -> list[str]:
    """Return ``found`` with every open-class word replaced by its kind."""
    return ["^", *(_kind(token, first=not n) for n, token in enumerate(found)), "$"]


def _kind(token: str, *, first: bool) -> str:
    lower = token.lower()
    if lower in _CLOSED:
        return lower
    if token.isdigit():
        return "<number>"
    if not token[0].isalpha():
        return token
    if token[0].isupper() and not first:
        return "<name>"
    return f"<{kind_of(lower) or 'word'}>"


def places(question: str) -> list[int]:
    """Return the places, in 0..PLACES-1, of the runs in the question's frame, sorted and each once."""
    parts = frame(tokens(question))
    return sorted(set(_hashed(parts)))


def word_places(question: str) -> list[int]:
    """Return the places, in 0..WORD_PLACES-1, of the question's words, sorted and each once."""
    found = ("0" if word.isdigit() else stem_of(word.lower()) for word in tokens(question)[:_MOST_WORDS])
    return sorted({_place(word, WORD_PLACES) for word in found})


def _hashed(parts: list[str]) -> Iterator[int]:
    for length in range(1, _LONGEST_RUN + 1):
        for begin in range(len(parts) - length + 1):
            run = " ".join(parts[begin : begin + length])
            yield _place(run, PLACES)


def _place(text: str, among: int) -> int:
    return zlib.crc32(text.encode("utf-8", "surrogatepass")) % among


def measures(question: str) -> list[float]:
    """Return one number per entry of :data:`MEASURES`."""
    found, text = tokens(question), question[:_LONGEST].strip()
    words = [token for token in found if token[0].isalpha()]
    names = [word for word in words[1:] if word[0].isupper()]
    numbers = [token for token in found if token.isdigit()]
    count = len(words)
    return [
        math.log1p(count),
        float(count < 6),
        float(count > 20),
        float(count > 60),
        len(names) / max(count, 1),
        float(bool(names)),
        float('"' in text),
        float("\n" in text),
        float(text.endswith("?")),
        float(text.endswith(".")),
        float(sum(len(number) == 4 for number in numbers)),
        float(bool(numbers)),
        float(text.count(",")),
        float(text.count("?")),
        sum(map(len, words)) / max(count, 1),
        float(max(map(len, words), default=0) > 11),
        float(bool(words) and words[0][0].islower()),
    ]
