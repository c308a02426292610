"""White space around what was taken out of a response: one of the two gaps stays, never both."""

from __future__ import annotations

import re
from itertools import pairwise

#: Characters of white space in a row after which what came before is settled, as if the response ended there.
#: Or a model that writes nothing but line ends would make a state that fits into no record.
LONGEST_GAP = 1000

_LONG = re.compile(rf"\s{{{LONGEST_GAP}}}")


def join_gaps(before: str, after: str, *, leads: bool) -> str:
    """Return the gap that remains where what stood between ``before`` and ``after`` was taken out.

    Inside a line that is the gap before.  At the end of a line or paragraph it is the gap after.  Where whole
    lines went, it is the wider of the two, with the indent of what follows.  ``leads``: nothing is before it.
    """
    if "\n" not in after:
        return before if before or leads else after
    if "\n" not in before and not leads:
        return after
    breaks, _, indent = after.rpartition("\n")
    wider = leads or before.count("\n") >= after.count("\n")
    return ("".join(before.rpartition("\n")[:2]) if wider else f"{breaks}\n") + indent


def last_gap(before: str, after: str, *, leads: bool) -> str:
    """Return what remains of the gap before what was taken out last, and the white space after it."""
    return after if "\n" in after and not leads else ""


def split_at_long_gaps(text: str, run: int) -> tuple[list[str], int]:
    """Cut ``text`` behind every :data:`LONGEST_GAP` characters of white space in a row.

    ``run``: how many of them came before it.  Returns the parts, the last one perhaps empty, and how many
    there are at its end.
    """
    if run + len(text) < LONGEST_GAP:
        trailing = len(text) - len(text.rstrip())
        return [text], trailing + run if trailing == len(text) else trailing
    leading = len(text) - len(text.lstrip())
    ends = [LONGEST_GAP - run] if run + leading >= LONGEST_GAP else []
    ends += [found.end() for found in _LONG.finditer(text, ends[0] if ends else leading)]
    parts = [text[start:end] for start, end in pairwise([0, *ends, len(text)])]
    trailing = len(parts[-1]) - len(parts[-1].rstrip())
    goes_on = not ends and trailing == len(text)
    return parts, trailing + run if goes_on else trailing
