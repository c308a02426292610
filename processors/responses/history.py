"""History of what was said, and the position of a response along it.

The history is a list of elements in the order in which a reader saw them.  A *run* is a set of places in it:
the element that was read last repeats the one at each of them, so the next one goes on with the run if it
repeats one of those that follow.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Iterable
from functools import cached_property, lru_cache

import msgspec

from processors.responses.canonical import Beginning, canonical, count_words
from processors.responses.lines import Kind, line_kind
from processors.responses.sentences import read_sentence

_BOX = re.compile(r"\[[ xX]\][ \t]+")
#: Up to four words and a colon ("Name: ...", "**Total:** 12").
_LABEL = re.compile(r"(?=[^.:!?\n]{1,61}:)[*_]{0,2}[^\s:]+(?:[ \t]+[^\s:]+){0,3}[ \t]*:[*_]{0,2}(?=\s)")
_QUOTED = tuple("\"“„«‘'「『")
_CORRECTION = re.compile(
    r"\b(?:(?:instead of|rather than) .{1,80}\b(?:write|say|put)\b"
    r"|(?:write|say|put)\b.{1,80}\b(?:instead of|rather than)\b"
    r"|correct(?:ed|ion)\b|fixed:|should (?:read|say)\b|change .{1,60} to\b)",
    re.IGNORECASE,
)
_STOP = re.compile(r"[.!?…。！？｡؟۔।॥][\"'”’)\]」』*_~]*\Z")

#: The level of a bold line that serves as a heading: below all others.
BOLD_LEVEL = 7

#: Elements that are remembered.  Bounds the state: 800 of 60 bytes are 48 KB.
MEMORY = 800


class SeenElement(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """An element that a reader has seen.  ``first``: it begins a block.  Empty text stands for one that repeats
    nothing and that nothing repeats.
    """

    text: str
    kind: int = Kind.SENTENCE
    first: bool = False

    @property
    def level(self) -> int:
        """The level of a heading: 1 is the highest, a bold line the lowest.  0: it is none."""
        if self.kind != Kind.HEADING:
            return 0
        return len(self.text) - len(self.text.lstrip("#")) or BOLD_LEVEL

    @property
    def introduces(self) -> bool:
        """True if the next element belongs to this one."""
        return self.text.rstrip(" \t*_").endswith((":", "："))

    @property
    def announces(self) -> int:
        """How it stands to the next: as its heading, as a line that introduces it, or as nothing."""
        if self.kind == Kind.HEADING:
            return Kind.HEADING
        return Kind.LINE if self.introduces else Kind.SPACE

    @property
    def stops(self) -> bool:
        """True if the element ends with a full stop."""
        return _STOP.search(self.text) is not None

    @property
    def is_quoted(self) -> bool:
        """True if the element begins with a quotation."""
        return self.text.startswith(_QUOTED)

    @property
    def is_plain(self) -> bool:
        """True if the element is plain prose: no quotation, label, row or correction."""
        if self.text.lstrip("*_").startswith(_QUOTED) or not self.stops or " | " in self.text:
            return False
        return _LABEL.match(self.text) is None and _CORRECTION.search(self.text) is None

    def same(self, other: SeenElement) -> bool:
        """Say whether it says the same as ``other``, and is of its kind."""
        return self.kind == other.kind and key(self.kind, self.text) == key(other.kind, other.text)


#: Stands between two responses in what a conversation has said.
START = SeenElement("", Kind.SPACE, True)


def before_response(said: tuple[SeenElement, ...]) -> tuple[SeenElement, ...]:
    """Return the history before a new response, if ``said`` was said before it."""
    return (*said, START) if said else ()


def of_response(said: tuple[SeenElement, ...]) -> tuple[SeenElement, ...]:
    """Return the elements of the response itself."""
    at = next((at for at in reversed(range(len(said))) if said[at] == START), -1)
    return said[at + 1 :]


def says_enough(prose: str) -> bool:
    """Say whether prose is long enough to be a repetition: less may be said again on purpose ("Thank you.")."""
    return count_words(canonical(prose)) >= 5


@lru_cache(maxsize=8192)
def key(kind: int, text: str) -> str:
    """Return the key that repeated elements share: prose its words, all else every character."""
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
    while at < len(text) and not text[at:].lstrip().startswith(_QUOTED):
        end, _ = read_sentence(text, at, final=True)
        sentences.append(canonical(text[at:end].strip()))
        at = max(end, at + 1)
    return tuple(dict.fromkeys(filter(None, sentences)))


class Begun:
    """The beginning of an element that may become one of ``kinds``, and whatever may become of it."""

    def __init__(self, text: str, kinds: tuple[int, ...]) -> None:
        self._text, self._kinds, self._beginning = text, kinds, Beginning(text)

    def may_become(self, said: SeenElement) -> bool:
        """Say whether it may become the same as ``said``."""
        if not said.text or said.kind not in self._kinds:
            return False
        words = key(said.kind, said.text)
        if said.kind == Kind.SENTENCE:
            return self._beginning.may_become(words)
        return words.startswith(key(said.kind, self._text))

    def may_repeat(self, said: SeenElement) -> bool:
        """Say whether it may become a sentence that ``said`` says, or begin a passage as ``said`` does."""
        if Kind.SENTENCE in self._kinds:
            for sentence in sentences_of(
                said.kind, said.text
            ):  # of all that was said: most are told in passing
                if sentence.startswith(self._beginning.initial) and self._beginning.may_become(sentence):
                    return True
        return said.kind in self._kinds and (said.first or said.introduces) and self.may_become(said)


class History(list[SeenElement]):
    """History, oldest first; from place ``start`` on it is remembered."""

    _indexed = 0

    @cached_property
    def _places(self) -> defaultdict[object, list[int]]:
        return defaultdict(list)

    @property
    def start(self) -> int:
        """The place of the oldest that is remembered: what a step adds moves no places."""
        return max(0, len(self) - MEMORY)

    def add(self, said: SeenElement) -> None:
        """A reader sees ``said``."""
        sentences_of(said.kind, said.text)  # read now, one at a time: later all would be read at once
        self.append(said)

    def going_on(self, run: Iterable[int], fits: Callable[[SeenElement], bool]) -> tuple[int, ...]:
        """Return where the run goes on, if it does with what ``fits``."""
        return tuple([at + 1 for at in run if at + 1 < len(self) and fits(self[at + 1])])

    def saying(self, sentence: str) -> tuple[int, ...]:
        """Return where a sentence was said."""
        return self._found(canonical(sentence))

    def beginning(self, said: SeenElement) -> tuple[int, ...]:
        """Return where the same as ``said`` begins a block, or introduces one."""
        return self._found((said.kind, key(said.kind, said.text)))

    def section(self) -> tuple[int, int]:
        """Return where the last heading stands, and its level; -1 and 0 if there is none."""
        for at in range(len(self) - 1, self.start - 1, -1):
            if level := self[at].level:
                return at, level
        return -1, 0

    def _found(self, what: object) -> tuple[int, ...]:
        """Return where it was said, without a look at all that was."""
        for at in range(max(self._indexed, self.start), len(self)):
            each = self[at]
            for sentence in sentences_of(each.kind, each.text):
                self._places[sentence].append(at)
            if each.text and (each.first or each.introduces):
                self._places[each.kind, key(each.kind, each.text)].append(at)
        self._indexed = len(self)
        places = self._places[what]
        return tuple(places[bisect_left(places, self.start) :])
