"""memory/facts, the steps of ``memory.consolidation.v1``: one function for each kind of them.

A step is folded into the state of one key and may change other lines; those are stored so that a crash leaves
the step to be done again, never half of it.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from models.consolidation import ConsolidationStep, Step
from models.errors import InvalidRecord
from models.statements import Kind
from processors.facts.lines import Cause, with_fact
from processors.facts.merging.applying import as_sure_as_before, half_as_sure, merged
from processors.facts.merging.support import borne_out, faded
from processors.text.validation import decode
from streams.agents.memory import ending, passing, separating
from streams.agents.memory.fact_correcting import fold_correction
from streams.agents.memory.fact_store import FactStore, is_of
from streams.clients.records import SourceRecord

#: Steps that name one fact, and those that say where something was said.
_ABOUT_ONE = (Step.DEPRECATE, Step.SEPARATE, Step.PASSES)
_SAYING = (Step.SUPPORT, Step.ENDS, Step.REPLACES, Step.PASSES)


def decode_step(record: SourceRecord) -> ConsolidationStep:
    """Return the step of a record.

    Raises:
        InvalidRecord: ``incomplete_step``, ``same_fact``, or it is none.
    """
    step = decode(ConsolidationStep, record.value)
    if step.step is Step.CONSOLIDATE:
        return step
    if step.step is Step.CORRECT:
        if not (step.user_id and step.fact_id and step.correction):
            raise InvalidRecord(
                "incomplete_step", "a step correct names user_id and fact_id, and has a correction"
            )
        return step
    if not (step.user_id and step.fact_id) or not (step.other_id or step.step in _ABOUT_ONE):
        raise InvalidRecord("incomplete_step", f"a step {step.step} names user_id, fact_id and other_id")
    if step.fact_id == step.other_id:
        raise InvalidRecord("same_fact", f"a step {step.step} names one fact twice: {step.fact_id}")
    if step.step in _SAYING and step.saying is None:
        raise InvalidRecord("incomplete_step", f"a step {step.step} says where it was said (saying)")
    return step


def key_of(step: ConsolidationStep) -> bytes:
    """Return the key of the state that a step is folded into: that of the fact that becomes part of another, or
    that it is about, or the step's own.
    """
    if step.step is Step.CORRECT:
        return step.step_id.encode()
    is_about_one = step.step in (*_ABOUT_ONE, Step.SUPPORT)
    return (step.fact_id if is_about_one else step.other_id).encode()


def fold(step: ConsolidationStep, store: FactStore, rates: Mapping[Kind, float]) -> None:
    """Do a step about facts."""
    match step.step:
        case Step.MERGE:
            _merge(step, store)
        case Step.CONTRADICTION | Step.KEEP:
            _contradict(step, store, rates)
        case Step.SUPPORT | Step.DEPRECATE:
            _change_one(step, store, rates)
        case Step.ENDS | Step.REPLACES:
            ending.fold(step, store)
        case Step.PASSES:
            passing.fold(step, store)
        case Step.SEPARATE:
            separating.fold(step, store)
        case Step.CORRECT:
            fold_correction(step, store)


def _merge(step: ConsolidationStep, store: FactStore) -> None:
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
    store.publish(*done.other)
    if not is_folded:
        store.change(stays.line_id, done.into, done.stays, marked=True)
    # The line that it leaves may still be there after a crash, and says the rest.
    store.write_behind(other.line_id, stays.line_id)
    store.put(other.line_id, done.left, marked=True)
    if store.own is own:
        store.own = msgspec.structs.replace(own)  # its mark moves on


def _contradict(step: ConsolidationStep, store: FactStore, rates: Mapping[Kind, float]) -> None:
    """Make two facts that deny each other half as sure, or as sure as they were."""
    for fact_id, other_id in ((step.fact_id, step.other_id), (step.other_id, step.fact_id)):
        found = store.find(fact_id)
        if found is None or not is_of(found.fact, step):
            store.work.skip("nothing_to_contradict")
            continue
        decide = half_as_sure if step.step is Step.CONTRADICTION else as_sure_as_before
        after = decide(found.fact, Cause(other_id, step.at))
        if after is None:
            continue
        gone = faded(after, step.at, rates)
        changes = [after] if gone is None else [after, gone]
        store.change(found.line_id, with_fact(found.line, changes[-1]), changes, marked=True, first=True)


def _change_one(step: ConsolidationStep, store: FactStore, rates: Mapping[Kind, float]) -> None:
    """Have a turn bear a fact out, or the one that stands for it by now; or have it fade."""
    found = store.standing(step.fact_id, step)
    if found is None:
        store.work.skip("nothing_to_change")
        return
    said = step.saying
    if step.step is Step.DEPRECATE:
        done = faded(found.fact, step.at, rates)
    elif said is None or store.is_erased(said.conversation_id, said.arrived_at, step):
        done = None
    else:
        near = step.similarity or 0.0
        done = borne_out(found.fact, step.other_id, said, near, step.at, rates)
    if done is None:
        store.work.skip("nothing_new")
        return
    store.change(found.line_id, with_fact(found.line, done), [done])
