"""What becomes of a candidate: a new fact, more evidence for one, or the end of a partial one.

Pure decisions for the facts stage (seeds 000 and 002).  A fact is never changed, a changed copy is
returned; a function that finds nothing to change returns *the same object*, so that the stage publishes
real changes only and a replay publishes nothing.

Nothing here depends on when it is decided: times are those of the messages.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable

import msgspec

from models.errors import InvalidRecord
from models.facts import (
    Erasure,
    Fact,
    FactCandidate,
    FactChange,
    FactStatus,
    Provenance,
)
from models.ids import candidate_id, fact_id
from models.ports import ExtractedStatement
from models.windows import Window
from processors.facts.erasure import is_erased
from processors.facts.evidence import floors, is_counted, is_same, moment, newest, origin

#: Seed 002: each piece of evidence closes a twentieth of the distance to certainty.
EVIDENCE_GAIN = 0.05

#: Finds a fact by id among those the stage knows.
Lookup = Callable[[str], Fact | None]

#: Finds what is remembered of the erasure of a fact.
Erasures = Callable[[str], Erasure | None]


# --- from statements to candidates ---------------------------------------------------------------------


def already_extracted(source_message_ids: Iterable[str], extracted_ids: Collection[str]) -> bool:
    """Whether all the messages that a statement rests on were extracted from before (seed 000, method 2)."""
    return all(message_id in extracted_ids for message_id in source_message_ids)


def fresh(statements: Iterable[ExtractedStatement], extracted_ids: Collection[str]) -> list[ExtractedStatement]:
    """Keep the statements that rest on at least one message that nothing was extracted from before."""
    return [found for found in statements if not already_extracted(found.source_message_ids, extracted_ids)]


def to_candidate(found: ExtractedStatement, window: Window, extractor: str) -> FactCandidate:
    """Give a statement its ids and its provenance.

    Raises :class:`InvalidRecord` when the extractor names a message that is not in the window.
    """
    sources = {message.message_id: message for message in window.messages}
    unknown = [message_id for message_id in found.source_message_ids if message_id not in sources]
    if unknown or not found.source_message_ids:
        raise InvalidRecord(
            "unknown_source",
            f"{extractor} found a statement in window {window.window_id} that rests on messages "
            f"which are not in it: {', '.join(unknown) or 'none'}",
        )
    messages = [sources[message_id] for message_id in found.source_message_ids]
    tenant, user = window.tenant_id, found.user_id
    return FactCandidate(
        candidate_id=candidate_id(
            fact_id(tenant, user, found.statement), window.conversation_id, found.source_message_ids
        ),
        tenant_id=tenant,
        user_id=user,
        category=found.category,
        statement=found.statement,
        confidence=found.confidence,
        source_message_ids=found.source_message_ids,
        provenance=Provenance(
            conversation_id=window.conversation_id,
            window_id=window.window_id,
            window_end_id=window.message_ids[-1],
            message_ids=found.source_message_ids,
            quote=found.quote,
            topic=window.source.topic,
            partition=window.source.partition,
            offsets=tuple(message.offset for message in messages),
            arrived_at=max(message.arrived_at for message in messages),
        ),
        valid_from=min(message.sent_at for message in messages),
        extractor=extractor,
        refines=(fact_id(tenant, user, found.completes),) if found.completes else (),
    )


# --- from candidates to facts --------------------------------------------------------------------------


def consolidate(
    candidate: FactCandidate, known: Lookup, erased: Erasures = lambda wanted_id: None
) -> list[Fact]:
    """Return every change that ``candidate`` makes, in order; the last one of a fact is its new state.

    Empty when the candidate was seen before, or what it rests on was erased.  Its fact, or the one that this
    was merged into, is created or reinforced; the partial facts that it completes are merged into that one.
    """
    own_id = fact_id(candidate.tenant_id, candidate.user_id, candidate.statement)
    before = resolve(own_id, known)
    erasure = erased(before.fact_id if before is not None else own_id)
    if is_erased(candidate.provenance, erased(own_id)) or is_erased(candidate.provenance, erasure):
        return []
    fact = apply_candidate(before, candidate, erasure)
    if fact is before:
        # Not even its refinements: a replay could meet a partial fact that is younger than the candidate.
        return []
    changes = [fact]
    for partial_id in candidate.refines:
        if (partial := known(partial_id)) is None:
            continue
        merged, into = apply_refinement(partial, fact, erasure)
        if merged is not partial:
            changes.append(merged)
        if into is not fact:
            changes.append(into)
            fact = into
    return changes


def apply_candidate(known: Fact | None, candidate: FactCandidate, erasure: Erasure | None = None) -> Fact:
    """Create the fact, or reinforce ``known``; return ``known`` itself when it has this evidence.

    ``known`` is the fact of the candidate's statement or the one that this was merged into: see
    :func:`resolve`.  A deprecated fact that its person states again is active again; one that was erased
    begins anew, without what it was, at a later version.
    """
    evidence = candidate.provenance
    if known is None:
        return Fact(
            fact_id=fact_id(candidate.tenant_id, candidate.user_id, candidate.statement),
            tenant_id=candidate.tenant_id,
            user_id=candidate.user_id,
            category=candidate.category,
            statement=candidate.statement,
            confidence=candidate.confidence,
            status=FactStatus.ACTIVE,
            change=FactChange.CREATED,
            version=1 if erasure is None else erasure.version + 1,
            evidence_count=1,
            provenance=(evidence,),
            valid_from=candidate.valid_from,
            recorded_at=evidence.arrived_at,
            erased_until=None if erasure is None else erasure.until,
        )
    _require_same_user(known, candidate)
    if known.status is FactStatus.MERGED_INTO:
        raise ValueError(f"fact {known.fact_id} was merged: reinforce {known.merged_into_id} instead")
    if is_counted(known, evidence):
        return known
    return msgspec.structs.replace(
        known,
        confidence=known.confidence + EVIDENCE_GAIN * (1.0 - known.confidence),
        status=FactStatus.ACTIVE if known.status is FactStatus.DEPRECATED else known.status,
        change=FactChange.REINFORCED,
        version=known.version + 1,
        evidence_count=known.evidence_count + 1,
        provenance=newest((*known.provenance, evidence)),
        valid_from=min(known.valid_from, candidate.valid_from),
        recorded_at=max(known.recorded_at, evidence.arrived_at),
    )


def apply_refinement(partial: Fact, into: Fact, erasure: Erasure | None = None) -> tuple[Fact, Fact]:
    """Merge ``partial`` into the fact that says the same and more; return both.

    The complete fact inherits the evidence, the earlier ``valid_from`` and the higher confidence (what
    supports the whole supports the part), but nothing that was erased of it (``erasure``); the partial one
    stays, with a pointer (seed 002: never delete).  Both come back unchanged when they are one fact, or either
    is merged already; a merge of these two that was interrupted before ``into`` was stored is completed.
    """
    _require_same_user(partial, into)
    over = FactStatus.MERGED_INTO
    begun = partial.merged_into_id == into.fact_id
    if partial.fact_id == into.fact_id or into.status is over or (partial.status is over and not begun):
        return partial, into
    evidence = tuple(each for each in partial.provenance if not is_erased(each, erasure))
    if begun and all(is_counted(into, each) for each in evidence):
        return partial, into
    merged = partial if begun else _merged(partial, into)
    if not evidence:
        return merged, into
    inherited = tuple(
        theirs for theirs in evidence if not any(is_same(theirs, ours) for ours in into.provenance)
    )
    let_go = 0 if erasure is not None else partial.evidence_count - len(partial.provenance)
    bounds = (floors(partial) if let_go else {}), floors(into)
    kept = (
        each
        for each in (*inherited, *into.provenance)
        if all(origin(each) not in floor or moment(each) >= floor[origin(each)] for floor in bounds)
    )
    complete = msgspec.structs.replace(
        into,
        confidence=max(into.confidence, partial.confidence),
        change=FactChange.MERGED,
        version=into.version + 1,
        evidence_count=into.evidence_count + len(inherited) + let_go,
        provenance=newest(tuple(kept)),
        valid_from=min(into.valid_from, partial.valid_from),
        recorded_at=max(into.recorded_at, partial.recorded_at),
    )
    return merged, complete


def _merged(partial: Fact, into: Fact) -> Fact:
    return msgspec.structs.replace(
        partial,
        status=FactStatus.MERGED_INTO,
        change=FactChange.MERGED,
        version=partial.version + 1,
        merged_into_id=into.fact_id,
        recorded_at=max(into.recorded_at, partial.recorded_at),
    )


def target_of(fact: Fact) -> str:
    """The id of the fact that stands for this one: itself, or what it was merged into (one step)."""
    return fact.merged_into_id or fact.fact_id


def resolve(wanted_id: str, known: Lookup) -> Fact | None:
    """Follow ``merged_into_id`` to the fact that stands for ``wanted_id`` now, or None if unknown.

    A fact that was merged into one that is gone stands for itself again.
    """
    fact = known(wanted_id)
    while fact is not None and fact.merged_into_id is not None:
        target = known(fact.merged_into_id)
        if target is None:
            return msgspec.structs.replace(fact, status=FactStatus.ACTIVE, merged_into_id=None)
        fact = target
    return fact


def _require_same_user(known: Fact, other: FactCandidate | Fact) -> None:
    if (known.tenant_id, known.user_id) != (other.tenant_id, other.user_id):
        raise ValueError(f"fact {known.fact_id} belongs to another person")
