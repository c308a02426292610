"""Steps of consolidation, done to the lines of facts: two become one, are two after all, or deny each other.

A step is about two facts, which may be in two lines.  The line of the one that stays is stored first; if only
that was stored before a crash, the other line follows from what it still holds.  What the one that stays has
inherited goes with a fact that is taken out of it again; what was said of either since the merge stays where it
was counted.  Whatever order several merges are taken back in, the same evidence rests with the same facts.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import NamedTuple

import msgspec

from models.facts import Erasure, Fact, FactChange, Revision
from processors.facts.claims import Claim, claim_of
from processors.facts.confidence import revived
from processors.facts.evidence import is_same, name_of
from processors.facts.lines import Cause, Line, LocatedFact, recorded, settled, with_fact, with_stub
from processors.facts.marks import Mark, MarkKind, mark_of, marked, moment_of
from processors.facts.merged import absorbed, brought_back
from processors.facts.merging.guards import may_merge
from processors.facts.stubs import Given, Stub, corrected_until, kept_of

#: How many merges into one line are known by what they gave: of more in one batch a crash may lose some.
_GIVEN_KEPT = 16


class Paired(NamedTuple):
    """The line of the fact that stays, that of the other, and what to publish of each."""

    into: Line
    left: Line
    stays: list[Fact]
    other: list[Fact]


def merged(
    stays: LocatedFact, goes: LocatedFact, erasure: Erasure | None, cause: Cause, *, is_folded: bool = False
) -> Paired | None:
    """Make a fact part of the one that ``stays``; ``None`` if they may not become one.

    What supports the one supports the other now, but nothing that was erased of it.  ``is_folded``: the line of
    the one that stays has been stored with it.
    """
    into_id, into, fact = stays
    left_id, left, other = goes
    if not _hold(fact, other) or not may_merge(fact, other) or into_id == left_id or _was_kept(fact, other):
        return None
    own = claim_of(fact)._replace(line_id=into_id)
    gone, stub, rest, joined = absorbed(
        goes, into, own, erasure, cause, corrected_until(into.stub(fact.fact_id))
    )
    after, changed = settled(into, joined, cause, FactChange.MERGED)
    known = [each for each in (into.given, *into.given_before) if each is not None]
    given = next((each for each in known if each.fact_id == gone.fact_id), None) if is_folded else None
    if given is None:
        given = _given(gone, fact, joined.fact(fact.fact_id) or fact)
    before = tuple(each for each in known if each.fact_id != gone.fact_id)[: _GIVEN_KEPT - 1]
    marks = tuple(mark for mark in left.marks if mark.fact_id == gone.fact_id)
    kept = {"gave": given.gave, "dropped": given.dropped, "narrowed": given.narrowed}
    rest = with_stub(rest, msgspec.structs.replace(stub, fact=gone, marks=marks, **kept))
    return Paired(msgspec.structs.replace(after, given=given, given_before=before), rest, changed, [gone])


def _given(gone: Fact, before: Fact, after: Fact) -> Given:
    gave = tuple(
        name_of(each)
        for each in gone.provenance
        if not any(is_same(each, known) for known in before.provenance)
    )
    gained = after.evidence_count - before.evidence_count
    return Given(
        gone.fact_id,
        gave=gave if gained else (),
        dropped=max(0, gained - len(gave)),
        narrowed=(1.0 - after.confidence) / (1.0 - before.confidence) if before.confidence < 1.0 else 1.0,
    )


def separated(whole: LocatedFact, left: Line, stub: Stub, through: Sequence[Stub], at: datetime) -> Paired:
    """Take a fact out of the one that stands for it.

    ``left``: the line of its ``stub``, which keeps what it was.  ``through``: what is left of the facts in
    between, if it was merged into one that was merged itself.
    """
    assert stub.fact is not None  # or nobody could take it out
    into_id, into, fact = whole
    given = set(stub.gave).intersection(*(each.gave for each in through))
    claim = claim_of(fact)._replace(line_id=into_id)
    lesser, marks = _without(fact, into.marks, claim, given, stub.dropped)
    confidence = fact.confidence if stub.narrowed <= 0.0 else 1.0 - (1.0 - fact.confidence) / stub.narrowed
    lesser = msgspec.structs.replace(lesser, confidence=min(1.0, max(0.0, confidence)))
    line = with_fact(msgspec.structs.replace(into, marks=marks), lesser)
    after, stays = settled(into, line, Cause(stub.fact_id, at), FactChange.KEPT)
    cause = Cause(fact.fact_id, at)
    with_it, back = brought_back(left, stub, stub.fact, cause)
    if (known := kept_of(stub)) is not None:
        with_it = msgspec.structs.replace(with_it, stubs=(*with_it.stubs, known))
    rest, changed = settled(with_it, with_it, cause, FactChange.KEPT)
    return Paired(after, rest, stays, [back, *changed])


def without_part(line: Line, stub: Stub, part: Stub) -> Line:
    """Return the line of an archived fact, which no longer holds what a ``part`` of it had given."""
    if stub.fact is None:
        return line
    claim = claim_of(stub.fact)
    archived, marks = _without(stub.fact, stub.marks, claim, part.gave, part.dropped)
    lesser = msgspec.structs.replace(
        stub,
        fact=archived,
        marks=marks,
        gave=tuple(each for each in stub.gave if each not in part.gave),
        dropped=max(0, stub.dropped - part.dropped),
    )
    return with_stub(line, lesser)


def _without(
    fact: Fact, marks: tuple[Mark, ...], claim: Claim, given: Collection[str], dropped: int
) -> tuple[Fact, tuple[Mark, ...]]:
    """Return a fact without some of its evidence, and the marks that are left if all of the rest is known."""
    kept = tuple(each for each in fact.provenance if name_of(each) not in given)
    count = max(fact.evidence_count - len(given) - dropped, len(kept), 1)
    lesser = msgspec.structs.replace(fact, provenance=kept, evidence_count=count)
    if count > len(kept):
        return lesser, marks
    heard = [*(each.arrived_at for each in kept), *(each.arrived_at for each in fact.support)]
    lesser = msgspec.structs.replace(
        lesser, learned_at=min(each.arrived_at for each in kept), last_evidence_at=max(heard)
    )
    left = tuple(mark for mark in marks if mark.fact_id != fact.fact_id or mark.kind is not MarkKind.HOLDS)
    for each in kept:
        left = marked(left, mark_of(claim, moment_of(each), MarkKind.HOLDS, since=each.since))
    return lesser, left


def half_as_sure(fact: Fact, cause: Cause) -> Fact | None:
    """Say of a fact that another denies it, and nothing decides which is so; ``None`` if it was said before."""
    if _last_about(fact, cause.fact_id) is not None:
        return None
    half = msgspec.structs.replace(fact, confidence=fact.confidence / 2)
    return recorded(half, FactChange.CONTRADICTED, cause, fact)


def as_sure_as_before(fact: Fact, cause: Cause) -> Fact | None:
    """Take back that another fact denies this one; ``None`` if nobody said so, or it was taken back."""
    denied = _last_about(fact, cause.fact_id)
    if denied is None or denied.change is not FactChange.CONTRADICTED:
        return None
    confidence = max(fact.confidence, denied.confidence_before or 0.0)
    kept = revived(msgspec.structs.replace(fact, confidence=confidence))
    return recorded(kept, FactChange.KEPT, cause, fact)


def _was_kept(one: Fact, other: Fact) -> bool:
    return any(
        last is not None and last.change is FactChange.KEPT
        for last in (_last_about(one, other.fact_id), _last_about(other, one.fact_id))
    )


def _last_about(fact: Fact, other_id: str) -> Revision | None:
    """Return the latest that was decided about a fact and another one; ``None`` if nothing was."""
    decided = (FactChange.CONTRADICTED, FactChange.KEPT)
    about = [each for each in fact.changes if each.fact_id == other_id and each.change in decided]
    return about[-1] if about else None


def _hold(*facts: Fact) -> bool:
    # What has faded holds, too: or what becomes of a step would depend on when it was read.
    return all(fact.holds and not fact.tentative for fact in facts)
