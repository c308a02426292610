"""Marks of a line: what was claimed when, sorted by when it was said, whatever order they arrive in."""

from __future__ import annotations

from bisect import bisect_right
from datetime import datetime
from enum import StrEnum

import msgspec

from models.facts import FactStatus, Provenance
from models.messages import Timestamp
from models.statements import Polarity
from processors.facts.claims import Claim

#: How many marks a line keeps.
MARKS_LIMIT = 32


class Moment(msgspec.Struct, frozen=True, array_like=True, order=True):
    """When something was said: by the person's clock (:mod:`models.clocks`), the log's, and its place."""

    sent_at: Timestamp
    arrived_at: Timestamp
    offset: int = 0


class MarkKind(StrEnum):
    """Content of a mark.  ``voided``: it never was so, something else took its place.  ``replaced``: it was
    so until a fact of another line took its place.
    """

    HOLDS = "holds"
    ENDED = "ended"
    CORRECTED = "corrected"
    VOIDED = "voided"
    REPLACED = "replaced"


#: What becomes of a fact that held until then.
ENDS = {MarkKind.ENDED: FactStatus.ENDED, MarkKind.REPLACED: FactStatus.SUPERSEDED}


class Mark(msgspec.Struct, frozen=True, array_like=True):
    """A claim, from when it was first said to when it was last, with nothing else said in between.

    ``by``: the fact that ended, voided or replaced it, if it was another.  ``tentative``: it was said unsurely.
    ``since``: when it began, if that was said.
    """

    first: Moment
    last: Moment
    fact_id: str
    opposite_id: str
    polarity: Polarity
    kind: MarkKind
    by: str = ""
    tentative: bool = False
    since: Timestamp | None = None


def moment_of(evidence: Provenance) -> Moment:
    """When evidence was said."""
    return Moment(evidence.said_at, evidence.arrived_at, max(evidence.offsets, default=0))


def mark_of(
    claim: Claim,
    at: Moment,
    kind: MarkKind,
    by: str = "",
    *,
    tentative: bool = False,
    since: datetime | None = None,
) -> Mark:
    """Return the mark of a claim at one moment.  Only a claim that something holds can be tentative."""
    tentative = tentative and kind is MarkKind.HOLDS
    if kind in (*ENDS, MarkKind.VOIDED):
        since = None
    return Mark(at, at, claim.fact_id, claim.opposite_id, claim.polarity, kind, by, tentative, since)


def marked(marks: tuple[Mark, ...], new: Mark) -> tuple[Mark, ...]:
    """Return the marks with a new one, of one moment; the same object if it says nothing new."""
    at = new.first
    if any(_is_within(new, mark) for mark in marks):
        return marks
    index = bisect_right(marks, at, key=lambda mark: mark.first)
    before, after = marks[:index], marks[index:]
    if before and before[-1].last > at:
        # Said in between: what was claimed before and after is two claims now.
        around = before[-1]
        before = (*before[:-1], msgspec.structs.replace(around, last=around.first))
        after = (msgspec.structs.replace(around, first=around.last), *after)
    elif new.kind is MarkKind.HOLDS:
        if before and _is_same_claim(before[-1], new) and (not after or not _is_same_claim(after[0], new)):
            return (*before[:-1], msgspec.structs.replace(before[-1], last=max(before[-1].last, at)), *after)
        if after and _is_same_claim(after[0], new):
            return (*before, msgspec.structs.replace(after[0], first=at), *after[1:])
    return (*before, new, *after)


def _is_same_claim(one: Mark, other: Mark) -> bool:
    return (one.kind, one.fact_id, one.by, one.tentative, one.since) == (
        other.kind,
        other.fact_id,
        other.by,
        other.tentative,
        other.since,
    )


def _is_within(new: Mark, mark: Mark) -> bool:
    """Return whether a repeated statement adds nothing to the mark."""
    surely = msgspec.structs.replace(new, tentative=mark.tentative and new.tentative)
    return _is_same_claim(mark, surely) and mark.first <= new.first <= mark.last
