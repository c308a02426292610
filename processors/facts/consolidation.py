"""Outcome of a candidate: a new fact, more evidence for one, the end or the correction of others.

Pure decisions for the facts stage (requirement 3.4).  Nothing here depends on when it is decided: times are
those of the messages.  And nothing depends on a state that only later candidates made: a batch whose state was
stored in part is read again, the slot's own line is stored last, and of the other lines those that were stored
already are left as they are (:meth:`Lines.is_folded`).
"""

from __future__ import annotations

from typing import Protocol

import msgspec

from models.errors import InvalidRecord
from models.facts import Erasure, Fact, FactCandidate, FactChange
from models.statements import Assertion, Polarity
from processors.facts.claims import Claim, claim_of
from processors.facts.evidence import Floor, is_counted, is_erased, is_tentative, is_under, learned, reinforced
from processors.facts.lines import (
    VALUES_LIMIT,
    Cause,
    Found,
    Latest,
    Line,
    cause_of,
    ended,
    settled,
    with_fact,
)
from processors.facts.marks import ANY, Moment, Said, mark_of, marked, moment_of
from processors.facts.refinement import Standing, absorbed, brought_back, standing, stands_for
from processors.facts.stubs import Led, Stub, released

_SAID = {
    Assertion.HOLDS: Said.HOLDS,
    Assertion.ENDED: Said.ENDED,
    Assertion.CORRECTED: Said.CORRECTED,
}


class Lines(Protocol):
    """The state that a fold may read, and where in the log its candidate stands."""

    @property
    def position(self) -> int:
        """Return where the candidate stands: it grows from one to the next."""
        ...

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

    def __init__(self, candidate: FactCandidate, slot: Line | None, known: Lines) -> None:
        self._known = known
        self._claim = claim_of(candidate)
        self._said = candidate
        if self._assertion() is Said.ENDED:
            ending = msgspec.structs.replace(candidate.provenance, ends=True, since=None, since_precision=None)
            self._said = msgspec.structs.replace(candidate, provenance=ending)
        self._at = moment_of(candidate.provenance)
        self.slot = slot or Line(self._claim.single)
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

    def _settle(self, line_id: str, before: Line, after: Line, about: str) -> None:
        if after is not before:
            self._put(line_id, *settled(before, after, self._cause(about)))

    def _cause(self, fact_id: str) -> Cause:
        return cause_of(fact_id, self._said.provenance, self._known.position)

    # -- the candidate --------------------------------------------------------------------------------------

    def _fold(self) -> None:
        claim, evidence = self._claim, self._said.provenance
        stands = standing(claim, evidence, self._line, self._known.position, self._taken_back())
        own = stands.claim
        erasure = self._known.erasure(own.fact_id)
        if is_erased(evidence, self._known.erasure(claim.fact_id)) or is_erased(evidence, erasure):
            return
        if not self._take(stands, erasure) and not self._known.is_folded(own.line_id):
            # Not even its refinements: a replay could meet a partial fact that is younger than the candidate.
            return
        if not claim.is_none and not claim.single:
            self._note_value(own)
        if claim.is_none and not claim.single:
            self._end_values(own)
        self._deny_merged(own)
        if self._said.corrects:
            self._void_named(self._said.corrects, own)
        for partial_id in self._said.refines:
            self._refine(partial_id, own, erasure)

    def _taken_back(self) -> str:
        """Return the fact that the claim is made instead of, ``""`` if there is none."""
        if self._said.corrects:
            return self._said.corrects
        latest, here = self.slot.latest, self._said.provenance.conversation_id
        if self._assertion() is not Said.CORRECTED or not self._said.attribute or latest is None:
            return ""
        if latest.fact_id == self._claim.fact_id or latest.conversation_id != here or latest.at > self._at:
            return ""
        return stands_for(latest.fact_id, latest.line_id, self._line, self._known.position)

    def _take(self, stands: Standing, erasure: Erasure | None) -> bool:
        """Count the evidence, once, and mark when it was said; return whether it is new."""
        own = stands.claim
        before = self._line(own.line_id)
        fact, said = before.fact(own.fact_id), self._assertion()
        evidence = self._said.provenance
        stub = before.stub(own.fact_id)
        if fact is None and (
            stands.is_known or is_under(evidence, before.floors if stub is None else stub.floors)
        ):
            return False
        if fact is None and stub is not None and stub.fact is not None and stands.released is not None:
            before, fact = self._bring_back(before, stub, stub.fact, *stands.released)
            stub = before.stub(own.fact_id)
        if fact is not None:
            let_go = stands.is_known or (stub is not None and is_under(evidence, stub.floors))
            if let_go or is_counted(fact, evidence):
                return False
        unsure = is_tentative(self._said)
        marks = marked(before.marks, mark_of(own, self._at, said, tentative=unsure, since=evidence.since))
        if own.polarity is Polarity.AFFIRMED and not own.single:
            for none, at in self._nones():
                if marks[0].first < at:
                    marks = marked(marks, mark_of(own, at, Said.ENDED, none))
        after = before if marks is before.marks else msgspec.structs.replace(before, marks=marks)
        if fact is None:
            after = with_fact(
                after, learned(self._said, own, before.next_version(own.fact_id, erasure), erasure)
            )
            if stub is not None and stands.released is not None:
                rest = released(stub, *stands.released, self._known.position)
                after = msgspec.structs.replace(after, stubs=(*after.stubs, rest))
        else:
            after = with_fact(after, reinforced(fact, self._said, own))
        self._settle(own.line_id, before, after, own.fact_id)
        return True

    def _bring_back(
        self, before: Line, stub: Stub, archived: Fact, led: Led, floors: tuple[Floor, ...]
    ) -> tuple[Line, Fact]:
        """Have a merged fact stand for itself again, as it was; ``floors``: what was known to the other."""
        line, back = brought_back(before, stub, archived, self._cause(led.into))
        rest = released(stub, led, floors, self._known.position)
        line = msgspec.structs.replace(line, stubs=(*line.stubs, rest))
        self._put(claim_of(back).line_id, line, [back])
        return line, back

    def _assertion(self) -> Said:
        """An end without a value is a claim of its own: that nothing fills the slot."""
        said = _SAID[self._said.assertion]
        return Said.HOLDS if self._claim.is_none and said is Said.ENDED else said

    # -- slots that hold many values --------------------------------------------------------------------------

    def _nones(self) -> list[tuple[str, Moment]]:
        """Return when nothing filled the slot, and which fact says so."""
        nones = [mark for mark in self.slot.marks if mark.is_none]
        return [(mark.fact_id, at) for mark in nones for at in sorted({mark.first, mark.last})]

    def _note_value(self, own: Claim) -> None:
        """Remember in the slot's own line that it holds a value, and which came last."""
        claim, said = self._claim, self._assertion()
        if said is Said.CORRECTED and self._said.attribute:
            self._void_latest(own.fact_id)
        if claim.polarity is not Polarity.AFFIRMED or said is Said.ENDED or not self._said.attribute:
            return
        before = self.slot
        after = msgspec.structs.replace(
            before,
            marks=marked(before.marks, mark_of(ANY, self._at, Said.HOLDS)),
            values=before.values
            if claim.line_id in before.values
            else (*before.values, claim.line_id)[-VALUES_LIMIT:],
            latest=self._latest(before.latest),
        )
        self._settle(claim.slot_id, before, after, claim.fact_id)

    def _latest(self, before: Latest | None) -> Latest:
        if before is not None and before.at > self._at:
            return before
        claim = self._claim
        return Latest(claim.line_id, claim.fact_id, self._at, self._said.provenance.conversation_id)

    def _void_latest(self, by: str) -> None:
        """Take back the value that was named before in this conversation: "a cat, no, I mean a dog"."""
        latest, instead = self.slot.latest, "" if self._said.corrects else self._taken_back()
        if latest is not None and instead not in ("", by):
            self._inject(latest.line_id, latest.fact_id, self._at, Said.VOIDED, by)

    def _void_named(self, fact_id: str, own: Claim) -> None:
        """Take back the fact that this is said instead of."""
        line_id = self._known.line_of(fact_id)
        fact = self._line(line_id).fact(fact_id)
        if fact is not None and (fact.slot_id, fact.user_id) == (own.slot_id, self._said.user_id):
            self._inject(line_id, fact_id, self._at, Said.VOIDED, own.fact_id)

    def _end_values(self, none: Claim) -> None:
        """End what the slot held: the latest values of it."""
        if self._assertion() is Said.CORRECTED:
            self._void_latest(none.fact_id)
        for line_id in self.slot.values:
            self._inject(line_id, line_id, self._at, Said.ENDED, none.fact_id)

    def _deny_merged(self, own: Claim) -> None:
        """Apply a denial of a merged fact to the fact that stands for it."""
        stub = self._line(own.line_id).stub(own.opposite_id)
        if stub is not None and stub.into and self._assertion() is not Said.ENDED:
            self._inject(own.line_id, own.opposite_id, self._at, Said.ENDED, own.fact_id)

    def _inject(self, line_id: str, fact_id: str, at: Moment, said: Said, by: str) -> None:
        """Mark the end of a fact that something else in its slot has ended."""
        before = self._line(line_id)
        stub = before.stub(fact_id)
        if stub is not None and stub.into:
            if stub.into_line != line_id:
                self._inject(stub.into_line, stub.into, at, said, by)
            return
        fact = before.fact(fact_id)
        if fact is None:
            return
        if (done := ended(before, fact, said, at, self._cause(by))) is not None:
            self._put(line_id, *done)

    # -- partial statements -----------------------------------------------------------------------------------

    def _refine(self, partial_id: str, own: Claim, erasure: Erasure | None) -> None:
        """Merge a partial fact into the one that says the same and more."""
        partial_line_id = self._known.line_of(partial_id)
        if self._known.is_folded(partial_line_id):
            return  # if they were merged, both lines were stored; what else is there may be younger
        source = self._line(partial_line_id)
        partial = source.fact(partial_id)
        if partial is None or partial_id == own.fact_id:
            return
        if Polarity.NEGATED in (partial.polarity, own.polarity):
            return  # a denial that says more denies less: both stand
        if partial.slot_id != own.slot_id or partial.user_id != self._said.user_id:
            raise InvalidRecord("another_slot", f"refines names fact {partial_id}, which fills another slot")
        whole_line = self._line(own.line_id)
        whole = whole_line.fact(own.fact_id)
        if whole is None and not self._known.is_folded(own.line_id):
            return
        cause = self._cause(own.fact_id)
        found = Found(partial_line_id, source, partial)
        merged, _, left, into = absorbed(found, whole_line, own, erasure, cause, self._known.position)
        if whole is not None:
            self._put(own.line_id, *_merge_named(*settled(whole_line, into, cause), own.fact_id))
        if partial_line_id == own.line_id:
            self.changes.insert(-1, merged)  # the slot holds one value: what ends comes first
        else:
            self._put(partial_line_id, left, [merged])


def _merge_named(line: Line, changed: list[Fact], own_id: str) -> tuple[Line, list[Fact]]:
    """A change of the whole fact that comes from a merge is called one, in what is stored of it, too."""
    fact = next((each for each in changed if each.fact_id == own_id), None)
    if fact is None:
        return line, changed
    last = msgspec.structs.replace(fact.changes[-1], change=FactChange.MERGED)
    named = msgspec.structs.replace(fact, change=FactChange.MERGED, changes=(*fact.changes[:-1], last))
    facts = tuple(named if each is fact else each for each in line.facts)
    return msgspec.structs.replace(line, facts=facts), [named if each is fact else each for each in changed]
