"""What somebody says, minute by minute, and what is known of it: folds of facts without a stage around them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import msgspec
import samples

from models import ids
from models.facts import Erasure, Fact, FactCandidate, Provenance
from models.statements import Assertion, Polarity, attribute_of
from processors.facts.claims import Claim, claim_of
from processors.facts.consolidation import Consolidation
from processors.facts.evidence import learned, reinforced
from processors.facts.lines import Cause, Line, LocatedFact
from processors.facts.merging.applying import merged

NOON = datetime(2025, 3, 1, 12, tzinfo=UTC)


def minute(number: int) -> datetime:
    """When something was sent."""
    return NOON + timedelta(minutes=number)


def arrival(number: int) -> datetime:
    """When something that was sent at this minute arrived."""
    return NOON + timedelta(days=1, minutes=number)


def evidence(offset: int, partition: int = 0, **other: object) -> Provenance:
    """Said at the minute of its offset, one window and message each."""
    found = samples.evidence(
        "as it was said",
        at=minute(offset),
        conversation_id="c",
        window_id=f"w{partition}/{offset}",
        window_end_id=f"m{offset}",
        message_ids=(f"m{partition}/{offset}",),
        partition=partition,
        offsets=(offset,),
        arrived_at=arrival(offset),
    )
    return msgspec.structs.replace(found, **other)


def candidate(
    value: str, said: Provenance, confidence: float = 0.8, attribute: str = "home", **other: object
) -> FactCandidate:
    """Return the candidate that says it; ``other`` are its other fields."""
    known = attribute_of(attribute)
    assert known is not None
    name = ids.candidate_id(value, "c", said.message_ids)
    slot = {"kind": known.kind, "attribute": attribute, "value": value, "event_at": NOON}
    names = {"candidate_id": name, "tenant_id": "acme", "confidence": confidence}
    return msgspec.structs.replace(samples.candidate(f"{attribute} {value}", said, **names, **slot), **other)


def claimed(attribute: str, value: str, polarity: Polarity = Polarity.AFFIRMED) -> Claim:
    """What is claimed of ada."""
    return claim_of(candidate(value, evidence(0), attribute=attribute, polarity=polarity))


def told(*said: Provenance) -> Fact:
    """A fact with all of this evidence, in this order."""
    first, *rest = (candidate("Berlin", each) for each in said)
    fact = learned(first, claim_of(first), 1, None)
    for each in rest:
        fact = reinforced(fact, each)
    return fact


class Memory:
    """All that is known of ada: the state that the fold reads, and what it has published.

    ``folded``: lines that were stored before a crash with what is folded in again.
    """

    def __init__(self) -> None:
        self.lines: dict[str, Line] = {}
        self.places: dict[str, str] = {}
        self.erasures: dict[str, Erasure] = {}
        self.folded: set[str] = set()
        self.topic: dict[str, Fact] = {}
        self.position = 0

    def line(self, line_id: str) -> Line | None:
        return self.lines.get(line_id)

    def is_folded(self, line_id: str) -> bool:
        return line_id in self.folded

    def line_of(self, fact_id: str) -> str:
        return self.places.get(fact_id, fact_id)

    def erasure(self, fact_id: str) -> Erasure | None:
        return self.erasures.get(fact_id)

    def fold(self, said: FactCandidate) -> Consolidation:
        """Return what becomes of a candidate, and store nothing."""
        claim = claim_of(said)
        return Consolidation(said, claim, self.lines.get(claim.slot_id), self)

    def hears(self, said: FactCandidate) -> list[Fact]:
        """Fold a candidate in; return what is published."""
        self.position += 1
        done = self.fold(said)
        self.lines |= {**done.lines, claim_of(said).slot_id: done.slot}
        for fact in done.changes:
            self.places[fact.fact_id] = claim_of(fact).line_id
            self.topic[fact.fact_id] = fact
        return done.changes

    def says(
        self,
        attribute: str,
        value: str,
        at: int,
        assertion: Assertion = Assertion.HOLDS,
        *,
        confidence: float = 0.8,
        **other: object,
    ) -> list[Fact]:
        """Ada says it at this minute; ``other`` are fields of the candidate."""
        said = other.pop("provenance", evidence(at))
        assert isinstance(said, Provenance)
        return self.hears(candidate(value, said, confidence, attribute, assertion=assertion, **other))

    def merges(self, attribute: str, part: str, whole: str, at: int) -> None:
        """Consolidation makes one fact part of another, at this minute."""
        goes, stays = (self._found(attribute, value) for value in (part, whole))
        done = merged(stays, goes, self.erasures.get(stays.fact.fact_id), Cause("", arrival(at)))
        assert done is not None
        self.lines |= {stays.line_id: done.into, goes.line_id: done.left}
        self.topic |= {fact.fact_id: fact for fact in (*done.other, *done.stays)}

    def _found(self, attribute: str, value: str) -> LocatedFact:
        claim = claimed(attribute, value)
        line = self.lines[claim.line_id]
        fact = line.fact(claim.fact_id)
        assert fact is not None
        return LocatedFact(claim.line_id, line, fact)

    def known(self, attribute: str, value: str, polarity: Polarity = Polarity.AFFIRMED) -> Fact:
        """The latest version of a fact."""
        return self.topic[claimed(attribute, value, polarity).fact_id]

    def of(self, attribute: str, value: str) -> Line:
        """The line that a value stands in."""
        return self.lines[claimed(attribute, value).line_id]
