"""Publishing facts and their tombstones, and the lines that a fold reads meanwhile."""

from __future__ import annotations

import msgspec

from models.facts import Erasure, Fact, FactCandidate, FactChange
from processors.facts.claims import claim_of
from processors.facts.consolidation import Consolidation
from processors.facts.lines import Line, Place
from processors.retrieval.embedding.wording import request_for_fact
from streams.agents.memory import tombstones
from streams.agents.memory.fact_state import STATE, erasure_of, line_of
from streams.agents.vectors import requests as embedding_requests
from streams.clients import cloudevents
from streams.runtime.keyed import Work

FACTS = "memory.facts.v1"

#: How often a fact may have been merged into another that was merged itself.
CHAIN = 64

_encode = msgspec.json.Encoder().encode
_SOURCE = "/switchboard/memory"
_EVENT = "memory.fact.v1"


def publish(fact: Fact, work: Work) -> None:
    """Publish a fact after a change; for a new one, ask for its vector."""
    event_id = f"{fact.fact_id}/{fact.version}"
    work.emit(
        FACTS,
        fact.fact_id.encode(),
        _encode(fact),
        cloudevents.outgoing(_EVENT, _SOURCE, event_id, subject=fact.user_id),
        route=fact.user_id.encode(),
    )
    work.count("facts_total", fact.kind, fact.status, fact.change)
    if fact.change is FactChange.CREATED:
        embedding_requests.ask(work, request_for_fact(fact), _SOURCE)


def write_tombstone(fact_id: str, fact: Fact | None, erasure: Erasure, partition: int, work: Work) -> None:
    """Write the tombstone of a fact.

    ``fact``: ``None`` for one of which only a stub is left, and not whose it was.
    """
    user_id = None if fact is None else fact.user_id
    event_id = f"{fact_id}/{erasure.version}/erased"
    work.emit(
        FACTS,
        fact_id.encode(),
        None,
        [*cloudevents.outgoing(_EVENT, _SOURCE, event_id, subject=user_id), *tombstones.headers(erasure)],
        route=None if user_id is None else user_id.encode(),
        partition=partition if user_id is None else None,
    )
    if fact is not None:
        work.count("facts_total", fact.kind, fact.status, FactChange.ERASED)


def fold_in(candidate: FactCandidate, slot: Line | None, known: KnownLines, work: Work) -> Line:
    """Fold a candidate into its slot, and return it: it is to be stored last."""
    done = Consolidation(candidate, slot, known)
    if not done.changes:
        work.skip("replayed")
    for fact in done.changes:
        key, line_id = fact.fact_id.encode(), claim_of(fact).line_id
        before = line_of(line_id, work)
        old = None if before is None else before.fact(fact.fact_id)
        publish(fact, work)
        is_back = old is None and fact.change is FactChange.KEPT  # its vector was let go of with it
        if is_back or (old is not None and old.statement != fact.statement):
            embedding_requests.ask(work, request_for_fact(fact), _SOURCE)
        if line_id != fact.fact_id and work.get(key, STATE) is None:
            work.put(key, Place(line_id), STATE, first=True)
    for line_id, line in done.lines.items():
        work.put(line_id.encode(), line, STATE, known.position)
        keep_behind(line_id, line, known.position, work)
    return msgspec.structs.replace(done.slot)  # its mark moves on, whatever changed


def keep_behind(line_id: str, line: Line, position: int, work: Work) -> None:
    """Store a line behind those that its facts were merged into, or released from at this position.

    It does not hold any more what they inherited: stored without them, that would be lost.
    """
    for stub in line.stubs:
        released = [led.into_line for led in stub.led if led.until == position]
        for other_id in (stub.into_line, *released):
            if other_id:
                work.write_behind(line_id.encode(), other_id.encode())


class KnownLines:
    """The state that a candidate may read; ``next_offset`` is the offset after it."""

    def __init__(self, next_offset: int, work: Work) -> None:
        self._next_offset = next_offset
        self._work = work

    @property
    def position(self) -> int:
        return self._next_offset

    def line(self, line_id: str) -> Line | None:
        return line_of(line_id, self._work)

    def is_folded(self, line_id: str) -> bool:
        return self._work.mark(line_id.encode()) >= self._next_offset

    def line_of(self, fact_id: str) -> str:
        found = self._work.get(fact_id.encode(), STATE)
        return found.line_id if isinstance(found, Place) else fact_id

    def erasure(self, fact_id: str) -> Erasure | None:
        return erasure_of(fact_id, self._work)


def standing(fact_id: str, lines: KnownLines, work: Work) -> tuple[str, Line, Fact] | None:
    """Return the line and the fact that stands for ``fact_id`` by now; ``None`` if nothing does."""
    for _ in range(CHAIN):
        line_id = lines.line_of(fact_id)
        line = line_of(line_id, work)
        if line is None:
            return None
        if (fact := line.fact(fact_id)) is not None:
            return line_id, line, fact
        stub = line.stub(fact_id)
        if stub is None or not stub.into:
            return None
        fact_id = stub.into
    return None
