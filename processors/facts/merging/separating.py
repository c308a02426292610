"""A merge taken back: what was archived stands for itself again, with what it rested on.

What the one that stays has inherited goes with it; what was said of either since the merge stays where it was
counted.  Whatever order several merges are taken back in, the same evidence rests with the same facts.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import NamedTuple

import msgspec

from models.facts import Fact, FactChange
from processors.facts.claims import Claim, claim_of
from processors.facts.evidence import name_of
from processors.facts.lines import Cause, Found, Line, settled, with_fact, with_stub
from processors.facts.marks import Mark, Said, mark_of, marked, moment_of
from processors.facts.refinement import brought_back
from processors.facts.stubs import Stub, kept_of


class Separated(NamedTuple):
    """The line of the fact that stays, that of the one that is back, and what to publish of each."""

    into: Line
    left: Line
    stays: list[Fact]
    back: list[Fact]


def separated(whole: Found, left: Line, stub: Stub, through: Sequence[Stub], at: datetime) -> Separated | None:
    """Take a fact out of the one that stands for it; ``None`` if nothing is kept of what it was.

    ``through``: what is left of the facts in between, if it was merged into one that was merged itself.
    """
    if stub.fact is None or not stub.into:
        return None
    into_id, into, fact = whole
    given = set(stub.gave).intersection(*(each.gave for each in through))
    claim = claim_of(fact)._replace(line_id=into_id)
    lesser, marks = _without(fact, into.marks, claim, given, stub.let_go)
    confidence = fact.confidence if stub.narrowed <= 0.0 else 1.0 - (1.0 - fact.confidence) / stub.narrowed
    lesser = msgspec.structs.replace(lesser, confidence=min(1.0, max(0.0, confidence)))
    line = with_fact(msgspec.structs.replace(into, marks=marks), lesser)
    after, stays = settled(into, line, Cause(stub.fact_id, at), FactChange.KEPT)
    cause = Cause(fact.fact_id, at)
    with_it, back = brought_back(left, stub, stub.fact, cause)
    if (known := kept_of(stub)) is not None:
        with_it = msgspec.structs.replace(with_it, stubs=(*with_it.stubs, known))
    rest, changed = settled(with_it, with_it, cause, FactChange.KEPT)
    return Separated(after, rest, stays, [back, *changed])


def without_part(line: Line, stub: Stub, part: Stub) -> Line:
    """Return the line of an archived fact, which no longer holds what a ``part`` of it had given."""
    if stub.fact is None:
        return line
    claim = claim_of(stub.fact)
    archived, marks = _without(stub.fact, stub.marks, claim, part.gave, part.let_go)
    lesser = msgspec.structs.replace(
        stub,
        fact=archived,
        marks=marks,
        gave=tuple(each for each in stub.gave if each not in part.gave),
        let_go=max(0, stub.let_go - part.let_go),
    )
    return with_stub(line, lesser)


def _without(
    fact: Fact, marks: tuple[Mark, ...], claim: Claim, given: Collection[str], let_go: int
) -> tuple[Fact, tuple[Mark, ...]]:
    """Return a fact without some of its evidence, and the marks that are left if all of the rest is known."""
    kept = tuple(each for each in fact.provenance if name_of(each) not in given)
    count = max(fact.evidence_count - len(given) - let_go, len(kept), 1)
    lesser = msgspec.structs.replace(fact, provenance=kept, evidence_count=count)
    if count > len(kept):
        return lesser, marks
    heard = [*(each.arrived_at for each in kept), *(each.arrived_at for each in fact.support)]
    lesser = msgspec.structs.replace(
        lesser, learned_at=min(each.arrived_at for each in kept), last_evidence_at=max(heard)
    )
    left = tuple(mark for mark in marks if mark.fact_id != fact.fact_id or mark.said is not Said.HOLDS)
    for each in kept:
        left = marked(left, mark_of(claim, moment_of(each), Said.HOLDS, since=each.since))
    return lesser, left
