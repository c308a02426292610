"""What was said before, and where a response runs along it.

The history is a list of elements in the order in which a reader saw them.  A *run* is a set of places in it:
the element that was read last repeats the one at each of them, so the next one goes on with the run if it
repeats one of those that follow.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import lru_cache

import msgspec

from processors.responses.canonical import Beginning, canonical, count_words
from processors.responses.lines import Kind, line_kind
from processors.responses.sentences import read_sentence

_PROSE = (Kind.SENTENCE, Kind.LINE)
_BOX = re.compile(r"\[[ xX]\][ \t]+")
_LABEL = re.compile(r"(?:[*_]{1,2})?[^\s.:!?][^.:!?\n]{0,60}?:(?:[*_]{1,2})?(?=\s)")
_LABEL_WORDS = 4
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

_NEXT_LINE = re.compile(r"[^\S\n]*\n[^\W\d_]")

#: A line of verse or dialogue is shorter than this (characters); a longer one is wrapped prose.
_SHORT_LINE = 60


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


@lru_cache(maxsize=8192)
def key(kind: int, text: str) -> str:
    """Return what all elements share that repeat each other: prose its words, all else every character."""
    if kind == Kind.SENTENCE:
        return canonical(text)
    return text.rstrip() if kind == Kind.CODE else " ".join(text.split())


def may_stand_alone(text: str) -> bool:
    """Say whether a sentence is a repetition by itself: it says enough, in words of its own."""
    if is_quoted(text.lstrip("*_")) or not stops(text) or is_label(text):
        return False
    return _CORRECTION.search(text) is None and count_words(canonical(text)) >= _LEAST_WORDS


def is_label(text: str) -> bool:
    """Say whether ``text`` begins with a label ("Name: ...", "**Total:** 12")."""
    label = _LABEL.match(text)
    return label is not None and len(label[0].split()) <= _LABEL_WORDS


def introduces(text: str) -> bool:
    """Say whether what follows ``text`` belongs to it."""
    return text.rstrip(" \t*_").endswith((":", "："))


def section_level(said: Sequence[Said]) -> int:
    """Return the level of the heading under which the next element stands; 0 if there is none."""
    for each in reversed(said):
        if each.kind == Kind.HEADING and each.text.startswith("#"):
            return len(each.text) - len(each.text.lstrip("#"))
    return 0


def stops(text: str) -> bool:
    """Say whether ``text`` ends with a stop."""
    return _STOP.search(text) is not None


def is_quoted(text: str) -> bool:
    """Say whether ``text`` begins with what somebody else said."""
    return text.startswith(_QUOTED)


def after(said: Said) -> int:
    """Return how an element stands to the next: as its heading, as a line that introduces it, or as nothing."""
    if said.kind == Kind.HEADING:
        return Kind.HEADING
    return Kind.LINE if introduces(said.text) else Kind.SPACE


def stands_in_verse(text: str, at: int, end: int) -> bool:
    """Say whether the line that ends at ``end`` is short and another one follows in its paragraph."""
    return end - at < _SHORT_LINE and _NEXT_LINE.match(text, end) is not None


@lru_cache(maxsize=4096)
def sentences_of(kind: int, text: str) -> tuple[str, ...]:
    """Return the canonical sentences that an element says: itself, or those of a list item's text."""
    if kind in _PROSE:
        return (canonical(text),)
    if kind != Kind.ITEM:
        return ()
    _, at = line_kind(text, 0, final=True)
    at = box.end() if (box := _BOX.match(text, at)) else at
    # No sentence with a label is a repetition by itself.
    label = _LABEL.match(text, at) if is_label(text[at:]) else None
    start, found = label.end() if label else at, list[str]()
    while start < len(text) and not is_quoted(text[start:].lstrip()):
        end = read_sentence(text, start, final=True).end
        found.append(canonical(text[start:end].strip()))
        start = max(end, start + 1)
    return tuple(dict.fromkeys(filter(None, found)))


class Sought:
    """What is looked for in the history: an element of a ``kind``, or whatever may become of a beginning."""

    def __init__(self, text: str, kind: int | None = None) -> None:
        self._text, self._kind = text, kind
        self._words = "" if kind is None else key(kind, text)
        self._beginning = Beginning(text) if kind is None else None

    def is_in(self, said: Said) -> bool:
        """Say whether ``said`` is it."""
        if not said.text:
            return False
        words = key(said.kind, said.text)
        if self._beginning is None:
            return said.kind == self._kind and words == self._words
        if said.kind == Kind.SENTENCE:
            return self._beginning.may_become(words)
        return words.startswith(key(said.kind, self._text))

    def is_among(self, sentences: Collection[str]) -> bool:
        """Say whether it is one of these canonical sentences."""
        beginning = self._beginning
        if beginning is None:
            return self._words in sentences
        return any(each.startswith(beginning.initial) and beginning.may_become(each) for each in sentences)


class History:
    """What was said, and how the next element may go on with it."""

    def __init__(self, said: Sequence[Said]) -> None:
        self._said = said

    def beginning(self, sought: Sought, kinds: Collection[int]) -> Iterator[int]:
        """Return where it begins a block, or introduces one."""
        for at, said in enumerate(self._said):
            if said.kind in kinds and (said.first or introduces(said.text)) and sought.is_in(said):
                yield at

    def going_on(self, sought: Sought, kinds: Collection[int], run: Iterable[int]) -> Iterator[int]:
        """Return where the run goes on if it follows."""
        for at in run:
            if (
                at + 1 < len(self._said)
                and self._said[at + 1].kind in kinds
                and sought.is_in(self._said[at + 1])
            ):
                yield at + 1

    def saying(self, sought: Sought) -> Iterator[int]:
        """Return where it was said as a sentence, last place first."""
        for at in range(len(self._said) - 1, -1, -1):
            if sought.is_among(sentences_of(self._said[at].kind, self._said[at].text)):
                yield at

    def ends_block(self, run: Iterable[int]) -> bool:
        """Say whether a block ends at one of the places of a run."""
        return any(at + 1 == len(self._said) or self._said[at + 1].first for at in run)

    def ends_section(self, run: Iterable[int]) -> bool:
        """Say whether a section, or a response, ends at one of the places of a run."""
        return any(
            at + 1 == len(self._said) or self._said[at + 1].kind in (Kind.HEADING, Kind.SPACE) for at in run
        )

    def starts_response(self, run: Iterable[int], length: int) -> bool:
        """Say whether one of the passages of so many elements that end at a run's places begins a response."""
        for first in (at - length + 1 for at in run):
            if self._said[first - 1] == START if first > 0 else first == 0 and len(self._said) < MEMORY:
                return True
        return False

    def in_same_section(self, run: Iterable[int]) -> bool:
        """Say whether what is said next stands under the heading under which it stood at a run's places."""
        headings = (at for at in reversed(range(len(self._said))) if self._said[at].kind == Kind.HEADING)
        section = next(headings, -1)
        return any(at >= section for at in run)
