"""White space around what was taken out of a response: one of the two gaps stays, never both."""

from __future__ import annotations

import re
from itertools import pairwise

import msgspec

#: Characters of white space in a row after which what came before is settled, as if the response ended there.
#: Or a model that writes nothing but line ends would make a state that fits into no record.
LONGEST_GAP = 1000

_LONG = re.compile(rf"\s{{{LONGEST_GAP}}}")


class Gap(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """White space before a sentence and, after it, the mark of its list item or quotation ("- ").

    ``leads``: nothing was sent before it.  ``sent`` is the part of it that has left already.
    """

    space: str
    mark: str = ""
    leads: bool = False
    sent: str = ""

    def text(self) -> str:
        """Return what of it is still to be sent."""
        return self.space.removeprefix(self.sent) + self.mark


def join_gaps(before: Gap, after: Gap) -> Gap:
    """Return the gap that remains where the sentence between ``before`` and ``after`` was taken out.

    Inside a line that is the gap before.  At the end of a line or paragraph it is the gap after.  Where whole
    lines went, mark included, it is the wider of the two, with the indent and the mark of what follows.
    """
    if "\n" not in after.space:
        return before
    if "\n" not in before.space and not before.leads:
        return Gap(after.space, after.mark, before.leads, before.sent)
    breaks, _, indent = after.space.rpartition("\n")
    earlier = before.space.rpartition("\n")
    wider = before.leads or before.space.count("\n") >= after.space.count("\n")
    space = "".join(earlier[:2]) if wider else f"{breaks}\n"
    return Gap(space + indent, after.mark, before.leads, before.sent)


def last_gap(before: Gap, space: str) -> str:
    """Return what remains of the gap of the last sentence, taken out, and the white space after it."""
    return space.removeprefix(before.sent) if "\n" in space and not before.leads else ""


def split_at_long_gaps(text: str, run: int) -> tuple[list[str], int]:
    """Cut ``text`` behind every :data:`LONGEST_GAP` characters of white space in a row.

    ``run``: how many of them came before it.  Returns the parts, the last one perhaps empty, and how many
    there are at its end.
    """
    leading = len(text) - len(text.lstrip())
    ends = [LONGEST_GAP - run] if run + leading >= LONGEST_GAP else []
    ends += [found.end() for found in _LONG.finditer(text, ends[0] if ends else leading)]
    parts = [text[start:end] for start, end in pairwise([0, *ends, len(text)])]
    trailing = len(parts[-1]) - len(parts[-1].rstrip())
    goes_on = not ends and trailing == len(text)
    return parts, trailing + run if goes_on else trailing
