"""memory/facts, what a step makes of two facts: one of them, or each less sure or as sure as before.

A step is folded into the state of one key and may change other lines; those are stored so that a crash leaves
the step to be done again, never half of it.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from models.consolidation import ConsolidationStep, Step
from models.facts import Fact
from models.statements import Kind
from processors.facts.lines import Cause, Line
from processors.facts.merging.applying import as_sure_as_before, half_as_sure, merged
from processors.facts.merging.support import faded
from streams.agents.memory.fact_state import STATE, State, line_of
from streams.agents.memory.fact_writing import KnownLines, publish, standing
from streams.runtime.keyed import Run, Work


def merge(step: ConsolidationStep, own: State | None, run: Run[ConsolidationStep], work: Work) -> State | None:
    """Let a fact become part of another."""
    lines = KnownLines(run.next_offset, work)
    left_id = lines.line_of(step.other_id)
    left = line_of(left_id, work)
    other = None if left is None else left.fact(step.other_id)
    stays = standing(step.fact_id, lines, work)
    if own is None or left is None or other is None or stays is None or not _is_theirs(step, other):
        work.skip("nothing_to_merge")
        return own
    into_id, into, fact = stays
    erasure = lines.erasure(fact.fact_id)
    cause = Cause(fact.fact_id, step.at)
    is_folded = lines.is_folded(into_id)
    done = merged(into_id, into, fact, left_id, left, other, erasure, cause, is_folded=is_folded)
    if done is None:
        work.skip("refused_merge")
        return own
    for changed in done.gone:
        publish(changed, work)
    if not is_folded:
        for changed in done.stays:
            publish(changed, work)
        work.put(into_id.encode(), done.into, STATE, run.next_offset)
    # The line that it leaves may still be there after a crash, and says the rest.
    work.write_behind(left_id.encode(), into_id.encode())
    return _stored(own, left_id, done.left, run, work)


def contradict(
    step: ConsolidationStep,
    own: State | None,
    run: Run[ConsolidationStep],
    work: Work,
    rates: Mapping[Kind, float],
) -> State | None:
    """Make two facts that deny each other half as sure, or as sure as they were."""
    lines = KnownLines(run.next_offset, work)
    for fact_id, other_id in ((step.fact_id, step.other_id), (step.other_id, step.fact_id)):
        line_id = lines.line_of(fact_id)
        # One line may hold both: what was done to the first stands in the state that is returned.
        line = own if line_id.encode() == run.key and isinstance(own, Line) else line_of(line_id, work)
        fact = None if line is None else line.fact(fact_id)
        if line is None or fact is None or not _is_theirs(step, fact):
            work.skip("nothing_to_contradict")
            continue
        decide = half_as_sure if step.step is Step.CONTRADICTION else as_sure_as_before
        done = decide(line, fact, Cause(other_id, step.at))
        if done is None:
            continue
        line, after = done
        publish(after, work)
        if (gone := faded(line, after, step.at, rates)) is not None:
            line, after = gone
            publish(after, work)
        if line_id.encode() == run.key:
            own = line
        else:
            work.put(line_id.encode(), line, STATE, run.next_offset, first=True)
    return own


def _stored(own: State, line_id: str, line: Line, run: Run[ConsolidationStep], work: Work) -> State:
    """Return the state of the key after a step: the line itself, or a pointer to it."""
    if isinstance(own, Line):
        return line
    work.put(line_id.encode(), line, STATE, run.next_offset)
    return msgspec.structs.replace(own)


def _is_theirs(step: ConsolidationStep, fact: Fact) -> bool:
    return (fact.tenant_id, fact.user_id) == (step.tenant_id, step.user_id)
