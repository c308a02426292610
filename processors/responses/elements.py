"""Elements of a response's text: sentences of prose, and lines of everything else.

:func:`read_element` reads the next element from a text that may still grow.  An element is *settled* when
nothing that may follow can change where it ends or what it is; elements are settled one after the other, so
they never depend on how the text was cut into chunks.
"""

from __future__ import annotations

import re

import msgspec

from processors.responses.lines import Kind, code_after, line_extent, line_kind
from processors.responses.sentences import LONGEST_GAP, LONGEST_SENTENCE, read_sentence

_TAB = 4
_CODE_INDENT = 4
#: What is indented more is no prose of its own: it stands under an item, is verse, or set apart.
_INDENT_MOST = 2
#: A bold line without a stop serves as a heading.
_BOLD_LINE = re.compile(r"(\*\*|__)(?:(?!\1)[^.!?。！？\n])+\1:?")
_MAY_END_LINE = re.compile(rf"[^\S\n]{{0,{LONGEST_GAP}}}\n?\Z")


class Context(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """State of the text before: whether it begins a line, the open block, and the last element's kind."""

    line_begins: bool = True
    inside: str = ""
    before: int = Kind.SPACE


class Element(msgspec.Struct, frozen=True, gc=False):
    """The element at the beginning of a text: ``gap`` characters of white space, and itself up to ``end``.

    ``first``: it begins a block (a paragraph, a list, a table, ...).  ``inside``: the fence of the block that
    is open behind it.  ``long``: too long to be kept in mind, with all that follows in its line.
    """

    kind: Kind
    gap: int
    end: int
    settled: bool
    first: bool = False
    inside: str = ""
    long: bool = False


def read_element(text: str, context: Context, *, final: bool) -> Element:
    """Return the first element of ``text``; unless ``final`` it may grow.

    White space without end is settled in pieces of ``LONGEST_GAP``.
    """
    inside = context.inside
    gap = len(text) - len(text.lstrip())
    if gap >= LONGEST_GAP:
        return Element(Kind.SPACE, LONGEST_GAP, LONGEST_GAP, True, inside=inside)
    if gap == len(text):
        return Element(Kind.SPACE, gap, gap, False)
    line = text.rfind("\n", 0, gap) + 1
    if inside:
        return _line(text, line, Kind.CODE, final, inside=inside)
    if not line and not context.line_begins:
        return _sentence(text, gap, context, final, begins=False)
    kind, _ = line_kind(text, gap, final)
    if kind is Kind.UNDECIDED:
        return Element(kind, gap, len(text.rstrip()), settled=False)
    indent = len(text[line:gap].expandtabs(_TAB))
    one_line_end = text.count("\n", 0, gap) == 1
    if kind is Kind.TEXT:
        if context.before == Kind.ITEM and (indent >= _INDENT_MOST or one_line_end):
            return _line(text, gap, Kind.ITEM, final, first=not one_line_end)
        if indent < _INDENT_MOST:
            return _sentence(text, gap, context, final, begins=True)
        kind = Kind.LINE
    if kind in (Kind.LINE, Kind.HEADING) and indent >= _CODE_INDENT:
        kind = Kind.CODE
    return _line(text, gap, kind, final, _begins_block(text, gap, kind, context))


def _line(text: str, at: int, kind: Kind, final: bool, first: bool = False, inside: str = "") -> Element:
    """Return the line that begins at ``at``, in the block of code that ``inside`` has opened, if any."""
    end, settled = line_extent(text, at, final)
    if end - at > LONGEST_SENTENCE:
        return Element(kind, at, at + LONGEST_SENTENCE, False, first, inside, long=True)
    if settled and kind is Kind.CODE:
        inside = code_after(text[at:end], inside)
    return Element(kind, at, end, settled, first, inside)


def _sentence(text: str, gap: int, context: Context, final: bool, *, begins: bool) -> Element:
    end, settled = read_sentence(text, gap, final)
    first = begins and _begins_block(text, gap, Kind.SENTENCE, context)
    if end - gap > LONGEST_SENTENCE:
        return Element(Kind.SENTENCE, gap, gap + LONGEST_SENTENCE, settled=False, first=first, long=True)
    if begins and _BOLD_LINE.fullmatch(text[gap:end].rstrip()):
        return Element(Kind.HEADING, gap, end, settled, first=True)
    # What follows its line says whether it is one of several short ones.
    settled = settled and (final or not _MAY_END_LINE.match(text, end))
    return Element(Kind.SENTENCE, gap, end, settled, first)


def _begins_block(text: str, gap: int, kind: Kind, context: Context) -> bool:
    if kind in (Kind.HEADING, Kind.RULE) or context.before == Kind.SPACE:
        return True
    if kind == context.before == Kind.ITEM:
        return False
    return kind != context.before or text.count("\n", 0, gap) > 1
