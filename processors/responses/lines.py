"""How a line of a response begins: Markdown's blocks, as far as they matter for filtering sentences."""

from __future__ import annotations

import re
from enum import Enum, auto


class LineKind(Enum):
    """What a line is, by its first characters."""

    UNDECIDED = auto()  # more text may still make it something else
    STRUCTURE = auto()  # a heading, a row of a table, HTML, nothing: passes as it is
    RULE = auto()  # a thematic break
    UNDERLINE = auto()  # a rule that makes a heading of the line before it
    FENCE = auto()  # a fenced code block begins or ends, or displayed mathematics
    TABLE = auto()  # the row under the head of a table
    MARKED = auto()  # the mark of a list item or a quotation; what follows begins like a line
    TEXT = auto()


#: Characters in a row that decide nothing: rules, indents and fences are shorter.  Bounds what is kept.
_MOST = 1000
_ENDLESS = re.compile(rf"[-*_=+:| \t]{{{_MOST}}}")

#: All that a text may end with and still become structure.
_UNDECIDED = re.compile(
    r"(?:#{1,6}|`{1,2}|~{1,2}|\\|\$|<|[A-Za-z]\)?|\d{1,9}|(?:[A-Za-z]\)|\d{1,9}[.)]|[>•‣·–])[ \t]*"
    r"|[-*_=+][-*_=+ \t]*\r?|[-:][-:| \t]*\r?)?\Z"
)
_STRUCTURE = re.compile(r"#{1,6}(?=\s|\Z)|\||</?[A-Za-z]|<!|\r?\n|\Z")
_TABLE = re.compile(r":?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)+\|?[ \t]*(?=\r?\n|\Z)")
_UNDERLINE = re.compile(r"(?:=+|-+)[ \t]*(?=\r?\n|\Z)")
_RULE = re.compile(r"([-*_])[ \t]*(?:\1[ \t]*){2,}(?=\r?\n|\Z)")
_FENCE = re.compile(r"`{3,}|~{3,}|\$\$|\\\[")
_MARK = re.compile(r"(?:[-*+•‣·–]|\d{1,9}[.)]|[A-Za-z]\))[ \t]+(?=\S)|>[ \t]*")
_KINDS = (
    (_STRUCTURE, LineKind.STRUCTURE),
    (_TABLE, LineKind.TABLE),
    (_UNDERLINE, LineKind.UNDERLINE),
    (_RULE, LineKind.RULE),
    (_FENCE, LineKind.FENCE),
    (_MARK, LineKind.MARKED),
)


#: The block of a table whose rows need not begin with a bar; it ends with an empty line.
TABLE_BLOCK = "table"

#: What ends displayed mathematics, by what opens it.
_MATHEMATICS = {"$$": "$$", "\\[": "\\]"}


def line_kind(text: str, at: int, final: bool) -> tuple[LineKind, int]:
    """Return what the line is whose first visible character is at ``at``, and where its mark ends.

    Unless ``final``, ``text`` may still grow.
    """
    if _ENDLESS.match(text, at):
        return LineKind.STRUCTURE, at
    if not final and _UNDECIDED.match(text, at):
        return LineKind.UNDECIDED, at
    for pattern, kind in _KINDS:
        if found := pattern.match(text, at):
            return kind, found.end()
    return LineKind.TEXT, at


def line_end(text: str, at: int) -> int | None:
    """Return where the line that ``at`` lies in ends, or ``None`` if it may go on."""
    end = text.find("\n", at)
    if end < 0:
        return None
    return end - 1 if end > at and text[end - 1] == "\r" else end


def opens_code(line: str) -> str:
    """Return the fence of a line that opens a code block, or "" ("```inline```" opens none).

    Displayed mathematics is opened by a line of its own ("$$ to $$$ a night" opens none).
    """
    fence = _FENCE.match(line)
    if fence is None or (fence[0][0] == "`" and "`" in line[fence.end() :]):
        return ""
    if fence[0] in _MATHEMATICS and line.rstrip() != fence[0]:
        return ""
    return fence[0]


def closes_code(line: str, fence: str) -> bool:
    """Say whether ``line`` ends the block that ``fence`` opened."""
    if fence in _MATHEMATICS:
        return _MATHEMATICS[fence] in line
    mark = line.strip(" \t>")
    return len(mark) >= len(fence) and not mark.strip(fence[0])
