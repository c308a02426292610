"""How a line of a response begins: Markdown's blocks, as far as they matter for filtering sentences."""

from __future__ import annotations

import re
from enum import Enum, auto


class LineKind(Enum):
    """What a line is, by its first characters."""

    UNDECIDED = auto()  # more text may still make it something else
    STRUCTURE = auto()  # a heading, a row of a table, HTML, displayed mathematics, nothing: passes as it is
    RULE = auto()  # a thematic break
    UNDERLINE = auto()  # a rule that makes a heading of the line before it
    FENCE = auto()  # a fenced code block begins or ends
    MARKED = auto()  # the mark of a list item or a quotation; what follows begins like a line
    TEXT = auto()


#: All that a text may end with and still become structure.
_UNDECIDED = re.compile(
    r"(?:#{1,6}|`{1,2}|~{1,2}|\\|\$|<|[A-Za-z]\)?|\d{1,9}|(?:[A-Za-z]\)|\d{1,9}[.)]|[>•‣·–])[ \t]*"
    r"|[-*_=+][-*_=+ \t]*\r?)?\Z"
)
_STRUCTURE = re.compile(r"#{1,6}(?=\s|\Z)|\||</?[A-Za-z]|<!|\$\$|\\\[|\r?\n|\Z")
_UNDERLINE = re.compile(r"(?:=+|-+)[ \t]*(?=\r?\n|\Z)")
_RULE = re.compile(r"([-*_])[ \t]*(?:\1[ \t]*){2,}(?=\r?\n|\Z)")
_FENCE = re.compile(r"`{3,}|~{3,}")
_MARK = re.compile(r"(?:[-*+•‣·–]|\d{1,9}[.)]|[A-Za-z]\))[ \t]+(?=\S)|>[ \t]*")
_KINDS = (
    (_STRUCTURE, LineKind.STRUCTURE),
    (_UNDERLINE, LineKind.UNDERLINE),
    (_RULE, LineKind.RULE),
    (_FENCE, LineKind.FENCE),
    (_MARK, LineKind.MARKED),
)


def line_kind(text: str, at: int, final: bool) -> tuple[LineKind, int]:
    """Return what the line is whose first visible character is at ``at``, and where its mark ends.

    Unless ``final``, ``text`` may still grow.
    """
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
    """Return the fence of a line that opens a code block, or "" ("```inline```" opens none)."""
    fence = _FENCE.match(line)
    if fence is None or (fence[0][0] == "`" and "`" in line[fence.end() :]):
        return ""
    return fence[0]


def code_ends(text: str, fence: str, final: bool) -> int | None:
    """Return where the code block that ``fence`` opened ends in ``text``, which begins inside it."""
    closing = re.compile(rf"\n[ \t>]*+{fence[0]}{{{len(fence)},}}+[ \t]*+(?=\r?\n|\Z)")
    found = closing.search(text)
    return found.end() if found and (final or found.end() < len(text)) else None


def code_may_end(text: str, fence: str) -> int:
    """Return from where on ``text``, inside a code block, may still turn out to be its closing fence."""
    closing = re.compile(rf"\n[ \t>]*+{fence[0]}*+[ \t]*+\r?\Z")
    found = closing.search(text)
    return found.start() if found else len(text.rstrip("\r"))
