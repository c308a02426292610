"""How a line of a response begins: Markdown's blocks, as far as they matter for filtering sentences."""

from __future__ import annotations

import re
from enum import IntEnum, auto


class Kind(IntEnum):
    """Kind of an element.  Stored by number."""

    SPACE = auto()  # white space, and nothing yet that follows it
    UNDECIDED = auto()  # a line that has only just begun
    SENTENCE = auto()  # of a paragraph
    LINE = auto()  # of anything that is neither prose nor one of the following
    HEADING = auto()
    ITEM = auto()  # of a list
    ROW = auto()  # of a table
    CODE = auto()  # a line of a block of code, or of displayed mathematics
    QUOTE = auto()
    RULE = auto()
    TEXT = auto()  # of a line that is read: prose, or what goes on with the line before


#: Characters in a row that decide nothing: rules, indents and fences are shorter.  Bounds what is kept.
_ENDLESS = re.compile(r"[-*_=+| \t]{1000}")

#: All that a text may end with and still become structure.
_UNDECIDED = re.compile(
    r"(?:#{1,6}|`{1,2}|~{1,2}|\\|\$|<|[A-Za-z]\)?|\d{1,9}|(?:[A-Za-z]\)|\d{1,9}[.)]|[>•‣·–])[ \t]{0,1000}"
    r"|[-*_=+][-*_=+ \t]*\r?)?\Z"
)
_LINE = re.compile(
    r"(?P<HEADING>#{1,6}(?=\s|\Z))"
    r"|(?P<ROW>\|)"
    r"|(?P<LINE></?[A-Za-z]|<!|\r?\n|\Z)"
    r"|(?P<RULE>(?P<mark>[-*_=])[ \t]*(?:(?P=mark)[ \t]*){2,}(?=\r?\n|\Z))"
    r"|(?P<CODE>`{3,}|~{3,}|\$\$|\\\[)"
    r"|(?P<ITEM>(?:[-*+•‣·–]|\d{1,9}[.)]|[A-Za-z]\))[ \t]+(?=\S))"
    r"|(?P<QUOTE>>[ \t]*)"
)

#: What ends displayed mathematics, by what opens it.
_MATHEMATICS = {"$$": "$$", "\\[": "\\]"}


def line_kind(text: str, at: int, final: bool) -> tuple[Kind, int]:
    """Return the kind of the line whose first visible character is at ``at``, and the end of its mark.

    Unless ``final``, ``text`` may still grow.
    """
    if _ENDLESS.match(text, at):
        return Kind.ROW if text[at] == "|" else Kind.LINE, at
    if not final and _UNDECIDED.match(text, at):
        return Kind.UNDECIDED, at
    found = _LINE.match(text, at)
    return (Kind[found.lastgroup or ""], found.end()) if found else (Kind.TEXT, at)


def line_extent(text: str, at: int, final: bool) -> tuple[int, bool]:
    """Return where the line that ``at`` lies in ends, so far, and whether that is settled."""
    end = text.find("\n", at)
    if end < 0:
        return len(text if final else text.rstrip("\r")), final
    return end - (end > at and text[end - 1] == "\r"), True


def code_after(line: str, inside: str) -> str:
    """Return the fence of the block of code or mathematics that is open behind ``line``, or "".

    ``inside``: the one before it.  "```inline```" opens none, "$$ to $$$ a night" neither: mathematics is
    opened by a line of its own.
    """
    if inside in _MATHEMATICS:
        return "" if _MATHEMATICS[inside] in line else inside
    if inside:
        mark = line.strip(" \t>")
        return inside if len(mark) < len(inside) or mark.strip(inside[0]) else ""
    fence = _LINE.match(line)
    if fence is None or fence.lastgroup != "CODE":
        return ""
    mark, rest = fence[0], line[fence.end() :].rstrip()
    return "" if (rest if mark in _MATHEMATICS else mark[0] == "`" and "`" in rest) else mark
