"""memory/index: keeps Qdrant a view of ``memory.facts.v1``.

Every fact is stored at once, so it is found by its words; a fact whose point has no vector yet is sent to
be embedded.  Emptying the index and replaying the topic therefore rebuilds all of it, vectors included.
"""

from __future__ import annotations

import msgspec

from models.errors import InvalidRecord
from models.facts import EmbeddingRequest, Fact, FactStatus
from models.ports import FactIndex
from processors.text.validation import decode
from streams import cloudevents
from streams.adapters.qdrant_payload import is_point_id
from streams.runtime.effects import Effects
from streams.runtime.records import RecordBatch
from streams.runtime.stage import Stage, StateReader
from streams.settings import Settings

FACTS = "memory.facts.v1"
REQUESTS = "memory.embedding-requests.v1"

#: Facts that a search may return; others need no vector.
_SEARCHABLE = (FactStatus.PENDING_EMBED, FactStatus.ACTIVE)

_encode = msgspec.json.Encoder().encode
_SOURCE = "/switchboard/memory"


class Index:
    """The step around a fact index."""

    def __init__(self, settings: Settings, index: FactIndex) -> None:
        self._settings = settings
        self._index = index

    def stage(self) -> Stage:
        """Return the stage."""
        return Stage(
            name="index",
            sources=(FACTS,),
            async_step=self.step,
            batch_records=8 * self._settings.call_batch_records,
        )

    async def step(self, batch: RecordBatch, state: StateReader) -> Effects:
        """Store the latest version of each fact of the batch; ask for the vectors that are missing."""
        effects = Effects()
        latest: dict[str, Fact] = {}
        removed: list[str] = []
        for record in batch.records:
            try:
                if record.value is None and record.key is not None:
                    # A tombstone: the fact is erased.
                    erased = _checked_id(record.key.decode(errors="replace"))
                    removed.append(erased)
                    latest.pop(erased, None)
                    continue
                fact = decode(Fact, record.value)
                known = latest.get(_checked_id(fact.fact_id))
            except InvalidRecord as error:
                effects.dead_letter(record, error)
                continue
            # After a crash, or from a worker that was taken for dead, older versions follow newer ones.
            if known is None or known.version < fact.version:
                latest[fact.fact_id] = fact
        if removed:
            await self._index.delete(removed)
        if latest:
            await self._index.upsert_facts(list(latest.values()))
            wanted = [fact.fact_id for fact in latest.values() if fact.status in _SEARCHABLE]
            missing = await self._index.without_vector(wanted) if wanted else set()
            for fact_id in wanted:
                if fact_id in missing:
                    self._ask(latest[fact_id], effects)
        return effects

    @staticmethod
    def _ask(fact: Fact, effects: Effects) -> None:
        request = EmbeddingRequest(
            fact_id=fact.fact_id,
            user_id=fact.user_id,
            version=fact.version,
            text=fact.statement,
            tenant_id=fact.tenant_id,
        )
        effects.emit(
            REQUESTS,
            fact.fact_id.encode(),
            _encode(request),
            cloudevents.outgoing("memory.embedding-request.v1", _SOURCE, fact.fact_id, subject=fact.user_id),
            route=fact.user_id.encode(),
        )


def _checked_id(fact_id: str) -> str:
    """Return ``fact_id`` if a point may be called so; else one bad id would refuse the whole batch."""
    if not is_point_id(fact_id):
        raise InvalidRecord("invalid_fact_id", f"fact_id is not a uuid in lower case: {fact_id!r}")
    return fact_id
