"""The evidence of a fact: what it makes of a fact, what counts as the same, what is kept, and what is known
although it was let go.

The same evidence is the very same messages, or one of them in the same window: whoever reads that again may
name others beside it.  A message that says that something is so, and that it is no longer so, is one piece of
evidence, which ``ends`` it.  A fact keeps the provenance of its newest evidence (:data:`PROVENANCE_LIMIT`);
``evidence_count`` counts all of it.  Within a source partition, evidence
that came no later than the oldest that is kept counts as known once any was let go: however deep a replay
reaches, it adds nothing twice.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import datetime

import msgspec

from models.facts import Erasure, Fact, FactCandidate, FactChange, FactStatus, Provenance
from models.messages import Timestamp
from models.statements import Assertion
from processors.facts.claims import Claim
from processors.facts.confidence import PASSIVE_FROM, revived

#: How many pieces of evidence a fact names.  Each partition that evidence came from keeps at least one.
PROVENANCE_LIMIT = 20

#: Each piece of evidence closes a twentieth of the distance to certainty (requirement 3.3).
EVIDENCE_GAIN = 0.05

Origin = tuple[str, int]
Place = tuple[datetime, int]


class Floor(msgspec.Struct, frozen=True, array_like=True):
    """Up to where, in a source partition, evidence counts as known."""

    topic: str
    partition: int
    arrived_at: Timestamp
    offset: int


def origin(evidence: Provenance) -> Origin:
    """The topic and partition of the messages."""
    return evidence.topic, evidence.partition


def place(evidence: Provenance) -> Place:
    """Where evidence stands in its partition: by time, for offsets begin anew in a topic that is made again."""
    return evidence.arrived_at, max(evidence.offsets, default=0)


def is_same(one: Provenance, other: Provenance) -> bool:
    """Return whether two pieces of evidence are the same."""
    in_common = one.window_id == other.window_id and not {*one.message_ids}.isdisjoint(other.message_ids)
    return one.conversation_id == other.conversation_id and (in_common or one.message_ids == other.message_ids)


def name_of(evidence: Provenance) -> str:
    """Return the key of a piece of evidence within its fact."""
    return " ".join((evidence.window_id, *evidence.message_ids))


def latest(fact: Fact) -> Provenance:
    """Return the evidence of a fact that was said last: that which says that it holds, if any does."""
    return max(_holding(fact) or fact.provenance, key=_order)


def first_after(fact: Fact, older: Fact) -> Provenance | None:
    """Return the first evidence of a fact that was said after all of another; ``None`` if there is none."""
    end = latest(older).sent_at
    return min((each for each in _holding(fact) if each.sent_at > end), key=_order, default=None)


def _holding(fact: Fact) -> tuple[Provenance, ...]:
    return tuple(each for each in fact.provenance if not each.ends)


def _order(evidence: Provenance) -> tuple[datetime, Place]:
    return evidence.sent_at, place(evidence)


def floors(fact: Fact) -> dict[Origin, Place]:
    """Per source partition, the place up to which evidence counts as known; empty if all is kept."""
    found: dict[Origin, Place] = {}
    if fact.evidence_count > len(fact.provenance):
        for kept in fact.provenance:
            found[origin(kept)] = min(place(kept), found.get(origin(kept), place(kept)))
    return found


def is_counted(known: Fact, evidence: Provenance) -> bool:
    """Return whether ``known`` already has this evidence."""
    if any(is_same(evidence, kept) and kept.ends >= evidence.ends for kept in known.provenance):
        return True
    floor = floors(known).get(origin(evidence))
    return floor is not None and place(evidence) <= floor


def with_ends(provenance: Iterable[Provenance], others: Iterable[Provenance]) -> tuple[Provenance, ...]:
    """Return evidence that also ends a fact where the same evidence among ``others`` does."""
    ends = [each for each in others if each.ends]
    return tuple(
        msgspec.structs.replace(each, ends=True) if any(is_same(each, end) for end in ends) else each
        for each in provenance
    )


def ceilings(provenance: Iterable[Provenance], known: Iterable[Floor] = ()) -> tuple[Floor, ...]:
    """Return the floors under which all of this evidence lies, and all that lay under ``known``."""
    found: dict[Origin, Place] = {}
    for floor in known:
        key, until = (floor.topic, floor.partition), (floor.arrived_at, floor.offset)
        found[key] = max(until, found.get(key, until))
    for each in provenance:
        found[origin(each)] = max(place(each), found.get(origin(each), place(each)))
    return tuple(Floor(*key, *found[key]) for key in sorted(found))


def is_under(evidence: Provenance, floors: Iterable[Floor]) -> bool:
    """Return whether evidence is older than the evidence that was dropped."""
    return any(
        (floor.topic, floor.partition) == origin(evidence)
        and place(evidence) <= (floor.arrived_at, floor.offset)
        for floor in floors
    )


def is_erased(evidence: Provenance, erasure: Erasure | None) -> bool:
    """Return whether evidence was erased."""
    return erasure is not None and evidence.arrived_at <= erasure.until


def newest(provenance: Sequence[Provenance]) -> tuple[Provenance, ...]:
    """Let go of the oldest, first of the partition that has most: partitions do not go on side by side."""
    kept = list(provenance)
    while len(kept) > PROVENANCE_LIMIT:
        most, count = max(Counter(map(origin, kept)).items(), key=lambda item: (item[1], item[0]))
        if count == 1:
            break
        kept.remove(min((e for e in kept if origin(e) == most), key=place))
    return tuple(kept)


def is_tentative(said: FactCandidate) -> bool:
    """Return whether a statement is too uncertain to end a certain one."""
    return said.confidence < PASSIVE_FROM


def learned(said: FactCandidate, own: Claim, version: int, erasure: Erasure | None) -> Fact:
    """Return the fact that a candidate makes, in its first version since what was erased of it."""
    evidence = said.provenance
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
        version=version,
        evidence_count=1,
        provenance=(evidence,),
        valid_from=evidence.said_at,
        learned_at=evidence.arrived_at,
        changed_at=evidence.arrived_at,
        last_evidence_at=evidence.arrived_at,
        erased_until=None if erasure is None else erasure.until,
        tentative=is_tentative(said),
    )


def reinforced(fact: Fact, said: FactCandidate) -> Fact:
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
    if said.assertion is not Assertion.ENDED:
        if is_surer or not ever_held(fact):
            statement = said.statement  # until now it was only asked for, or said that it is no longer so
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
