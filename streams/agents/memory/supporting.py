"""memory/facts, what it does when something bears a fact out that the person said on another occasion, and when
a fact has faded (:mod:`processors.facts.merging.support`).

As with every step of consolidation: written into the log first, and done when it is read there.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from models import ids
from models.consolidation import ConsolidationStep, Step
from models.facts import Fact
from models.statements import Kind
from processors.facts.lines import Line
from processors.facts.merging.support import Supported, borne_out, faded
from streams.agents.memory.fact_erasing import is_erased
from streams.agents.memory.fact_state import STATE, State
from streams.agents.memory.fact_writing import KnownLines, publish, standing
from streams.runtime.keyed import Run, Work


def support(found: Supported, asked: ConsolidationStep, at: datetime) -> ConsolidationStep:
    """Return the step that counts a turn for a fact."""
    fact_id, said, similarity = found
    return ConsolidationStep(
        step_id=ids.deterministic_id("step", Step.SUPPORT, fact_id, said.turn_id),
        step=Step.SUPPORT,
        at=at,
        by="rules",
        user_id=asked.user_id,
        fact_id=fact_id,
        other_id=said.turn_id,
        similarity=round(similarity, 4),
        saying=said.saying,
        tenant_id=asked.tenant_id,
    )


def deprecation(fact_id: str, asked: ConsolidationStep, at: datetime) -> ConsolidationStep:
    """Return the step that says of a fact that it has faded."""
    return ConsolidationStep(
        step_id=ids.deterministic_id("step", Step.DEPRECATE, fact_id, at.isoformat()),
        step=Step.DEPRECATE,
        at=at,
        by="rules",
        user_id=asked.user_id,
        fact_id=fact_id,
        tenant_id=asked.tenant_id,
    )


def fold(
    step: ConsolidationStep,
    own: State | None,
    run: Run[ConsolidationStep],
    work: Work,
    rates: Mapping[Kind, float],
) -> State | None:
    """Do a step about one fact, or about the one that stands for it by now."""
    lines = KnownLines(run.next_offset, work)
    stands = standing(step.fact_id, lines, work)
    if stands is None or (stands[2].tenant_id, stands[2].user_id) != (step.tenant_id, step.user_id):
        work.skip("nothing_to_change")
        return own
    line_id, line, fact = stands
    done = _done(step, line, fact, run.last.partition, rates, work)
    if done is None:
        work.skip("nothing_new")
        return own
    line, after = done
    publish(after, work)
    if line_id.encode() == run.key:
        return line
    work.put(line_id.encode(), line, STATE)
    return own


def _done(
    step: ConsolidationStep, line: Line, fact: Fact, partition: int, rates: Mapping[Kind, float], work: Work
) -> tuple[Line, Fact] | None:
    if step.step is Step.DEPRECATE:
        return faded(line, fact, step.at, rates)
    said = step.saying
    assert said is not None  # or it is no step
    if is_erased(said.conversation_id, said.arrived_at, step, partition, work):
        return None
    return borne_out(line, fact, step.other_id, said, step.similarity or 0.0, step.at, rates)
