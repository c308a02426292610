"""Orders that change how an earlier one is done: "Answer in French", then "Answer in English"."""

from __future__ import annotations

import re
from difflib import SequenceMatcher

from models.statements import Kind
from processors.facts.merging.statement_features import CUES, ComparedStatement, read

#: The most words that are exchanged.
_MOST = 2

_DENIED = next(n for n, (name, _) in enumerate(CUES) if name == "denied")
_WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")
#: Words that order as well without: what differs in them alone does not differ.
_FILLERS = re.compile(
    r"\b(?:always|please|pls|from now on|from today|from here on|now|instead|again|immer|bitte|ab jetzt|"
    r"siempre|por favor|toujours|s['’]il (?:te|vous) pla[iî]t|désormais|sempre)\b",
    re.IGNORECASE,
)
#: The end of what is ordered says how it is done, or what the person is called.
_END_LINE = "in as with me auf als mit mich en como con comme avec moi em com"
_BEFORE_THE_END = frozenset(_END_LINE.split())
#: Words that begin another part of the order: what is exchanged before them is what is ordered, and not how.
_PART_LINE = "in as with on at for to of and or when if by from auf mit en con y et avec em com e"
_NEW_PART = frozenset(_PART_LINE.split())


def is_exchanged(new: ComparedStatement, old: ComparedStatement) -> bool:
    """Return whether an order asks for the thing of an earlier one in another way.

    What is forbidden adds up ("Never mention my ex", "Never mention my salary"), and so does what is ordered
    ("Always add a title", "Always add a date"): only how it is done is exchanged, before the noun that it
    describes ("short answers", "long answers") or at the end ("in French", "in English").
    """
    if new.kind is not Kind.INSTRUCTION or old.kind is not Kind.INSTRUCTION:
        return False
    if read(new.text).cues[_DENIED] or read(old.text).cues[_DENIED]:
        return False
    before, after = _words(old.text), _words(new.text)
    changes = [
        each
        for each in SequenceMatcher(None, before, after, autojunk=False).get_opcodes()
        if each[0] != "equal"
    ]
    if len(changes) != 1 or changes[0][0] != "replace":
        return False
    _, start, end, other_start, other_end = changes[0]
    if not start or max(end - start, other_end - other_start) > _MOST:
        return False
    if end == len(before):
        return before[start - 1] in _BEFORE_THE_END
    return before[end] not in _NEW_PART


def _words(text: str) -> list[str]:
    return [each.casefold() for each in _WORD.findall(_FILLERS.sub(" ", text))]
