"""memory/facts, plans whose day is over (:mod:`processors.facts.planned`).

A plan holds until the person says something after its day, by ``sent_at``: no clock but the log's decides.  As
with every step of consolidation: written into the log first, and done when it is read there.
"""

from __future__ import annotations

from datetime import datetime

from models import ids
from models.consolidation import ConsolidationStep, Step
from models.facts import Fact, FactStatus, Provenance
from models.vectors import Saying
from processors.facts.confidence import has_faded
from processors.facts.ending import end, latest
from processors.facts.lines import Cause
from processors.facts.planned import passes_at
from processors.facts.timeline import Moment, Said
from streams.agents.memory.consolidation_records import emit_step
from streams.agents.memory.fact_state import STATE, State, line_of
from streams.agents.memory.fact_vectors import PLANS, Plan, Plans, plans_key
from streams.agents.memory.fact_writing import KnownLines, publish, standing
from streams.runtime.keyed import Run, Work

#: Plans of a person that are waited for: the next.
PLANS_LIMIT = 64


def look_ahead(fact_id: str, person: bytes, work: Work) -> None:
    """Note the day of a new fact, and write which plans of the person are over by the time it was said."""
    new = _fact(fact_id, work)
    if new is None or not new.provenance:
        return
    said = latest(new)
    key = plans_key(person)
    before = work.get(key, PLANS)
    until = said.sent_at if before is None else max(before.said_until, said.sent_at)
    waiting = () if before is None else before.ahead
    if (own := passes_at(new)) is not None:
        waiting = (*waiting, Plan(fact_id, own))
    ahead = []
    for plan in waiting:
        left = plan if plan.passes_at >= until else _checked(plan, until, said, work)
        if left is not None:
            ahead.append(left)
    ahead.sort(key=lambda plan: (plan.passes_at, plan.fact_id))
    after = Plans(until, tuple(ahead[:PLANS_LIMIT]))
    if after != before and (after.ahead or before is not None):
        work.put(key, after, PLANS, first=True)


def _checked(plan: Plan, until: datetime, said: Provenance, work: Work) -> Plan | None:
    """Write that a plan is over, or return it with the day that it has since it was said again."""
    fact = _fact(plan.fact_id, work)
    day = None if fact is None or not _holds(fact) else passes_at(fact)
    if fact is None or day is None:
        return None
    if day >= until:
        return Plan(plan.fact_id, day)
    saying = Saying(conversation_id=said.conversation_id, sent_at=until, arrived_at=said.arrived_at)
    step = ConsolidationStep(
        step_id=ids.deterministic_id("step", Step.PASSES, plan.fact_id, day.isoformat()),
        step=Step.PASSES,
        at=max(said.arrived_at, latest(fact).arrived_at),
        by="calendar",
        user_id=fact.user_id,
        fact_id=plan.fact_id,
        saying=saying,
        tenant_id=fact.tenant_id,
    )
    emit_step(step, work)
    return None


def fold(step: ConsolidationStep, own: State | None, run: Run[ConsolidationStep], work: Work) -> State | None:
    """End a plan, or the fact that stands for it by now, with its day."""
    said = step.saying
    assert said is not None  # or it is no step
    stands = standing(step.fact_id, KnownLines(run.next_offset, work), work)
    if stands is None or (stands[2].tenant_id, stands[2].user_id) != (step.tenant_id, step.user_id):
        work.skip("nothing_to_end")
        return own
    line_id, line, fact = stands
    day = passes_at(fact)
    if day is None or day >= said.sent_at:
        work.skip("nothing_to_end")
        return own
    done = end(line, fact, Said.ENDED, Moment(day, step.at), Cause("", step.at))
    if done is None:
        work.skip("nothing_new")
        return own
    for changed in done.changes:
        publish(changed, work)
    if line_id.encode() == run.key:
        return done.line
    work.put(line_id.encode(), done.line, STATE)
    return own


def _fact(fact_id: str, work: Work) -> Fact | None:
    line = line_of(KnownLines(0, work).line_of(fact_id), work)
    return None if line is None else line.fact(fact_id)


def _holds(fact: Fact) -> bool:
    return fact.status is FactStatus.ACTIVE or has_faded(fact)
