"""What was said before, and where a response runs along it.

The history is a list of elements in the order in which a reader saw them.  A *run* is a set of places in it:
the element that was read last repeats the one at each of them, so the next one goes on with the run if it
repeats one of those that follow.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache

import msgspec

from processors.responses.canonical import Beginning, canonical, count_words
from processors.responses.lines import Kind, line_kind
from processors.responses.sentences import read_sentence

_BOX = re.compile(r"\[[ xX]\][ \t]+")
#: Up to four words and a colon ("Name: ...", "**Total:** 12").
_LABEL = re.compile(r"(?=[^.:!?\n]{1,61}:)[*_]{0,2}[^\s:]+(?:[ \t]+[^\s:]+){0,3}[ \t]*:[*_]{0,2}(?=\s)")
#: A shorter sentence is no repetition by itself.
_LEAST_WORDS = 5
_QUOTED = tuple("\"“„«‘'「『")
_CORRECTION = re.compile(
    r"\b(?:(?:instead of|rather than) .{1,80}\b(?:write|say|put)\b"
    r"|(?:write|say|put)\b.{1,80}\b(?:instead of|rather than)\b"
    r"|correct(?:ed|ion)\b|fixed:|should (?:read|say)\b|change .{1,60} to\b)",
    re.IGNORECASE,
)
_STOP = re.compile(r"[.!?…。！？｡؟۔।॥][\"'”’)\]」』*_~]*\Z")

#: A line of verse or dialogue is shorter than this (characters), and another one follows.
_SHORT_LINE = 60
_NEXT_LINE = re.compile(r"[^\S\n]*\n[^\W\d_]")

#: The level of a bold line that serves as a heading: below all others.
BOLD_LEVEL = 7

#: Elements that are remembered.  Bounds the state: 800 of 60 bytes are 48 KB.
MEMORY = 800


class Said(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """An element that a reader has seen.  ``first``: it begins a block.  Empty text stands for one that repeats
    nothing and that nothing repeats.
    """

    text: str
    kind: int = Kind.SENTENCE
    first: bool = False


#: Stands between two responses in what a conversation has said.
START = Said("", Kind.SPACE, True)


def before_response(said: tuple[Said, ...]) -> tuple[Said, ...]:
    """Return what a new response goes on from, if ``said`` was said before it."""
    return (*said, START) if said else ()


def of_response(said: tuple[Said, ...]) -> tuple[Said, ...]:
    """Return what a response itself has said, of all that it knows."""
    at = next((at for at in reversed(range(len(said))) if said[at] == START), -1)
    return said[at + 1 :]


def level_of(kind: int, text: str) -> int:
    """Return the level of a heading: 1 is the highest, a bold line the lowest.  0: it is none."""
    return len(text) - len(text.lstrip("#")) or BOLD_LEVEL if kind == Kind.HEADING else 0


def introduces(text: str) -> bool:
    """Say whether what follows ``text`` belongs to it."""
    return text.rstrip(" \t*_").endswith((":", "："))


def announces(said: Said) -> int:
    """Return how an element stands to the next: as its heading, as a line that introduces it, or as nothing."""
    if said.kind == Kind.HEADING:
        return Kind.HEADING
    return Kind.LINE if introduces(said.text) else Kind.SPACE


def stops(text: str) -> bool:
    """Say whether ``text`` ends with a stop."""
    return _STOP.search(text) is not None


def is_quoted(text: str) -> bool:
    """Say whether ``text`` begins with what somebody else said."""
    return text.startswith(_QUOTED)


def is_plain(text: str) -> bool:
    """Say whether a sentence says what it says in its own words: no quotation, label, row or correction."""
    if is_quoted(text.lstrip("*_")) or not stops(text) or " | " in text:
        return False
    return _LABEL.match(text) is None and _CORRECTION.search(text) is None


def may_stand_alone(text: str) -> bool:
    """Say whether a sentence is a repetition by itself."""
    return is_plain(text) and says_enough(text)


def says_enough(text: str) -> bool:
    """Say whether prose is long enough to be a repetition: less may be said again on purpose ("Thank you.")."""
    return count_words(canonical(text)) >= _LEAST_WORDS


def stands_in_verse(text: str, at: int, end: int) -> bool:
    """Say whether the line that ends at ``end`` is short and another one follows in its paragraph."""
    return end - at < _SHORT_LINE and _NEXT_LINE.match(text, end) is not None


def section_of(said: Sequence[Said]) -> tuple[int, int]:
    """Return where the heading stands under which the next element stands, and its level; -1 and 0 if none."""
    for at in range(len(said) - 1, -1, -1):
        if said[at].kind == Kind.HEADING:
            return at, level_of(said[at].kind, said[at].text)
    return -1, 0


@lru_cache(maxsize=8192)
def key(kind: int, text: str) -> str:
    """Return what all elements share that repeat each other: prose its words, all else every character."""
    if kind == Kind.SENTENCE:
        return canonical(text)
    return text.rstrip() if kind == Kind.CODE else " ".join(text.split())


@lru_cache(maxsize=4096)
def sentences_of(kind: int, text: str) -> tuple[str, ...]:
    """Return the canonical sentences that an element says: itself, or those of a list item's text."""
    if kind in (Kind.SENTENCE, Kind.LINE):
        return (canonical(text),)
    if kind != Kind.ITEM:
        return ()
    _, at = line_kind(text, 0, final=True)
    for mark in (_BOX, _LABEL):  # no sentence with a label is a repetition by itself
        if found := mark.match(text, at):
            at = found.end()
    sentences = list[str]()
    while at < len(text) and not is_quoted(text[at:].lstrip()):
        end, _ = read_sentence(text, at, final=True)
        sentences.append(canonical(text[at:end].strip()))
        at = max(end, at + 1)
    return tuple(dict.fromkeys(filter(None, sentences)))


class Whole:
    """A settled element that is looked for in the history."""

    def __init__(self, said: Said) -> None:
        self.kinds = (said.kind,)
        self._words = key(said.kind, said.text)

    def is_in(self, said: Said) -> bool:
        """Say whether ``said`` is the same."""
        return bool(said.text) and key(said.kind, said.text) == self._words

    def is_among(self, sentences: Iterable[str]) -> bool:
        """Say whether it is one of these canonical sentences."""
        return self._words in sentences


class Begun:
    """The beginning of an element that may become one of ``kinds``: it is whatever may become of it."""

    def __init__(self, text: str, kinds: tuple[int, ...]) -> None:
        self.kinds = kinds
        self._text, self._beginning = text, Beginning(text)

    def is_in(self, said: Said) -> bool:
        """Say whether it may become ``said``."""
        if not said.text:
            return False
        words = key(said.kind, said.text)
        if said.kind == Kind.SENTENCE:
            return self._beginning.may_become(words)
        return words.startswith(key(said.kind, self._text))

    def is_among(self, sentences: Iterable[str]) -> bool:
        """Say whether it may become one of these canonical sentences."""
        beginning = self._beginning
        return any(each.startswith(beginning.initial) and beginning.may_become(each) for each in sentences)


Sought = Whole | Begun


def going_on(run: Iterable[int], said: Sequence[Said], sought: Sought) -> Iterator[int]:
    """Return where the run goes on if ``sought`` follows."""
    for at in run:
        if at + 1 < len(said) and said[at + 1].kind in sought.kinds and sought.is_in(said[at + 1]):
            yield at + 1


def beginning(said: Sequence[Said], sought: Sought) -> Iterator[int]:
    """Return where ``sought`` begins a block, or introduces one."""
    for at, each in enumerate(said):
        if each.kind in sought.kinds and (each.first or introduces(each.text)) and sought.is_in(each):
            yield at


class Beginnings:
    """As :func:`beginning`, of settled elements, many of which are looked for in one step: each is found
    without a look at all that was said.
    """

    def __init__(self) -> None:
        self._places: defaultdict[tuple[int, str], list[int]] = defaultdict(list)
        self._read = 0

    def of(self, said: Sequence[Said], gone: int, element: Said) -> list[int]:
        """Return where ``element`` begins a block of ``said``, or introduces one; ``gone`` elements that stood
        before those were forgotten since the first call.
        """
        for at in range(max(0, self._read - gone), len(said)):
            each = said[at]
            if each.text and (each.first or introduces(each.text)):
                self._places[each.kind, key(each.kind, each.text)].append(at + gone)
        self._read = gone + len(said)
        places = self._places[element.kind, key(element.kind, element.text)]
        return [at - gone for at in places[bisect_left(places, gone) :]]


def saying(said: Sequence[Said], sought: Sought) -> Iterator[int]:
    """Return where ``sought`` was said as a sentence, last place first."""
    for at in range(len(said) - 1, -1, -1):
        if sought.is_among(sentences_of(said[at].kind, said[at].text)):
            yield at
