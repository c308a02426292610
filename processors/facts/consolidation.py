"""What becomes of a candidate: a new fact, more evidence for one, or the end of a partial one.

Pure decisions for the facts stage (seeds 000 and 002).  A fact is never changed, a changed copy is
returned; a function that finds nothing to change returns *the same object*, so that the stage publishes
real changes only and a replay publishes nothing.

What counts as the same evidence: the same window, or the very same messages.  A fact keeps the provenance
of its newest evidence (:data:`PROVENANCE_LIMIT`); ``evidence_count`` counts all of it.  Within a source
partition, evidence at or below the oldest that is kept counts as known once any was let go: however deep a
replay reaches, it adds nothing twice.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from datetime import datetime

import msgspec

from models.errors import InvalidRecord
from models.facts import EmbeddingResult, Fact, FactCandidate, FactChange, FactStatus, Provenance
from models.ids import candidate_id, fact_id
from models.ports import ExtractedStatement
from models.windows import Window

#: How many pieces of evidence a fact names.  Each partition that evidence came from keeps at least one.
PROVENANCE_LIMIT = 20

#: Seed 002: each piece of evidence closes a twentieth of the distance to certainty.
EVIDENCE_GAIN = 0.05

#: Finds a fact by id among those the stage knows.
Lookup = Callable[[str], Fact | None]


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
        candidate_id=candidate_id(fact_id(tenant, user, found.statement), window.window_id),
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
        ),
        valid_from=min(message.sent_at for message in messages),
        extractor=extractor,
        refines=(fact_id(tenant, user, found.completes),) if found.completes else (),
    )


# --- from candidates to facts --------------------------------------------------------------------------


def consolidate(candidate: FactCandidate, known: Lookup, recorded_at: datetime) -> list[Fact]:
    """Return every change that ``candidate`` makes, in order; the last one of a fact is its new state.

    Empty when the candidate was seen before.  Its fact, or the one that this was merged into, is created
    or reinforced; the partial facts that it completes are merged into that one.
    """
    own_id = fact_id(candidate.tenant_id, candidate.user_id, candidate.statement)
    before = resolve(own_id, known)
    fact = apply_candidate(before, candidate, recorded_at)
    if fact is before:
        # Not even its refinements: a replay could meet a partial fact that is younger than the candidate.
        return []
    changes = [fact]
    for partial_id in candidate.refines:
        if (partial := known(partial_id)) is None:
            continue
        merged, into = apply_refinement(partial, fact, recorded_at)
        if merged is not partial:
            changes.append(merged)
        if into is not fact:
            changes.append(into)
            fact = into
    return changes


def apply_candidate(known: Fact | None, candidate: FactCandidate, recorded_at: datetime) -> Fact:
    """Create the fact, or reinforce ``known``; return ``known`` itself when it has this evidence.

    ``known`` is the fact of the candidate's statement or the one that this was merged into: see
    :func:`resolve`.  An erased fact stays as it is, or a replay would bring back what was erased; a
    deprecated one that its person states again is active again.
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
            status=FactStatus.PENDING_EMBED,
            change=FactChange.CREATED,
            version=1,
            evidence_count=1,
            provenance=(evidence,),
            valid_from=candidate.valid_from,
            recorded_at=recorded_at,
        )
    _require_same_user(known, candidate)
    if known.status is FactStatus.MERGED_INTO:
        raise ValueError(f"fact {known.fact_id} was merged: reinforce {known.merged_into_id} instead")
    if known.status is FactStatus.ERASED or _is_counted(known, evidence):
        return known
    return msgspec.structs.replace(
        known,
        confidence=known.confidence + EVIDENCE_GAIN * (1.0 - known.confidence),
        status=FactStatus.ACTIVE if known.status is FactStatus.DEPRECATED else known.status,
        change=FactChange.REINFORCED,
        version=known.version + 1,
        evidence_count=known.evidence_count + 1,
        provenance=_newest((*known.provenance, evidence)),
        valid_from=min(known.valid_from, candidate.valid_from),
        recorded_at=recorded_at,
    )


def apply_refinement(partial: Fact, into: Fact, recorded_at: datetime) -> tuple[Fact, Fact]:
    """Merge ``partial`` into the fact that says the same and more; return both.

    The complete fact inherits the evidence, the earlier ``valid_from`` and the higher confidence (what
    supports the whole supports the part); the partial one stays, with a pointer (seed 002: never
    delete).  Both come back unchanged when they are one fact, or either is merged or erased already; a
    merge of these two that was interrupted before ``into`` was stored is completed.
    """
    _require_same_user(partial, into)
    over = (FactStatus.MERGED_INTO, FactStatus.ERASED)
    begun = partial.merged_into_id == into.fact_id
    if partial.fact_id == into.fact_id or into.status in over or (partial.status in over and not begun):
        return partial, into
    if begun and all(_is_counted(into, evidence) for evidence in partial.provenance):
        return partial, into
    merged = (
        partial
        if begun
        else msgspec.structs.replace(
            partial,
            status=FactStatus.MERGED_INTO,
            change=FactChange.MERGED,
            version=partial.version + 1,
            merged_into_id=into.fact_id,
            recorded_at=recorded_at,
        )
    )
    inherited = tuple(
        theirs
        for theirs in partial.provenance
        if not any(_is_same_evidence(theirs, ours) for ours in into.provenance)
    )
    shared = len(partial.provenance) - len(inherited)
    floors = _floors(partial), _floors(into)
    kept = (
        evidence
        for evidence in (*inherited, *into.provenance)
        if all(_last_offset(evidence) >= floor.get(_origin(evidence), 0) for floor in floors)
    )
    complete = msgspec.structs.replace(
        into,
        confidence=max(into.confidence, partial.confidence),
        change=FactChange.MERGED,
        version=into.version + 1,
        evidence_count=into.evidence_count + partial.evidence_count - shared,
        provenance=_newest(tuple(kept)),
        valid_from=min(into.valid_from, partial.valid_from),
        recorded_at=recorded_at,
    )
    return merged, complete


def apply_embedding(known: Fact, result: EmbeddingResult, recorded_at: datetime) -> Fact:
    """A pending fact whose vector is stored becomes active; any other comes back unchanged."""
    if known.fact_id != result.fact_id:
        raise ValueError(f"the vector of {result.fact_id} is not one of {known.fact_id}")
    if known.status is not FactStatus.PENDING_EMBED:
        return known
    return msgspec.structs.replace(
        known,
        status=FactStatus.ACTIVE,
        change=FactChange.EMBEDDED,
        version=known.version + 1,
        recorded_at=recorded_at,
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
            return msgspec.structs.replace(fact, status=FactStatus.PENDING_EMBED, merged_into_id=None)
        fact = target
    return fact


# --- evidence ------------------------------------------------------------------------------------------


def _require_same_user(known: Fact, other: FactCandidate | Fact) -> None:
    if (known.tenant_id, known.user_id) != (other.tenant_id, other.user_id):
        raise ValueError(f"fact {known.fact_id} belongs to another person")


def _origin(evidence: Provenance) -> tuple[str, int]:
    return evidence.topic, evidence.partition


def _last_offset(evidence: Provenance) -> int:
    return max(evidence.offsets, default=0)


def _is_same_evidence(one: Provenance, other: Provenance) -> bool:
    return one.window_id == other.window_id or (
        one.conversation_id == other.conversation_id and one.message_ids == other.message_ids
    )


def _floors(fact: Fact) -> dict[tuple[str, int], int]:
    """Per source partition, the last offset up to which evidence counts as known; empty if all is kept."""
    floors: dict[tuple[str, int], int] = {}
    if fact.evidence_count > len(fact.provenance):
        for kept in fact.provenance:
            floors[_origin(kept)] = min(_last_offset(kept), floors.get(_origin(kept), _last_offset(kept)))
    return floors


def _is_counted(known: Fact, evidence: Provenance) -> bool:
    if any(_is_same_evidence(evidence, kept) for kept in known.provenance):
        return True
    return _last_offset(evidence) <= _floors(known).get(_origin(evidence), -1)


def _newest(provenance: Sequence[Provenance]) -> tuple[Provenance, ...]:
    """Let go of the oldest, first of the partition that has most.  Offsets of partitions do not compare."""
    kept = list(provenance)
    while len(kept) > PROVENANCE_LIMIT:
        origin, count = max(Counter(map(_origin, kept)).items(), key=lambda item: (item[1], item[0]))
        if count == 1:
            break
        kept.remove(min((e for e in kept if _origin(e) == origin), key=_last_offset))
    return tuple(kept)
