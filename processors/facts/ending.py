"""The end of a fact that a fact of another line tells: "I sold the car" ends "I have a car"."""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from models.facts import Fact, Provenance
from processors.facts.claims import claim_of
from processors.facts.lines import STUBS_LIMIT, Cause, Line, settled
from processors.facts.marks import Moment, Said, mark_of, marked


class Ended(NamedTuple):
    """The line of a fact that ended, and the facts to publish."""

    line: Line
    changes: list[Fact]


def latest(fact: Fact) -> Provenance:
    """Return the evidence of a fact that was said last: that which says that it holds, if any does."""
    return max(_holding(fact) or fact.provenance, key=_place)


def first_after(fact: Fact, older: Fact) -> Provenance | None:
    """Return the first evidence of a fact that was said after all of another; ``None`` if there is none."""
    end = latest(older).sent_at
    later = [each for each in _holding(fact) if each.sent_at > end]
    return min(later, key=_place) if later else None


def end(line: Line, fact: Fact, said: Said, at: Moment, cause: Cause) -> Ended | None:
    """End a fact of a line at the time when ``cause.fact_id`` was said; ``None`` if that changes nothing.

    What was said again since then holds.
    """
    if not line.marks or at < line.marks[0].first:
        return None
    mark = mark_of(claim_of(fact), at, said, cause.fact_id)
    marks = marked(line.marks, mark)
    if marks is line.marks:
        return None
    after, changes = settled(line, msgspec.structs.replace(line, marks=marks), cause)
    return Ended(after, changes)


def with_ended(line: Line, line_id: str) -> Line:
    """Remember in the line of a fact that ended another where that is: its erasure takes the end back."""
    if line_id in line.ended:
        return line
    return msgspec.structs.replace(line, ended=(*line.ended, line_id)[-STUBS_LIMIT:])


def _holding(fact: Fact) -> tuple[Provenance, ...]:
    return tuple(each for each in fact.provenance if not each.ends)


def _place(evidence: Provenance) -> Moment:
    return Moment(evidence.sent_at, evidence.arrived_at, max(evidence.offsets, default=0))
