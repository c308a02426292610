"""What a response's text is made of: sentences of prose, and lines of everything else.

:func:`read_element` reads the next element from a text that may still grow.  An element is *settled* when
nothing that may follow can change where it ends or what it is; elements are settled one after the other, so
they never depend on how the text was cut into chunks.
"""

from __future__ import annotations

import re
from enum import IntEnum, auto

import msgspec

from processors.responses.lines import TABLE_BLOCK, LineKind, closes_code, line_end, line_kind, opens_code
from processors.responses.sentences import LONGEST_SENTENCE, read_sentence

_TAB = 4
_CODE_INDENT = 4
#: What is indented more is no prose of its own: it stands under an item, is verse, or set apart.
_INDENT_MOST = 2
_BOLD_LINE = re.compile(r"(\*\*|__)(?:(?!\1)[^.!?。！？\n])+\1:?")
_BOLD_BEGINNING = re.compile(r"[*_]|(\*\*|__)(?:(?!\1)[^.!?。！？\n])*(?:\1:?)?")

#: The level of a bold line that serves as a heading: below all others.
BOLD_LEVEL = 7
_HASHES = re.compile(r"#{1,6}(?=\s|\Z)")
_MAY_END_LINE = re.compile(r"[^\S\n]*\n?\Z")
_INDENT = re.compile(r"[^\S\n]*\Z")


class Kind(IntEnum):
    """What an element is."""

    SPACE = auto()  # white space, and nothing yet that follows it
    UNDECIDED = auto()  # a line that has only just begun
    SENTENCE = auto()  # of a paragraph
    LINE = auto()  # of anything that is neither prose nor one of the following
    HEADING = auto()
    ITEM = auto()  # of a list
    ROW = auto()  # of a table
    CODE = auto()  # a line of a fenced block or of displayed mathematics
    QUOTE = auto()
    RULE = auto()


_STRUCTURES = {"#": Kind.HEADING, "|": Kind.ROW}


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


def read_element(text: str, context: Context, *, final: bool) -> Element:
    """Return the first element of ``text``; unless ``final`` it may grow."""
    if context.inside:
        return _read_inside(text, context, final)
    gap = len(text) - len(text.lstrip())
    if gap == len(text):
        return Element(Kind.SPACE, gap, gap, final)
    line = text.rfind("\n", 0, gap) + 1
    if not line and not context.line_begins:
        return _sentence(text, gap, context, final, begins=False)
    kind, _ = line_kind(text, gap, final)
    if kind is LineKind.UNDECIDED:
        return Element(Kind.UNDECIDED, gap, len(text.rstrip()), settled=False)
    indent = len(text[line:gap].expandtabs(_TAB))
    goes_on = context.before == Kind.ITEM and text.count("\n", 0, gap) == 1
    if kind is LineKind.TEXT and indent < _INDENT_MOST and not goes_on:
        return _sentence(text, gap, context, final, begins=True)
    element = _line(text, gap, _kind_of(kind, text, gap, indent, context), context, final)
    if kind is LineKind.TEXT and element.kind is Kind.ITEM and text.count("\n", 0, gap) > 1:
        return msgspec.structs.replace(element, first=True)
    return element


def may_be_bold_line(text: str) -> bool:
    """Say whether a line that begins with ``text`` may become a bold line without a stop, a heading."""
    return _BOLD_BEGINNING.fullmatch(text.rstrip()) is not None


def _kind_of(kind: LineKind, text: str, at: int, indent: int, context: Context) -> Kind:
    match kind:
        case LineKind.STRUCTURE:
            code = text[at] == "#" and indent >= _CODE_INDENT
            return Kind.CODE if code else _STRUCTURES.get(text[at], Kind.LINE)
        case LineKind.RULE | LineKind.UNDERLINE:
            return Kind.RULE
        case LineKind.FENCE:
            return Kind.CODE
        case LineKind.TABLE:
            return Kind.ROW
        case LineKind.MARKED:
            return Kind.QUOTE if text[at] == ">" else Kind.ITEM
        case _ if context.before == Kind.ITEM:
            return Kind.ITEM
        case _:
            return Kind.CODE if indent >= _CODE_INDENT else Kind.LINE


def _line(text: str, gap: int, kind: Kind, context: Context, final: bool) -> Element:
    found = line_end(text, gap)
    end = found if found is not None else len(text) if final else len(text.rstrip("\r"))
    settled = found is not None or final
    first = _begins_block(text, gap, kind, context)
    if end - gap > LONGEST_SENTENCE:
        return Element(kind, gap, gap + LONGEST_SENTENCE, settled=False, first=first, long=True)
    line = text[gap:end]
    inside = ""
    if settled and kind is Kind.CODE:
        inside = opens_code(line)
    elif settled and kind is Kind.ROW and line_kind(text, gap, True)[0] is LineKind.TABLE:
        inside = TABLE_BLOCK
    level = 0
    if kind is Kind.HEADING:
        hashes = _HASHES.match(line)
        level = len(hashes[0]) if hashes else 1
    return Element(kind, gap, end, settled, first, level, inside)


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


def _read_inside(text: str, context: Context, final: bool) -> Element:
    """Read a line of an open block of code, mathematics or a table."""
    table = context.inside == TABLE_BLOCK
    kind = Kind.ROW if table else Kind.CODE
    gap = len(text) - len(text.lstrip())
    blank = re.match(r"\s*\n", text)
    if table and blank and text.count("\n", 0, blank.end()) > 1:
        return read_element(text, Context(context.line_begins, "", context.before), final=final)
    if gap == len(text):
        return Element(Kind.SPACE, gap, gap, final)
    indent = _INDENT.search(text, 0, gap)
    at = gap if table or indent is None else indent.start()
    found = line_end(text, gap)
    end = found if found is not None else len(text) if final else len(text.rstrip("\r"))
    if end - at > LONGEST_SENTENCE:
        return Element(kind, at, at + LONGEST_SENTENCE, settled=False, inside=context.inside, long=True)
    settled = found is not None or final
    inside = context.inside
    if settled and not table and closes_code(text[at:end], inside):
        inside = ""
    return Element(kind, at, max(end, at), settled, False, 0, inside)
