"""When a run of elements that were all said before is a passage, and goes.

A passage goes as a whole, from a beginning that says what it is about to the end of a block.  Code, mathematics
and quoted text are never a repetition by themselves: they go where the text before and after them is being
repeated, or a section that ends with them.
"""

from __future__ import annotations

from collections.abc import Sequence

from processors.responses.canonical import canonical, count_words
from processors.responses.elements import BOLD_LEVEL
from processors.responses.filter_state import Held
from processors.responses.history import History, Said, introduces, is_quoted, stops
from processors.responses.lines import Kind

#: Words of the smallest passage that goes: less may be said again on purpose ("or", "Hi Michael,").
_SMALLEST = 8

#: Kinds that may begin a passage: others belong to what stands before them.
_BEGINNERS = (Kind.SENTENCE, Kind.LINE, Kind.HEADING)


def is_shown(kind: int, text: str) -> bool:
    """Say whether an element that begins with ``text`` shows something: code, mathematics, what others said."""
    return kind in (Kind.CODE, Kind.QUOTE) or is_quoted(text)


def may_begin(kind: int, text: str) -> bool:
    """Say whether an element that begins with ``text`` may begin a passage."""
    return kind in _BEGINNERS and not is_quoted(text)


def may_join(held: Sequence[Held], kind: int, text: str) -> bool:
    """Say whether an element that begins with ``text`` may go on with the passage that is held.

    Quoted text only if more than a label stands before it, for text that will not go need not wait.
    """
    if not held or held[0].goes_on or kind == Kind.CODE or not is_shown(kind, text):
        return True
    return any(each.said or 0 < each.level < BOLD_LEVEL for each in held)


def is_repetition(held: Sequence[Held], run: Sequence[int], said: Sequence[Said]) -> bool:
    """Say whether what is held, which ends at each place of ``run`` in ``said``, is a passage that goes."""
    history, first, last = History(said), held[0], held[-1].element
    if not history.ends_block(run):
        return False
    if first.goes_on:
        return True
    if not any(map(_says_something, held)):
        return False
    if sum([count_words(canonical(each.element.text)) for each in held]) < _SMALLEST:
        return False
    is_section = 0 < first.level < BOLD_LEVEL
    if is_shown(last.kind, last.text) and not _stands_in_list(held):
        return is_section and history.ends_section(run)
    if is_section or history.starts_response(run, len(held)):
        return True
    if any(each.said for each in held) and all(each.element.kind == Kind.SENTENCE for each in held):
        return True
    return _is_introduced(held) and history.in_same_section(run)


def _stands_in_list(held: Sequence[Held]) -> bool:
    """Say whether the last element belongs to an item: it is indented under it."""
    return held[-1].element.text[:1].isspace() and any(each.element.kind == Kind.ITEM for each in held)


def _says_something(held: Held) -> bool:
    """Say whether an element is more than a label for what follows."""
    return held.element.kind in (Kind.ITEM, Kind.ROW) or stops(held.element.text)


def _is_introduced(held: Sequence[Held]) -> bool:
    """Say whether what is held begins with what introduces the rest."""
    for each in held:
        if introduces(each.element.text) or each.element.kind == Kind.HEADING:
            return True
        if each.element.kind not in _BEGINNERS:
            break
    return False
