"""What a response's text is made of: lines of structure and code, white space, and sentences.

:func:`read_unit` reads the next unit from a text that may still grow.  A unit is *settled* when nothing that
may follow can change where it ends; units are settled one after the other.  So they never depend on how the
text was cut into chunks.
"""

from __future__ import annotations

import re
import unicodedata
from enum import Enum, auto

import msgspec

from processors.responses.lines import LineKind, line_end, line_kind
from processors.responses.sentences import LONGEST_SENTENCE, read_sentence

_TAB = 4
_CODE_INDENT = 4
_MARKS_MOST = 9  # "> - 1. " and so on; a line with more of them passes as it is
_ADDRESS = re.compile(r"https?://\S+|\]\([^)\s]*\)|<[^>\s]*>")
_EDGES = " \t\r\n\"'“”‘’«»「」『』()[]（）*_~`.,:;!?…。！？-–—"
_BOLD_LINE = re.compile(r"(\*\*|__)[^.!?。！？\n]*\1:?")


class Kind(Enum):
    """What a unit is."""

    SPACE = auto()  # white space, and nothing yet that follows it
    UNDECIDED = auto()  # a line that has only just begun
    LINE = auto()  # passes as it is
    CODE = auto()  # a line that may open a code block
    TABLE = auto()  # a line that makes a table of what follows
    SENTENCE = auto()


_KINDS = {LineKind.FENCE: Kind.CODE, LineKind.TABLE: Kind.TABLE}


class Unit(msgspec.Struct, frozen=True, gc=False):
    """The unit at the beginning of a text: ``gap`` characters of white space, the line's mark up to ``body``
    ("- ", "> 1. "), and the unit itself up to ``end``.  All positions are exclusive ends.

    ``heading``: a sentence that stands as a heading.
    """

    kind: Kind
    gap: int
    body: int
    end: int
    settled: bool
    heading: bool = False


def read_unit(text: str, *, line_begins: bool, final: bool) -> Unit:
    """Return the first unit of ``text``, outside of code blocks.

    ``line_begins`` says whether ``text`` begins at the beginning of a line; unless ``final`` it may grow.
    """
    gap = len(text) - len(text.lstrip())
    if gap == len(text):
        return Unit(Kind.SPACE, gap, gap, gap, settled=final)
    body = gap
    line = text.rfind("\n", 0, gap) + 1
    begins = line > 0 or line_begins
    if begins:
        kind, mark_end = line_kind(text, gap, final)
        for _ in range(_MARKS_MOST):
            if kind is not LineKind.MARKED:
                break
            body = mark_end
            kind, mark_end = line_kind(text, body, final)
        if kind is LineKind.UNDECIDED:
            return Unit(Kind.UNDECIDED, gap, body, len(text.rstrip()), settled=False)
        indented = body == gap and len(text[line:gap].expandtabs(_TAB)) >= _CODE_INDENT
        if kind is not LineKind.TEXT or indented:
            return _line(text, gap, body, _KINDS.get(kind, Kind.LINE), final)
    extent = read_sentence(text, body, final)
    sentence = text[body : extent.end].rstrip()
    if len(sentence) > LONGEST_SENTENCE:
        return Unit(Kind.LINE, gap, body, body + LONGEST_SENTENCE, settled=False)
    bold = begins and body == gap and _BOLD_LINE.fullmatch(sentence) is not None
    heading = extent.underlined or bold
    return Unit(Kind.SENTENCE, gap, body, extent.end, extent.settled, heading)


def _line(text: str, gap: int, body: int, kind: Kind, final: bool) -> Unit:
    end = line_end(text, body)
    if kind is Kind.CODE and (len(text.rstrip("\r")) if end is None else end) - body > LONGEST_SENTENCE:
        # No fence is that long: like any line, it need not be kept until it ends.
        return Unit(Kind.LINE, gap, body, body + LONGEST_SENTENCE, settled=False)
    if end is None:
        return Unit(kind, gap, body, len(text) if final else len(text.rstrip("\r")), settled=final)
    return Unit(kind, gap, body, end, settled=True)


def is_content(sentence: str, minimum_columns: int) -> bool:
    """Say whether a sentence says something: long enough, and mostly words.

    Length is counted in columns (a wide character has two), without the marks around it and without
    addresses.  What is not content repeats freely: "Yes.", "**Total:** 12", a bare link, a formula, a row.
    """
    if "|" in sentence:
        return False
    visible = _ADDRESS.sub(" ", sentence).strip(_EDGES)
    wide = 0 if visible.isascii() else sum(unicodedata.east_asian_width(c) in "WF" for c in visible)
    if len(visible) + wide < minimum_columns:
        return False
    letters = sum(c.isalpha() or unicodedata.category(c)[0] == "M" for c in visible)
    return 2 * letters >= len(visible) - visible.count(" ")
