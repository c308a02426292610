"""memory/facts: the only writer of ``memory.facts.v1`` (seed 002).

Candidates create facts, reinforce them or complete partial ones; a stored vector makes a pending fact
active.  State: the whole fact by ``fact_id``.  Both sources are routed by person, so the changes of one
person's facts stay in order.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

import msgspec

from models.errors import InvalidRecord
from models.facts import EmbeddingResult, Fact, FactCandidate
from models.ids import fact_id
from processors.facts.consolidation import Lookup, apply_embedding, consolidate
from processors.text.validation import decode
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
        staged: dict[str, tuple[Fact, int]] = {}

        def known(wanted_id: str) -> Fact | None:
            if wanted_id in staged:
                return staged[wanted_id][0]
            _, payload = state.read(wanted_id.encode())
            return _decode_fact(payload) if payload else None

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
                self._publish(fact, effects)
            _stage(changes, record.offset + 1, staged)
        for fact, next_offset in staged.values():
            effects.store(fact.fact_id.encode(), _encode(fact), next_offset)
        return effects

    @staticmethod
    def _candidate(record: SourceRecord, state: StateReader, known: Lookup) -> list[Fact]:
        candidate = decode(FactCandidate, record.value)

        def known_then(wanted_id: str) -> Fact | None:
            """Hide what only later records made: a batch whose state was stored in part is read again."""
            return known(wanted_id) if state.read(wanted_id.encode())[0] <= record.offset + 1 else None

        own_id = fact_id(candidate.tenant_id, candidate.user_id, candidate.statement)
        if _has_folded(own_id, record, state, known):
            return []
        for partial in filter(None, map(known_then, candidate.refines)):
            if (partial.tenant_id, partial.user_id) != (candidate.tenant_id, candidate.user_id):
                raise InvalidRecord(
                    "another_person", f"refines names fact {partial.fact_id}, which is about somebody else"
                )
        return consolidate(candidate, known_then, _arrival(record))

    @staticmethod
    def _embedding(record: SourceRecord, state: StateReader, known: Lookup) -> list[Fact]:
        result = decode(EmbeddingResult, record.value)
        fact = known(result.fact_id)
        if fact is None or record.offset < state.read(result.fact_id.encode())[0]:
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


def _has_folded(wanted_id: str, record: SourceRecord, state: StateReader, known: Lookup) -> bool:
    """Whether a fact, or one that it was merged into since, has the candidate in ``record`` folded in."""
    while record.offset >= state.read(wanted_id.encode())[0]:
        fact = known(wanted_id)
        if fact is None or fact.merged_into_id is None:
            return False
        wanted_id = fact.merged_into_id
    return True


def _stage(changes: Sequence[Fact], next_offset: int, staged: dict[str, tuple[Fact, int]]) -> None:
    """Note the last of each fact's changes, in the order in which they are to be stored.

    A partial fact comes before the one that it was merged into, wherever that stood so far: if a crash parts
    the two, the replay finds the merge half done and completes it; the other way round it would find the mark
    of the complete fact, and the partial one would stay alive.
    """
    latest = {fact.fact_id: fact for fact in changes}
    for fact in sorted(latest.values(), key=lambda fact: fact.merged_into_id is None):
        staged.pop(fact.fact_id, None)
        staged[fact.fact_id] = fact, next_offset


def _arrival(record: SourceRecord) -> datetime:
    """When we learned it: the record's own time, so that a replay learns it at the same moment."""
    return datetime.fromtimestamp(record.timestamp / 1000, UTC)
