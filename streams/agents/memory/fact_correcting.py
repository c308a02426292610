"""memory/facts, what it does when somebody corrects a fact by hand.

A step ``correct`` stands in the log beside those of consolidation, in the partition of the person.  What is
said instead of the fact becomes a candidate (:mod:`processors.facts.correcting`) that names it, and is folded
in when it is read: so what follows depends on the log alone.  What cannot be done is dead-lettered, and says
why.  Under the id of the step stands where its candidate goes: a command that was sent twice is done once.
"""

from __future__ import annotations

from models.consolidation import ConsolidationStep
from models.errors import InvalidRecord
from models.facts import Fact
from processors.facts.claims import claim_of
from processors.facts.correcting import corrected
from processors.facts.lines import Place
from streams.agents.memory.extraction import emit_candidate
from streams.agents.memory.fact_erasing import is_erased
from streams.agents.memory.fact_state import STATE, State, erasure_of, line_of
from streams.runtime.keyed import Run, Work


def fold_correction(own: State | None, run: Run[ConsolidationStep], work: Work) -> State | None:
    """Say what takes the place of a fact.

    Raises:
        InvalidRecord: ``unknown_fact``: the person has none of this id; and what
            :func:`processors.facts.correcting.corrected` raises.
    """
    ((step, record),) = run.items
    assert step.correction is not None  # looked at when it was decoded
    said = step.correction
    if own is not None:
        work.skip("replayed")
        return own
    erasure = erasure_of(step.fact_id, work)
    if (erasure is not None and said.arrived_at <= erasure.until) or is_erased(
        said.conversation_id, said.arrived_at, step, record.partition, work
    ):
        work.skip("erased")
        return own
    candidates = corrected(_fact(step, work), said, step.at, step.by)
    for candidate in candidates:
        emit_candidate(candidate, work)
    return Place(claim_of(candidates[0]).line_id)


def _fact(step: ConsolidationStep, work: Work) -> Fact:
    found = work.get(step.fact_id.encode(), STATE)
    line = line_of(found.line_id if isinstance(found, Place) else step.fact_id, work)
    fact = None if line is None else line.fact(step.fact_id)
    stub = None if line is None or fact is not None else line.stub(step.fact_id)
    if stub is not None:
        after = f"it is part of {stub.into} now: correct that one" if stub.into else "it was corrected before"
        raise InvalidRecord("not_current", f"fact {step.fact_id} does not hold any more: {after}")
    if fact is None or (fact.tenant_id, fact.user_id) != (step.tenant_id, step.user_id):
        raise InvalidRecord(
            "unknown_fact", f"there is no fact {step.fact_id} about {step.user_id} in tenant {step.tenant_id}"
        )
    return fact
