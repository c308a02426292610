"""Outcome of a candidate: a new fact, more evidence for one, the end or the correction of others.

Pure decisions for the facts stage (requirement 3.4).  Nothing here depends on when it is decided: times are
those of the messages.  And nothing depends on a state that only later candidates made: a batch whose state was
stored in part is read again, the slot's own line is stored last, and of the other lines those that were stored
already are left as they are (:meth:`Lines.is_folded`).
"""

from __future__ import annotations

from typing import Protocol

import msgspec

from models.facts import Erasure, Fact, FactCandidate
from models.statements import Assertion
from processors.facts.claims import Claim, claim_of
from processors.facts.evidence import is_counted, is_erased, is_tentative, is_under, learned, reinforced
from processors.facts.lines import Cause, Line, cause_of, ended, settled, with_fact
from processors.facts.marks import MarkKind, mark_of, marked, moment_of
from processors.facts.merged import ResolvedClaim, brought_back, resolved_claim
from processors.facts.stubs import released

_KINDS = {
    Assertion.HOLDS: MarkKind.HOLDS,
    Assertion.ENDED: MarkKind.ENDED,
    Assertion.CORRECTED: MarkKind.CORRECTED,
}


class Lines(Protocol):
    """The state that a fold may read; ``position``: where in the log its candidate stands, which grows."""

    @property
    def position(self) -> int: ...

    def line(self, line_id: str) -> Line | None:
        """Return a line as it is now."""
        ...

    def is_folded(self, line_id: str) -> bool:
        """Say whether the candidate was folded into this line before."""
        ...

    def line_of(self, fact_id: str) -> str:
        """Return the id of the line that a fact is in."""
        ...

    def erasure(self, fact_id: str) -> Erasure | None:
        """Return the erasure record of a fact."""
        ...


class Consolidation:
    """One candidate, folded in.

    ``slot``: the line of the slot afterwards, which is stored last; ``lines``: the others that changed, in the
    order of storing, a line before those whose facts were merged into it; ``changes``: facts to publish, in
    order.
    """

    def __init__(self, candidate: FactCandidate, claim: Claim, slot: Line | None, known: Lines) -> None:
        self._known = known
        self._claim = claim
        self._candidate = candidate
        self._at = moment_of(candidate.provenance)
        self._because = cause_of("", candidate.provenance, known.position)
        self._kind = _KINDS[candidate.assertion]
        if self._kind is MarkKind.ENDED:
            ending = msgspec.structs.replace(candidate.provenance, ends=True, since=None, since_precision=None)
            self._candidate = msgspec.structs.replace(candidate, provenance=ending)
        self.slot = slot or Line(claim.single)
        self.lines: dict[str, Line] = {}
        self.changes: list[Fact] = []
        self._fold()

    # -- the lines ------------------------------------------------------------------------------------------

    def _line(self, line_id: str) -> Line:
        if line_id == self._claim.slot_id:
            return self.slot
        return self.lines.get(line_id) or self._known.line(line_id) or Line(False)

    def _put(self, line_id: str, line: Line, changed: list[Fact]) -> None:
        if line_id == self._claim.slot_id:
            self.slot = line
        elif self._known.is_folded(line_id):
            return
        else:
            self.lines[line_id] = line  # where it stood, if it changed before
        self.changes += changed

    def _cause(self, fact_id: str) -> Cause:
        return msgspec.structs.replace(self._because, fact_id=fact_id)

    # -- the candidate --------------------------------------------------------------------------------------

    def _fold(self) -> None:
        claim, evidence, known = self._claim, self._candidate.provenance, self._known
        stands = resolved_claim(claim, evidence, self._line, known.position, self._candidate.corrects)
        own = stands.claim
        erasure = known.erasure(own.fact_id)
        if is_erased(evidence, known.erasure(claim.fact_id)) or is_erased(evidence, erasure):
            return
        if not self._take(stands, erasure) and not known.is_folded(own.line_id):
            return
        denied = self._line(own.line_id).stub(own.opposite_id)
        if denied is not None and denied.into and self._kind is not MarkKind.ENDED:
            self._end(own.line_id, own.opposite_id, MarkKind.ENDED, own.fact_id)
        if self._candidate.corrects:
            line_id = known.line_of(self._candidate.corrects)
            wrong = self._line(line_id).fact(self._candidate.corrects)
            if wrong is not None and (wrong.slot_id, wrong.user_id) == (own.slot_id, self._candidate.user_id):
                self._end(line_id, wrong.fact_id, MarkKind.VOIDED, own.fact_id)

    def _take(self, stands: ResolvedClaim, erasure: Erasure | None) -> bool:
        """Count the evidence, once, and mark when it was said; return whether it is new."""
        own, evidence = stands.claim, self._candidate.provenance
        before = self._line(own.line_id)
        fact, stub = before.fact(own.fact_id), before.stub(own.fact_id)
        rest = None  # what is left of the stub of one that stands for itself again
        if stub is not None and stands.released is not None:
            rest = released(stub, *stands.released, self._known.position)
        if fact is None:
            if stands.is_known or is_under(evidence, before.floors if stub is None else stub.floors):
                return False
            if stub is not None and stub.fact is not None and rest is not None and stands.released is not None:
                back, fact = brought_back(before, stub, stub.fact, self._cause(stands.released[0].into))
                before, stub, rest = msgspec.structs.replace(back, stubs=(*back.stubs, rest)), rest, None
                self._put(claim_of(fact).line_id, before, [fact])
        if fact is not None:
            is_old = stands.is_known or (stub is not None and is_under(evidence, stub.floors))
            if is_old or is_counted(fact, evidence):
                return False
        unsure = is_tentative(self._candidate)
        mark = mark_of(own, self._at, self._kind, tentative=unsure, since=evidence.since)
        marks = marked(before.marks, mark)
        after = msgspec.structs.replace(before, marks=marks)
        if fact is None:
            version = before.next_version(own.fact_id, erasure)
            after = with_fact(after, learned(self._candidate, own, version, erasure))
            if rest is not None:
                after = msgspec.structs.replace(after, stubs=(*after.stubs, rest))
        else:
            after = with_fact(after, reinforced(fact, self._candidate))
        self._put(own.line_id, *settled(before, after, self._cause(own.fact_id)))
        return True

    def _end(self, line_id: str, fact_id: str, kind: MarkKind, by: str) -> None:
        """Mark the end of a fact that something else in its slot has ended, or of what stands for it."""
        line = self._line(line_id)
        stub = line.stub(fact_id)
        if stub is not None and stub.into:
            self._end(stub.into_line, stub.into, kind, by)
            return
        fact = line.fact(fact_id)
        done = None if fact is None else ended(line, fact, kind, self._at, self._cause(by))
        if done is not None:
            self._put(line_id, *done)
