"""memory/facts, what it does when somebody corrects a fact by hand.

A step ``correct`` stands in the log beside those of consolidation, in the partition of the person.  What is
said instead of the fact becomes a candidate (:mod:`processors.facts.correcting`) that names it, and is folded
in when it is read: so what follows depends on the log alone.  What cannot be done is dead-lettered, and says
why.  Under the id of the step stands where its candidate goes: a command that was sent twice is done once.
After a crash its candidate may be folded in before the step is read again; then it is done, too.
"""

from __future__ import annotations

from models.consolidation import ConsolidationStep
from models.errors import InvalidRecord
from models.facts import Fact, FactCandidate, FactStatus
from processors.facts.claims import claim_of
from processors.facts.correcting import corrected, window_id_of
from processors.facts.lines import Place
from processors.facts.stubs import Stub, voided_by
from streams.agents.memory import separating
from streams.agents.memory.extraction import emit_candidate
from streams.agents.memory.fact_store import FactStore, is_of


def fold_correction(step: ConsolidationStep, store: FactStore) -> None:
    """Say what takes the place of a fact.

    Raises:
        InvalidRecord: ``unknown_fact``: the person has none of this id; and what
            :func:`processors.facts.correcting.corrected` raises.
    """
    assert step.correction is not None  # looked at when it was decoded
    said = step.correction
    if store.own is not None:
        store.work.skip("replayed")
        return
    erasure = store.erasure(step.fact_id)
    if (erasure is not None and said.arrived_at <= erasure.until) or store.is_erased(
        said.conversation_id, said.arrived_at, step
    ):
        store.work.skip("erased")
        return
    fact, stub = _found(step, store)
    window_id = window_id_of(step.tenant_id, said)
    if _is_done(fact, stub, window_id):
        store.work.skip("replayed")
        store.own = Place(step.fact_id if fact is None else claim_of(fact).line_id)
        return
    if fact is not None:
        candidates = corrected(fact, said, step.at, step.by)
    else:
        assert stub is not None  # or nothing was found
        candidates = _corrected_part(stub, step, store)
    for candidate in candidates:
        emit_candidate(candidate, store.work)
    store.own = Place(claim_of(candidates[0]).line_id)


def _corrected_part(stub: Stub, step: ConsolidationStep, store: FactStore) -> tuple[FactCandidate, ...]:
    """Take a fact out of the one that consolidation merged it into, for it is another; return what is said
    instead of it.
    """
    assert step.correction is not None
    if stub.fact is not None:
        candidates = corrected(stub.fact, step.correction, step.at, step.by)
        separating.fold(step, store)
        if _found(step, store)[0] is not None:
            return candidates
    after = f"it is part of {stub.into} now: correct that one" if stub.into else "it was corrected before"
    raise InvalidRecord("not_current", f"fact {step.fact_id} does not hold any more: {after}")


def _found(step: ConsolidationStep, store: FactStore) -> tuple[Fact | None, Stub | None]:
    """Return the fact that a step names, or what is left of it; nobody learns that another's is there.

    A fact that was merged is whose that is which it was merged into.
    """
    trail = [(each.fact, None if each.fact is not None else each.stub) for each in store.trail(step.fact_id)]
    owners = [whose for fact, stub in trail if (whose := fact or stub) is not None and whose.user_id]
    if not owners or not is_of(owners[0], step):
        raise InvalidRecord(
            "unknown_fact", f"there is no fact {step.fact_id} about {step.user_id} in tenant {step.tenant_id}"
        )
    return trail[0]


def _is_done(fact: Fact | None, stub: Stub | None, window_id: str) -> bool:
    """Tell whether what was said in this window has taken the place of the fact, or ended it."""
    if stub is not None:
        return stub.voided_by == voided_by(window_id)
    return (
        fact is not None
        and fact.status is not FactStatus.ACTIVE
        and any(each.window_id == window_id for each in fact.changes)
    )
