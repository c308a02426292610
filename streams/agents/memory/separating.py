"""memory/facts, what it does when somebody says that two facts which were made one are two
(:mod:`processors.facts.merging.applying`).

The line of the fact that stays is stored first, then those in between; that of the one that is back comes last,
and until it is stored the step is done again.
"""

from __future__ import annotations

from models.consolidation import ConsolidationStep
from processors.facts.merging.applying import separated, without_part
from streams.agents.memory.fact_store import FactStore, is_of


def fold(step: ConsolidationStep, store: FactStore) -> None:
    """Bring back a fact that was merged into another; what was not stays as it is."""
    left_id = store.line_of(step.fact_id)
    left = store.line(left_id)
    stub = None if left is None else left.stub(step.fact_id)
    if left is None or stub is None or stub.fact is None:
        store.work.skip("nothing_to_separate")
        return
    if stub.fact.archived_at is not None and step.at < stub.fact.archived_at:
        store.work.skip("replayed")  # it is about an earlier merge
        return
    stays = store.standing(stub.into)
    if not is_of(stub.fact, step) or stays is None:
        store.work.skip("nothing_to_separate")
        return
    between = [
        (each, part) for each, _, fact, part in store.trail(stub.into) if fact is None and part is not None
    ]
    done = separated(stays, left, stub, [part for _, part in between], step.at)
    if not store.is_folded(stays.line_id):
        store.change(stays.line_id, done.into, done.stays, marked=True)
    store.write_behind(left_id, stays.line_id)
    for line_id, part in between:
        line = store.line(line_id)
        if line is not None and not store.is_folded(line_id):
            store.put(line_id, without_part(line, part, stub), marked=True)
        store.write_behind(left_id, line_id)
    store.publish(*done.other)
    store.ask_vector(done.other[0])  # it was let go of with it
    store.put(left_id, done.left, marked=True)
