"""What a response's text is made of: sentences of prose, and lines of everything else.

:func:`read_element` reads the next element from a text that may still grow.  An element is *settled* when
nothing that may follow can change where it ends or what it is; elements are settled one after the other, so
they never depend on how the text was cut into chunks.
"""

from __future__ import annotations

import re

import msgspec

from processors.responses.lines import TABLE_BLOCK, Kind, code_after, line_end, line_kind
from processors.responses.sentences import LONGEST_SENTENCE, read_sentence

_TAB = 4
_CODE_INDENT = 4
#: What is indented more is no prose of its own: it stands under an item, is verse, or set apart.
_INDENT_MOST = 2
_BOLD_LINE = re.compile(r"(\*\*|__)(?:(?!\1)[^.!?。！？\n])+\1:?")
_BOLD_BEGINNING = re.compile(r"[*_]|(\*\*|__)(?:(?!\1)[^.!?。！？\n])*(?:\1:?)?")

#: The level of a bold line that serves as a heading: below all others.
BOLD_LEVEL = 7
#: What becomes of kinds that only a line may be.
_IS = {Kind.TABLE: Kind.ROW, Kind.UNDERLINE: Kind.RULE}
_MAY_END_LINE = re.compile(r"[^\S\n]*\n?\Z")
_EMPTY_LINE = re.compile(r"\s*\n[^\S\n]*\n")


class Context(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """What came before a text: whether it begins a line, the open block, and the last element's kind."""

    line_begins: bool = True
    inside: str = ""
    before: int = Kind.SPACE


class Element(msgspec.Struct, frozen=True, gc=False):
    """The element at the beginning of a text: ``gap`` characters of white space, and itself up to ``end``.

    ``first``: it begins a block (a paragraph, a list, a table, ...).  ``level``: of a heading, 1 is
    the highest; 0 if only the next line makes it one.  ``inside``: the block that is open behind it.
    ``long``: too long to be kept in mind, with all that follows in its line.
    """

    kind: Kind
    gap: int
    end: int
    settled: bool
    first: bool = False
    level: int = 0
    inside: str = ""
    long: bool = False

    @property
    def is_line(self) -> bool:
        """Whether it is a line, whatever it says: only the line's end ends it."""
        return self.kind > Kind.HEADING or self.kind is Kind.LINE or 0 < self.level < BOLD_LEVEL


def read_element(text: str, context: Context, *, final: bool) -> Element:
    """Return the first element of ``text``; unless ``final`` it may grow."""
    inside = context.inside
    if inside == TABLE_BLOCK and _EMPTY_LINE.match(text):
        inside = ""
    gap = len(text) - len(text.lstrip())
    if gap == len(text):
        return Element(Kind.SPACE, gap, gap, final)
    if inside == TABLE_BLOCK:
        return _line(text, gap, Kind.ROW, final, inside=inside)
    line = text.rfind("\n", 0, gap) + 1
    if inside:
        return _line(text, line, Kind.CODE, final, inside=inside)
    if not line and not context.line_begins:
        return _sentence(text, gap, context, final, begins=False)
    kind, mark_end = line_kind(text, gap, final)
    if kind is Kind.UNDECIDED:
        return Element(kind, gap, len(text.rstrip()), settled=False)
    indent = len(text[line:gap].expandtabs(_TAB))
    under_item = context.before == Kind.ITEM and (indent >= _INDENT_MOST or text.count("\n", 0, gap) == 1)
    if kind is Kind.TEXT and indent < _INDENT_MOST and not under_item:
        return _sentence(text, gap, context, final, begins=True)
    level = mark_end - gap if kind is Kind.HEADING else 0
    if kind is Kind.TEXT and under_item:
        return _line(text, gap, Kind.ITEM, final, first=text.count("\n", 0, gap) > 1)
    if kind is Kind.TEXT or (level and indent >= _CODE_INDENT):
        kind, level = Kind.CODE if indent >= _CODE_INDENT else Kind.LINE, 0
    table = TABLE_BLOCK if kind is Kind.TABLE else ""
    kind = _IS.get(kind, kind)
    return _line(text, gap, kind, final, _begins_block(text, gap, kind, context), level, table)


def may_be_bold_line(text: str) -> bool:
    """Say whether a line that begins with ``text`` may become a bold line without a stop, a heading."""
    return _BOLD_BEGINNING.fullmatch(text.rstrip()) is not None


def _line(
    text: str, at: int, kind: Kind, final: bool, first: bool = False, level: int = 0, inside: str = ""
) -> Element:
    """Return the line that begins at ``at``; ``inside``: the block that it stands in, or opens."""
    found = line_end(text, at)
    settled = found is not None or final
    end = found if found is not None else len(text) if final else len(text.rstrip("\r"))
    if end - at > LONGEST_SENTENCE:
        return Element(kind, at, at + LONGEST_SENTENCE, False, first, 0, inside, long=True)
    if settled and kind is Kind.CODE:
        inside = code_after(text[at:end], inside)
    return Element(kind, at, end, settled, first, level, inside)


def _sentence(text: str, gap: int, context: Context, final: bool, *, begins: bool) -> Element:
    extent = read_sentence(text, gap, final)
    sentence = text[gap : extent.end].rstrip()
    first = begins and _begins_block(text, gap, Kind.SENTENCE, context)
    if len(sentence) > LONGEST_SENTENCE:
        return Element(Kind.SENTENCE, gap, gap + LONGEST_SENTENCE, settled=False, first=first, long=True)
    if begins and (extent.underlined or _BOLD_LINE.fullmatch(sentence)):
        level = 0 if extent.underlined else BOLD_LEVEL
        return Element(Kind.HEADING, gap, extent.end, extent.settled, first or level > 0, level)
    # What follows its line says whether it is one of several short ones.
    settled = extent.settled and (final or not _MAY_END_LINE.match(text, extent.end))
    return Element(Kind.SENTENCE, gap, extent.end, settled, first)


def _begins_block(text: str, gap: int, kind: Kind, context: Context) -> bool:
    if kind in (Kind.HEADING, Kind.RULE) or context.before == Kind.SPACE:
        return True
    if kind == context.before == Kind.ITEM:
        return False
    return kind != context.before or text.count("\n", 0, gap) > 1
