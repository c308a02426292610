"""A partial statement and the one that completes it become one fact (requirement 1.4)."""

from __future__ import annotations

import msgspec

from models.facts import Erasure, Fact, FactChange, FactStatus, Provenance
from processors.facts.claims import Claim
from processors.facts.confidence import revived
from processors.facts.evidence import (
    Origin,
    Place,
    floors,
    is_erased,
    is_same,
    newest,
    origin,
    place,
    with_ends,
)
from processors.facts.lines import STUBS_LIMIT, Cause, Line, alone, recorded, relabelled, with_fact, with_stub
from processors.facts.stubs import Stub, conversations_of
from processors.facts.timeline import marked


def absorbed(
    source: Line,
    partial: Fact,
    partial_line_id: str,
    target: Line,
    own: Claim,
    erasure: Erasure | None,
    cause: Cause,
    position: int,
) -> tuple[Fact, Stub, Line, Line]:
    """Return the merged partial fact, its stub, the line that it leaves, and the whole fact's line with it.

    The whole fact inherits evidence, marks and the higher confidence (what supports the whole supports the
    part), but nothing that was erased of it.  The partial one stays on the topic, with a pointer (as in 3.4:
    never delete).  If both are in one line, both lines returned are that one.
    """
    is_one_line = partial_line_id == own.line_id
    merged = recorded(
        msgspec.structs.replace(
            alone(partial),
            status=FactStatus.MERGED_INTO,
            merged_into_id=own.fact_id,
            archived_at=cause.at,
            superseded_by=None,
        ),
        FactChange.MERGED,
        partial.version + 1,
        cause,
        partial.confidence,
    )
    known = source.stub(partial.fact_id)
    stub = Stub(
        partial.fact_id,
        merged.version,
        own.fact_id,
        own.line_id,
        known.floors if known else (),
        position,
        partial.slot_id,
        partial.tenant_id,
        partial.user_id,
        conversations_of(partial),
        voids=known.voids if known else (),
        led=known.led if known else (),
    )
    moved = [mark for mark in source.marks if mark.fact_id == partial.fact_id]
    left = msgspec.structs.replace(
        with_stub(source, stub),
        marks=tuple(mark for mark in source.marks if mark.fact_id != partial.fact_id),
    )
    into = left if is_one_line else target
    marks = into.marks
    inherited = [mark for mark in moved if mark.by != own.fact_id]  # the whole has ended the part, not itself
    for mark in relabelled(inherited, partial.fact_id, own.fact_id, own.opposite_id):
        for end in (mark.first, mark.last):
            marks = marked(marks, msgspec.structs.replace(mark, first=end, last=end))
    absorbed_lines = into.absorbed if is_one_line else (*into.absorbed, partial_line_id, *left.absorbed)
    into = msgspec.structs.replace(
        into, marks=marks, absorbed=tuple(dict.fromkeys(absorbed_lines))[-STUBS_LIMIT:]
    )
    whole = into.fact(own.fact_id)
    if whole is not None:
        into = with_fact(into, _inheriting(partial, whole, erasure))
    return merged, stub, into if is_one_line else left, into


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
    back = unmerged(archived)
    version = max(stub.version, archived.version) + 1
    back = recorded(back, FactChange.KEPT, version, cause, archived.confidence)
    marks = line.marks
    for mark in stub.marks:
        for end in (mark.first, mark.last):
            marks = marked(marks, msgspec.structs.replace(mark, first=end, last=end))
    return with_fact(msgspec.structs.replace(line, marks=marks), back), back


def _inheriting(partial: Fact, whole: Fact, erasure: Erasure | None) -> Fact:
    evidence = tuple(each for each in partial.provenance if not is_erased(each, erasure))
    if not evidence:
        return whole
    inherited = tuple(
        theirs for theirs in evidence if not any(is_same(theirs, each) for each in whole.provenance)
    )
    let_go = 0 if erasure is not None else partial.evidence_count - len(partial.provenance)
    bounds = (floors(partial) if let_go else {}), floors(whole)
    ours = with_ends(whole.provenance, evidence)
    kept = tuple(each for each in (*inherited, *ours) if _is_above(each, bounds))
    more = msgspec.structs.replace(
        whole,
        confidence=max(whole.confidence, partial.confidence),
        evidence_count=whole.evidence_count + len(inherited) + let_go,
        provenance=newest(kept),
        learned_at=min(whole.learned_at, partial.learned_at),
        last_evidence_at=max(whole.last_evidence_at, partial.last_evidence_at),
    )
    return revived(more)


def _is_above(evidence: Provenance, bounds: tuple[dict[Origin, Place], ...]) -> bool:
    return all(origin(evidence) not in floor or place(evidence) >= floor[origin(evidence)] for floor in bounds)
