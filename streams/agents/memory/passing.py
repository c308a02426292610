"""memory/facts, plans whose day is over (:mod:`processors.facts.planned`).

A plan holds until the person says something after its day, by ``sent_at``: no clock but the log's decides.  As
with every step of consolidation: written into the log first, and done when it is read there.
"""

from __future__ import annotations

from datetime import datetime

from models.consolidation import ConsolidationStep, Step
from models.facts import Provenance
from models.vectors import Saying
from processors.facts.evidence import latest
from processors.facts.lines import Cause, ended
from processors.facts.marks import MarkKind, Moment
from processors.facts.planned import passes_at
from streams.agents.emitting import emit
from streams.agents.memory.consolidation_records import step_about
from streams.agents.memory.fact_store import FactStore
from streams.agents.memory.fact_vectors import PLANS, Person, Plan, Plans, plans_key

#: Plans of a person that are waited for: the next.
PLANS_LIMIT = 64


def look_ahead(fact_id: str, person: Person, store: FactStore) -> None:
    """Note the day of a new fact, and write which plans of the person are over by the time it was said."""
    found = store.find(fact_id)
    if found is None or not found.fact.provenance:
        return
    new, work = found.fact, store.work
    said = latest(new)
    key = plans_key(person.key)
    before = work.get(key, PLANS)
    until = said.sent_at if before is None else max(before.said_until, said.sent_at)
    waiting = () if before is None else before.ahead
    if (own := passes_at(new)) is not None:
        waiting = (*waiting, Plan(fact_id, own))
    ahead = []
    for plan in waiting:
        left = plan if plan.passes_at >= until else _checked(plan, until, said, store)
        if left is not None:
            ahead.append(left)
    ahead.sort(key=lambda plan: (plan.passes_at, plan.fact_id))
    after = Plans(until, tuple(ahead[:PLANS_LIMIT]))
    if after != before and (after.ahead or before is not None):
        work.put(key, after, PLANS, first=True)


def _checked(plan: Plan, until: datetime, said: Provenance, store: FactStore) -> Plan | None:
    """Write that a plan is over, or return it with the day that it has since it was said again."""
    found = store.find(plan.fact_id)
    if found is None or not found.fact.holds:
        return None
    fact, day = found.fact, passes_at(found.fact)
    if day is None:
        return None
    if day >= until:
        return Plan(plan.fact_id, day)
    saying = Saying(conversation_id=said.conversation_id, sent_at=until, arrived_at=said.arrived_at)
    at, once = max(said.arrived_at, latest(fact).arrived_at), (day.isoformat(),)
    step = step_about(Step.PASSES, fact, plan.fact_id, at=at, occasion=once, by="calendar", saying=saying)
    emit(store.work, step)
    return None


def fold(step: ConsolidationStep, store: FactStore) -> None:
    """End a plan, or the fact that stands for it by now, with its day."""
    said = step.saying
    assert said is not None  # or it is no step
    found = store.standing(step.fact_id, step)
    day = None if found is None else passes_at(found.fact)
    if found is None or day is None or day >= said.sent_at:
        store.work.skip("nothing_to_end")
        return
    done = ended(found.line, found.fact, MarkKind.ENDED, Moment(day, step.at), Cause("", step.at))
    if done is None:
        store.work.skip("nothing_new")
        return
    store.change(found.line_id, *done)
