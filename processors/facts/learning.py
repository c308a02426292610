"""A candidate as a fact of its own, and as evidence for one that is known."""

from __future__ import annotations

import msgspec

from models.facts import Erasure, Fact, FactCandidate, FactChange, FactStatus
from models.statements import Assertion
from processors.facts.claims import Claim
from processors.facts.confidence import PASSIVE_FROM, revived
from processors.facts.evidence import is_same, newest, with_ends
from processors.facts.lines import Line

#: Seed 002: each piece of evidence closes a twentieth of the distance to certainty.
EVIDENCE_GAIN = 0.05


def is_tentative(said: FactCandidate) -> bool:
    """Return whether a statement is too uncertain to end a certain one."""
    return said.confidence < PASSIVE_FROM


def learned(said: FactCandidate, own: Claim, line: Line, erasure: Erasure | None) -> Fact:
    """Return the fact that a candidate makes; its version goes on from what was erased or let go of it."""
    evidence, stub = said.provenance, line.stub(own.fact_id)
    versions = [0 if erasure is None else erasure.version, line.forgotten_version]
    versions.append(0 if stub is None else stub.version)
    return Fact(
        fact_id=own.fact_id,
        slot_id=own.slot_id,
        tenant_id=said.tenant_id,
        user_id=said.user_id,
        kind=said.kind,
        subject=said.subject,
        attribute=said.attribute,
        value=said.value,
        polarity=own.polarity,
        event_at=said.event_at,
        event_precision=said.event_precision,
        statement=said.statement,
        confidence=said.confidence,
        importance=said.importance,
        why=said.why,
        status=FactStatus.ACTIVE,
        change=FactChange.CREATED,
        version=max(versions) + 1,
        evidence_count=1,
        provenance=(evidence,),
        valid_from=evidence.said_at,
        learned_at=evidence.arrived_at,
        changed_at=evidence.arrived_at,
        last_evidence_at=evidence.arrived_at,
        erased_until=None if erasure is None else erasure.until,
        tentative=is_tentative(said),
    )


def reinforced(fact: Fact, said: FactCandidate, own: Claim) -> Fact:
    """Return a fact with one more piece of evidence.

    It is as sure as the surest of what says it, and then closer to certainty by a twentieth, whichever came
    first.  What says that it is no longer so is named as evidence, and makes nobody surer that it was.

    Raises:
        ValueError: it is the fact of another person.
    """
    if (fact.tenant_id, fact.user_id) != (said.tenant_id, said.user_id):
        raise ValueError(f"fact {fact.fact_id} belongs to another person")
    evidence, confidence, statement = said.provenance, fact.confidence, fact.statement
    known = with_ends(fact.provenance, [evidence])
    more = () if any(is_same(each, evidence) for each in known) else (evidence,)
    is_surer = fact.tentative and not is_tentative(said)
    if said.assertion is not Assertion.ENDED and (is_surer or not ever_held(fact)):
        statement = said.statement  # until now it was only asked for, or said that it is no longer so
    if said.assertion is not Assertion.ENDED or own.is_none:
        surest = max(confidence, said.confidence)
        confidence = surest + EVIDENCE_GAIN * (1.0 - surest)
    told = msgspec.structs.replace(
        fact,
        statement=statement,
        confidence=confidence,
        importance=max(fact.importance, said.importance),
        evidence_count=fact.evidence_count + len(more),
        provenance=newest((*known, *more)),
        last_evidence_at=max(fact.last_evidence_at, evidence.arrived_at),
    )
    return revived(told)


def ever_held(fact: Fact) -> bool:
    """Return whether a statement ever held, and was not only denied."""
    return fact.valid_from != fact.valid_to or fact.status is not FactStatus.ENDED or bool(fact.past)
