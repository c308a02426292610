"""memory/facts, what it does when something bears a fact out that the person said on another occasion, and when
a fact has faded (:mod:`processors.facts.merging.support`).

As with every step of consolidation: written into the log first, and done when it is read there.
"""

from __future__ import annotations

from collections.abc import Mapping

from models.consolidation import ConsolidationStep, Step
from models.facts import Fact
from models.statements import Kind
from processors.facts.lines import Found, Line
from processors.facts.merging.support import borne_out, faded
from streams.agents.memory.fact_store import FactStore


def fold(step: ConsolidationStep, store: FactStore, rates: Mapping[Kind, float]) -> None:
    """Do a step about one fact, or about the one that stands for it by now."""
    found = store.standing(step.fact_id, step)
    if found is None:
        store.work.skip("nothing_to_change")
        return
    done = _done(step, found, store, rates)
    if done is None:
        store.work.skip("nothing_new")
        return
    line, after = done
    store.publish(after)
    store.put(found.line_id, line)


def _done(
    step: ConsolidationStep, found: Found, store: FactStore, rates: Mapping[Kind, float]
) -> tuple[Line, Fact] | None:
    if step.step is Step.DEPRECATE:
        return faded(found.line, found.fact, step.at, rates)
    said = step.saying
    assert said is not None  # or it is no step
    if store.is_erased(said.conversation_id, said.arrived_at, step):
        return None
    return borne_out(found.line, found.fact, step.other_id, said, step.similarity or 0.0, step.at, rates)
