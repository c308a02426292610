"""memory/facts, what a step makes of two facts: one of them, or each less sure or as sure as before.

A step is folded into the state of one key and may change other lines; those are stored so that a crash leaves
the step to be done again, never half of it.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from models.consolidation import ConsolidationStep, Step
from models.statements import Kind
from processors.facts.lines import Cause
from processors.facts.merging.applying import as_sure_as_before, half_as_sure, merged
from processors.facts.merging.support import faded
from streams.agents.memory.fact_store import FactStore, is_of


def merge(step: ConsolidationStep, store: FactStore) -> None:
    """Let a fact become part of another."""
    own, other, stays = store.own, store.find(step.other_id), store.standing(step.fact_id)
    if own is None or other is None or stays is None or not is_of(other.fact, step):
        store.work.skip("nothing_to_merge")
        return
    is_folded = store.is_folded(stays.line_id)
    erasure, cause = store.erasure(stays.fact.fact_id), Cause(stays.fact.fact_id, step.at)
    done = merged(stays, other, erasure, cause, is_folded=is_folded)
    if done is None:
        store.work.skip("refused_merge")
        return
    store.publish(*done.gone)
    if not is_folded:
        store.publish(*done.stays)
        store.put(stays.line_id, done.into, marked=True)
    # The line that it leaves may still be there after a crash, and says the rest.
    store.write_behind(other.line_id, stays.line_id)
    store.put(other.line_id, done.left, marked=True)
    if store.own is own:
        store.own = msgspec.structs.replace(own)  # its mark moves on


def contradict(step: ConsolidationStep, store: FactStore, rates: Mapping[Kind, float]) -> None:
    """Make two facts that deny each other half as sure, or as sure as they were."""
    for fact_id, other_id in ((step.fact_id, step.other_id), (step.other_id, step.fact_id)):
        found = store.find(fact_id)
        if found is None or not is_of(found.fact, step):
            store.work.skip("nothing_to_contradict")
            continue
        decide = half_as_sure if step.step is Step.CONTRADICTION else as_sure_as_before
        done = decide(found.line, found.fact, Cause(other_id, step.at))
        if done is None:
            continue
        line, after = done
        store.publish(after)
        if (gone := faded(line, after, step.at, rates)) is not None:
            line, after = gone
            store.publish(after)
        store.put(found.line_id, line, marked=True, first=True)
