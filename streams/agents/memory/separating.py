"""memory/facts, what it does when somebody says that two facts which were made one are two
(:mod:`processors.facts.merging.separating`).

The line of the fact that stays is stored first, then those in between; that of the one that is back comes last,
and until it is stored the step is done again.
"""

from __future__ import annotations

from models.consolidation import ConsolidationStep
from processors.facts.merging.separating import separated, without_part
from processors.facts.stubs import Stub
from processors.retrieval.embedding.wording import request_for_fact
from streams.agents.memory.fact_state import STATE, State, line_of
from streams.agents.memory.fact_writing import KnownLines, publish, standing
from streams.agents.vectors import requests as embedding_requests
from streams.runtime.keyed import Run, Work

_SOURCE = "/switchboard/memory"


def fold(step: ConsolidationStep, own: State | None, run: Run[ConsolidationStep], work: Work) -> State | None:
    """Bring back a fact that was merged into another; what was not stays as it is."""
    lines = KnownLines(run.next_offset, work)
    left_id = lines.line_of(step.fact_id)
    left = line_of(left_id, work)
    stub = None if left is None else left.stub(step.fact_id)
    if left is None or stub is None or stub.fact is None:
        work.skip("nothing_to_separate")
        return own
    whose = stub.fact.tenant_id, stub.fact.user_id
    if stub.fact.archived_at is not None and step.at < stub.fact.archived_at:
        work.skip("replayed")  # it is about an earlier merge
        return own
    stays = standing(stub.into, lines, work)
    if whose != (step.tenant_id, step.user_id) or stays is None:
        work.skip("nothing_to_separate")
        return own
    into_id, into, fact = stays
    through = _between(stub.into, fact.fact_id, lines, work)
    done = separated(into_id, into, fact, left, stub, [part for _, part in through], step.at)
    if done is None:
        work.skip("nothing_to_separate")
        return own
    if not lines.is_folded(into_id):
        for changed in done.stays:
            publish(changed, work)
        work.put(into_id.encode(), done.into, STATE, run.next_offset)
    work.write_behind(left_id.encode(), into_id.encode())
    for line_id, part in through:
        between = line_of(line_id, work)
        if between is not None and not lines.is_folded(line_id):
            work.put(line_id.encode(), without_part(between, part, stub), STATE, run.next_offset)
        work.write_behind(left_id.encode(), line_id.encode())
    for changed in done.back:
        publish(changed, work)
    # Its vector was let go of with it.
    embedding_requests.ask(work, request_for_fact(done.back[0]), _SOURCE)
    if left_id.encode() == run.key:
        return done.left
    work.put(left_id.encode(), done.left, STATE, run.next_offset)
    return own


def _between(fact_id: str, standing_id: str, lines: KnownLines, work: Work) -> list[tuple[str, Stub]]:
    """Return the stubs between a fact and the one that stands for it, with their lines."""
    found: list[tuple[str, Stub]] = []
    while fact_id != standing_id:
        line_id = lines.line_of(fact_id)
        line = line_of(line_id, work)
        stub = None if line is None else line.stub(fact_id)
        if stub is None or not stub.into:
            break
        found.append((line_id, stub))
        fact_id = stub.into
    return found
