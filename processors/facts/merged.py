"""Facts that became part of another: how they do (requirement 1.4), how they come back, and which fact stands
for each.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import msgspec

from models.facts import Erasure, Fact, FactChange, FactStatus, Provenance
from processors.facts.claims import Claim, claim_of
from processors.facts.confidence import revived
from processors.facts.evidence import (
    Floor,
    Origin,
    Place,
    ceilings,
    floors,
    is_erased,
    is_same,
    is_under,
    newest,
    origin,
    place,
    with_ends,
)
from processors.facts.lines import (
    STUBS_LIMIT,
    Cause,
    Line,
    LocatedFact,
    recorded,
    unnamed,
    with_fact,
    with_stub,
)
from processors.facts.marks import Mark, marked
from processors.facts.stubs import Led, Stub, stub_of


class ResolvedClaim(NamedTuple):
    """``claim``: with line, id and opposite of the fact that stands for it.

    ``is_known``: the evidence is, to a fact that was corrected and merged before or after.  ``released``: what
    the fact was merged into and is not any more, and up to where evidence was known to that.
    """

    claim: Claim
    is_known: bool = False
    released: tuple[Led, tuple[Floor, ...]] | None = None


def resolved_claim(
    claim: Claim, evidence: Provenance, line_of: Callable[[str], Line], position: int, taken_back: str
) -> ResolvedClaim:
    """Return the fact that stands for a claim at a position in the log.

    ``taken_back``: the fact that the claim is made instead of, ``""`` if there is none.
    """
    own, line, is_known, first = claim, line_of(claim.line_id), False, None
    for _ in range(STUBS_LIMIT):
        stub = line.stub(own.fact_id)
        led = None if stub is None else stub.leads(position)
        if stub is None or led is None:
            break
        first = first or led
        is_known = is_known or is_under(evidence, led.floors)
        line = line_of(led.into_line)
        fact, rest = line.fact(led.into), line.stub(led.into)
        floors: tuple[Floor, ...] | None = None
        if rest is not None and (void := rest.voided(led.since, position)) is not None:
            floors = void.floors
        elif fact is None and rest is not None and rest.was_void(position):
            floors = rest.floors
        elif fact is not None and led.into == taken_back and fact.slot_id == claim.slot_id:
            floors = ceilings(fact.provenance, () if rest is None else rest.floors)
        if floors is not None:
            return ResolvedClaim(claim, is_known or is_under(evidence, floors), (first, floors))
        if fact is None and rest is None:
            return ResolvedClaim(claim, is_known)  # it is gone
        own = own._replace(line_id=led.into_line, fact_id=led.into)
        if fact is not None:
            own = own._replace(opposite_id=claim_of(fact).opposite_id)
    return ResolvedClaim(own, is_known)


def absorbed(
    partial: LocatedFact, whole: Line, own: Claim, erasure: Erasure | None, cause: Cause, since: int
) -> tuple[Fact, Stub, Line, Line]:
    """Return the merged partial fact, its stub, the line that it leaves, and the whole fact's line with it.

    The whole fact (``own``) inherits evidence, marks and the higher confidence (what supports the whole
    supports the part), but nothing that was erased of it.  The partial one stays on the topic, with a pointer
    (as in 3.4: never delete).
    """
    line_id, source, fact = partial
    merged = recorded(
        msgspec.structs.replace(
            unnamed(fact),
            status=FactStatus.MERGED_INTO,
            merged_into_id=own.fact_id,
            archived_at=cause.at,
            superseded_by=None,
        ),
        FactChange.MERGED,
        cause,
        fact,
    )
    known = source.stub(fact.fact_id)
    floors_before = known.floors if known else ()
    stub = stub_of(merged, known, into=own.fact_id, into_line=own.line_id, floors=floors_before, since=since)
    moved = [mark for mark in source.marks if mark.fact_id == fact.fact_id]
    left = msgspec.structs.replace(
        with_stub(source, stub),
        marks=tuple(mark for mark in source.marks if mark.fact_id != fact.fact_id),
    )
    marks = whole.marks
    for mark in moved:
        if mark.by != own.fact_id:  # the whole has ended the part, not itself
            marks = _with_ends(marks, mark, fact_id=own.fact_id, opposite_id=own.opposite_id)
    absorbed_lines = dict.fromkeys((*whole.absorbed, line_id, *left.absorbed))
    into = msgspec.structs.replace(whole, marks=marks, absorbed=tuple(absorbed_lines)[-STUBS_LIMIT:])
    stays = into.fact(own.fact_id)
    if stays is not None:
        into = with_fact(into, _inheriting(fact, stays, erasure))
    return merged, stub, left, into


def is_kept_whole(fact: Fact) -> bool:
    """Return whether a merged fact can be restored: no later evidence has been added to it."""
    if fact.status is not FactStatus.MERGED_INTO or not fact.changes:
        return False
    return fact.changes[-1].change is FactChange.MERGED and fact.changes[-1].window_id is None


def unmerged(fact: Fact) -> Fact:
    """Return a merged fact as what it was."""
    return msgspec.structs.replace(fact, status=FactStatus.ACTIVE, merged_into_id=None, archived_at=None)


def brought_back(line: Line, stub: Stub, archived: Fact, cause: Cause) -> tuple[Line, Fact]:
    """Return a merged fact's own line with the fact in it again as it was, and that fact.

    ``archived``: what the stub keeps of it.  What has inherited from it stays as it is, and nothing is left of
    the stub.
    """
    version = max(stub.version, archived.version) + 1
    back = recorded(unmerged(archived), FactChange.KEPT, cause, archived, version)
    marks = line.marks
    for mark in stub.marks:
        marks = _with_ends(marks, mark)
    return with_fact(msgspec.structs.replace(line, marks=marks), back), back


def _with_ends(marks: tuple[Mark, ...], mark: Mark, **changes: str) -> tuple[Mark, ...]:
    """Return marks with the first and the last time of another line's."""
    for end in (mark.first, mark.last):
        marks = marked(marks, msgspec.structs.replace(mark, first=end, last=end, **changes))
    return marks


def _inheriting(partial: Fact, whole: Fact, erasure: Erasure | None) -> Fact:
    evidence = tuple(each for each in partial.provenance if not is_erased(each, erasure))
    if not evidence:
        return whole
    inherited = tuple(
        theirs for theirs in evidence if not any(is_same(theirs, each) for each in whole.provenance)
    )
    dropped = 0 if erasure is not None else partial.evidence_count - len(partial.provenance)
    bounds = (floors(partial) if dropped else {}), floors(whole)
    ours = with_ends(whole.provenance, evidence)
    kept = tuple(each for each in (*inherited, *ours) if _is_above(each, bounds))
    more = msgspec.structs.replace(
        whole,
        confidence=max(whole.confidence, partial.confidence),
        evidence_count=whole.evidence_count + len(inherited) + dropped,
        provenance=newest(kept),
        learned_at=min(whole.learned_at, partial.learned_at),
        last_evidence_at=max(whole.last_evidence_at, partial.last_evidence_at),
    )
    return revived(more)


def _is_above(evidence: Provenance, bounds: tuple[dict[Origin, Place], ...]) -> bool:
    return all(origin(evidence) not in floor or place(evidence) >= floor[origin(evidence)] for floor in bounds)
