"""A line of facts that exclude one another, as the stage keeps it, and what a new mark changes in it.

State of a slot that holds one value is one line.  A slot that holds many has a line for each value.  What fits
no slot is a value of the slot without a name.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import msgspec

from models.facts import CHANGES_LIMIT, Erasure, Fact, FactChange, FactStatus, Provenance, Revision
from models.messages import Timestamp
from processors.facts.claims import claim_of
from processors.facts.evidence import Floor, ceilings
from processors.facts.marks import Mark, MarkKind, Moment, mark_of, marked
from processors.facts.stubs import Given, Stub, dropped_stub, voided_stub
from processors.facts.timeline import Verdict, trimmed, verdicts

#: How many changes and pieces of evidence a line's facts name together, so that it stays a small record.
ENTRIES_LIMIT = 512

#: How many merged and deprecated facts a line remembers, and how many were merged into its facts.
STUBS_LIMIT = 64

#: What a change of status is called.
_CHANGES = {
    FactStatus.ACTIVE: FactChange.REINFORCED,
    FactStatus.SUPERSEDED: FactChange.SUPERSEDED,
    FactStatus.CONTRADICTED: FactChange.CONTRADICTED,
    FactStatus.ENDED: FactChange.ENDED,
    FactStatus.DEPRECATED: FactChange.CORRECTED,
}


class Line(msgspec.Struct, frozen=True, tag="line"):
    """Marks, and the facts that they are about.

    ``absorbed``: the lines of facts that were merged into these; ``ended``: those of facts that these ended,
    outside their slot.  ``forgotten_version`` and ``floors``: of facts that were let go, the highest version,
    and up to where their evidence is known.  ``given``: what the latest merge gave; ``given_before``: what
    those before it did, the latest first.
    """

    single: bool
    marks: tuple[Mark, ...] = ()
    facts: tuple[Fact, ...] = ()
    stubs: tuple[Stub, ...] = ()
    absorbed: tuple[str, ...] = ()
    forgotten_version: int = 0
    floors: tuple[Floor, ...] = ()
    given: Given | None = None
    given_before: tuple[Given, ...] = ()
    ended: tuple[str, ...] = ()

    def fact(self, fact_id: str) -> Fact | None:
        """Return a fact of the line."""
        return next((fact for fact in self.facts if fact.fact_id == fact_id), None)

    def stub(self, fact_id: str) -> Stub | None:
        """Return the stub of a fact in this line."""
        return next((stub for stub in self.stubs if stub.fact_id == fact_id), None)

    def next_version(self, fact_id: str, erasure: Erasure | None) -> int:
        """Return the version of a fact that begins anew: it goes on from what was erased or let go of it."""
        stub = self.stub(fact_id)
        known = (
            0 if erasure is None else erasure.version,
            self.forgotten_version,
            0 if stub is None else stub.version,
        )
        return max(known) + 1


class Place(msgspec.Struct, frozen=True, tag="place"):
    """Line of a fact that does not share the line's id."""

    line_id: str


class LocatedFact(NamedTuple):
    """A fact, and the line that it is in."""

    line_id: str
    line: Line
    fact: Fact


class Cause(msgspec.Struct, frozen=True):
    """Cause of a change: the fact, the time, the window and message, and the candidate's position in the
    log.
    """

    fact_id: str
    at: Timestamp
    window_id: str | None = None
    message_id: str | None = None
    position: int = 0


def cause_of(fact_id: str, evidence: Provenance, position: int = 0) -> Cause:
    """Return the cause that evidence for a fact is."""
    message_id = evidence.message_ids[-1] if evidence.message_ids else None
    return Cause(fact_id, evidence.arrived_at, evidence.window_id, message_id, position)


def with_fact(line: Line, fact: Fact) -> Line:
    """Return the line with a fact added or replaced.

    Of one that was corrected before, what it rested on then stays known.
    """
    facts = (fact, *(other for other in line.facts if other.fact_id != fact.fact_id))
    stubs = tuple(stub for stub in line.stubs if stub.fact_id != fact.fact_id or not stub.into)
    return msgspec.structs.replace(line, facts=facts, stubs=stubs)


def with_stub(line: Line, stub: Stub) -> Line:
    """Return the line with a fact replaced by what is left of it."""
    return msgspec.structs.replace(
        line,
        facts=tuple(fact for fact in line.facts if fact.fact_id != stub.fact_id),
        stubs=(*(other for other in line.stubs if other.fact_id != stub.fact_id), stub)[-STUBS_LIMIT:],
    )


def with_ended(line: Line, line_id: str) -> Line:
    """Remember in the line of a fact that ended another where that is: its erasure takes the end back."""
    known = line.ended if line_id in line.ended else (*line.ended, line_id)[-STUBS_LIMIT:]
    return msgspec.structs.replace(line, ended=known)


def settled(
    before: Line, after: Line, cause: Cause, reason: FactChange | None = None
) -> tuple[Line, list[Fact]]:
    """Return the line as its marks say, and the facts that are not what they were ``before``, each a version
    on.

    First those that end, so that a slot never seems to hold two values.  ``reason``: what changes are called
    that come from no evidence.
    """
    found = verdicts(after.marks, after.single)
    changed: list[Fact] = []
    for fact in after.facts:
        old = before.fact(fact.fact_id)
        new = _judged(fact, found.get(fact.fact_id))
        if old is not None and new == old:
            continue
        new = _recorded(old, new, cause, reason)
        changed.append(unnamed(new) if new.is_void else new)
    changed.sort(key=lambda fact: fact.status is FactStatus.ACTIVE)
    by_id = {fact.fact_id: fact for fact in changed}
    line = msgspec.structs.replace(after, facts=tuple(by_id.get(fact.fact_id, fact) for fact in after.facts))
    for fact in changed:
        if fact.is_void:
            known = line.stub(fact.fact_id)
            line = with_stub(line, voided_stub(fact, cause.window_id, cause.position, known))
    return bounded(line, found), changed


def ended(line: Line, fact: Fact, kind: MarkKind, at: Moment, cause: Cause) -> tuple[Line, list[Fact]] | None:
    """Have ``cause.fact_id`` end or void a fact of a line at a time; ``None`` if that changes nothing.

    What was said again since then holds.
    """
    if kind is not MarkKind.VOIDED and line.marks and at < line.marks[0].first:
        return None
    marks = marked(line.marks, mark_of(claim_of(fact), at, kind, cause.fact_id))
    return None if marks is line.marks else settled(line, msgspec.structs.replace(line, marks=marks), cause)


def _judged(fact: Fact, verdict: Verdict | None) -> Fact:
    if verdict is None:
        return fact
    # What faded is back only when something supports it, not when its line is looked at again.
    faded = fact.has_faded and verdict.status is FactStatus.ACTIVE
    return msgspec.structs.replace(
        fact,
        status=fact.status if faded else verdict.status,
        valid_from=verdict.valid_from,
        valid_to=verdict.valid_to,
        superseded_by=verdict.superseded_by,
        past=verdict.past,
        tentative=verdict.tentative,
    )


def _recorded(old: Fact | None, new: Fact, cause: Cause, reason: FactChange | None) -> Fact:
    """Return a changed fact as its next version, with the change at the end of its history."""
    if old is None:
        return recorded(new, FactChange.CREATED, cause, None, new.version)
    is_own = new.status is old.status and new.fact_id == cause.fact_id
    change = reason or (FactChange.REINFORCED if is_own else _CHANGES[new.status])
    return recorded(new, change, cause, old, max(old.version, new.version) + 1)


def recorded(fact: Fact, change: FactChange, cause: Cause, old: Fact | None, version: int = 0) -> Fact:
    """Return a fact whose history ends with ``change``, in the version after ``old``, or in ``version``."""
    changed_at = max(fact.changed_at, cause.at)
    version = version or (1 if old is None else old.version + 1)
    revision = Revision(
        version=version,
        change=change,
        at=changed_at,
        confidence_before=None if old is None else old.confidence,
        confidence_after=fact.confidence,
        window_id=cause.window_id,
        message_id=cause.message_id,
        fact_id=None if cause.fact_id in ("", fact.fact_id) else cause.fact_id,
    )
    return msgspec.structs.replace(
        fact,
        change=change,
        version=version,
        changed_at=changed_at,
        changes=(*fact.changes, revision)[-CHANGES_LIMIT:],
    )


def unnamed(fact: Fact, other_id: str = "") -> Fact:
    """Return a fact whose history does not say in which words ``other_id`` has changed it, or any other fact.

    When another one is erased later, nobody could take it out of the record that is left of a fact that state
    lets go of.
    """
    changes = tuple(
        msgspec.structs.replace(each, window_id=None, message_id=None, fact_id=None)
        if each.fact_id is not None and other_id in ("", each.fact_id)
        else each
        for each in fact.changes
    )
    return msgspec.structs.replace(fact, changes=changes)


def bounded(line: Line, found: Mapping[str, Verdict]) -> Line:
    """Let go of the oldest marks beyond the limit, of facts without any, and of the past that is too much.

    What these facts rested on stays known.
    """
    marks = trimmed(line.marks, found)
    entries = {fact.fact_id: len(fact.changes) + len(fact.provenance) for fact in line.facts}
    held = {fact.fact_id for fact in line.facts if fact.status is FactStatus.ACTIVE}
    while sum(entries.values()) > ENTRIES_LIMIT:
        spare = next((mark.fact_id for mark in marks if mark.fact_id in entries.keys() - held), None)
        if spare is None:
            break
        del entries[spare]
        marks = tuple(mark for mark in marks if mark.fact_id != spare)
    if len(marks) == len(line.marks):
        return line
    named = {mark.fact_id for mark in marks}
    gone = [fact for fact in line.facts if fact.fact_id not in named]
    left = msgspec.structs.replace(
        line,
        marks=marks,
        forgotten_version=max((line.forgotten_version, *(fact.version for fact in gone))),
        floors=ceilings((each for fact in gone for each in fact.provenance), line.floors),
    )
    for fact in gone:
        left = with_stub(left, dropped_stub(fact, line.stub(fact.fact_id)))
    return left
