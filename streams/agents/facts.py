"""memory/facts: the only writer of ``memory.facts.v1`` (seed 002).

Candidates create facts, reinforce them or complete partial ones; a stored vector makes a pending fact
active.  State: the whole fact by ``fact_id``.  Both sources are routed by person, so the changes of one
person's facts stay in order.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

import msgspec

from models.errors import InvalidRecord
from models.facts import EmbeddingResult, Fact, FactCandidate
from models.ids import fact_id
from processors.facts import apply_embedding, consolidate
from processors.validation import decode
from streams import cloudevents
from streams.runtime.effects import Effects
from streams.runtime.records import RecordBatch, SourceRecord
from streams.runtime.stage import Stage, StateReader
from streams.settings import Settings

CANDIDATES = "memory.fact-candidates.v1"
EMBEDDINGS = "memory.embeddings.v1"
FACTS = "memory.facts.v1"

_encode = msgspec.json.Encoder().encode
_decode_fact = msgspec.json.Decoder(Fact).decode
_SOURCE = "/switchboard/memory"


class Facts:
    """The step; pure, so it needs nothing but its batch size."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    def stage(self) -> Stage:
        """Return the stage."""
        return Stage(
            name="facts",
            sources=(CANDIDATES, EMBEDDINGS),
            table="facts",
            step=self.step,
            batch_records=self._settings.batch_records,
        )

    def step(self, batch: RecordBatch, state: StateReader) -> Effects:
        """Fold candidates or stored vectors into the facts that they are about."""
        effects = Effects()
        staged: dict[str, Fact] = {}

        def known(wanted_id: str) -> Fact | None:
            fact = staged.get(wanted_id)
            if fact is None:
                _, payload = state.read(wanted_id.encode())
                fact = _decode_fact(payload) if payload else None
            return fact

        change = self._candidate if batch.source == CANDIDATES else self._embedding
        for record in batch.records:
            try:
                changes = change(record, state, known)
            except InvalidRecord as error:
                effects.dead_letter(record, error)
                continue
            if not changes:
                effects.count("skipped_records_total", "facts", "replayed")
            for fact in changes:
                staged[fact.fact_id] = fact
                self._publish(fact, effects)
            # A partial fact before the one that it was merged into: if a crash parts the two, the replay
            # finds the merge half done and completes it; the other way round it would think it was done.
            for fact in sorted(changes, key=lambda fact: fact.merged_into_id is None):
                effects.store(fact.fact_id.encode(), _encode(staged[fact.fact_id]), record.offset + 1)
        return effects

    @staticmethod
    def _candidate(record: SourceRecord, state: StateReader, known: Callable[[str], Fact | None]) -> list[Fact]:
        candidate = decode(FactCandidate, record.value)
        own_id = fact_id(candidate.tenant_id, candidate.user_id, candidate.statement)
        if record.offset < state.read(own_id.encode())[0]:
            return []
        return consolidate(candidate, known, _arrival(record))

    @staticmethod
    def _embedding(record: SourceRecord, state: StateReader, known: Callable[[str], Fact | None]) -> list[Fact]:
        result = decode(EmbeddingResult, record.value)
        fact = known(result.fact_id)
        if fact is None:
            return []
        after = apply_embedding(fact, result, _arrival(record))
        return [] if after is fact else [after]

    @staticmethod
    def _publish(fact: Fact, effects: Effects) -> None:
        effects.emit(
            FACTS,
            fact.fact_id.encode(),
            _encode(fact),
            cloudevents.outgoing(
                "memory.fact.v1", _SOURCE, f"{fact.fact_id}/{fact.version}", subject=fact.user_id
            ),
            route=fact.user_id.encode(),
        )
        effects.count("facts_total", fact.category, fact.status, fact.change)


def _arrival(record: SourceRecord) -> datetime:
    """When we learned it: the record's own time, so that a replay learns it at the same moment."""
    return datetime.fromtimestamp(record.timestamp / 1000, UTC)
