"""recall/index: keeps Qdrant a view of ``memory.facts.v1``.

Every fact is stored at once, so it is found by its words; a fact whose point has no vector yet is sent to
be embedded.  Emptying the index and replaying the topic therefore rebuilds all of it, vectors included.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from models.errors import InvalidRecord
from models.facts import EmbeddingRequest, Fact, FactStatus
from models.ports import FactIndex
from processors.facts.erasure import outlives
from processors.text.validation import decode
from streams import cloudevents
from streams.agents.memory import tombstones
from streams.agents.memory.tombstones import Tombstone
from streams.runtime.effects import Effects
from streams.runtime.records import RecordBatch, SourceRecord
from streams.runtime.stage import Stage, StateReader
from streams.settings import Settings

FACTS = "memory.facts.v1"
EMBEDDINGS = "memory.embeddings.v1"
REQUESTS = "memory.embedding-requests.v1"

#: Facts that a search may return; others need no vector.
_SEARCHABLE = (FactStatus.PENDING_EMBED, FactStatus.ACTIVE)

_encode = msgspec.json.Encoder().encode
_SOURCE = "/switchboard/recall"


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
        erased: dict[str, int] = {}
        stored = await self._known(batch)
        for record in batch.records:
            try:
                if (tombstone := tombstones.read(record)) is not None:
                    self._erase(tombstone, latest, stored, erased)
                    self._hand_on(tombstone, record, effects)
                    continue
                fact = decode(Fact, record.value)
                known = latest.get(tombstones.checked_id(fact.fact_id))
            except InvalidRecord as error:
                effects.dead_letter(record, error)
                continue
            # After a crash, or from a worker that was taken for dead, older versions follow newer ones.
            if known is None or known.version < fact.version:
                latest[fact.fact_id] = fact
        if erased:
            await self._index.erase(erased)
        if latest:
            await self._index.upsert_facts(list(latest.values()))
            await self._ask_for_vectors(latest, effects)
        return effects

    async def _known(self, batch: RecordBatch) -> dict[str, Fact]:
        """Return what is stored of the facts that the batch has tombstones for."""
        keys = [record.key for record in batch.records if record.value is None and record.key is not None]
        ids = [key.decode(errors="replace") for key in keys]
        return {fact.fact_id: fact for fact in await self._index.get(ids)} if ids else {}

    @staticmethod
    def _erase(
        tombstone: Tombstone, latest: dict[str, Fact], stored: Mapping[str, Fact], erased: dict[str, int]
    ) -> None:
        """Note up to which version a fact is erased.

        When a topic is read again, tombstones come by that are older than what is stored.
        """
        fact_id, erasure = tombstone
        known = [fact for fact in (stored.get(fact_id), latest.get(fact_id)) if fact is not None]
        gone = [fact.version for fact in known if not outlives(fact, erasure.until)]
        version = max([erasure.version, erased.get(fact_id, 0), *gone])
        if version:
            erased[fact_id] = version
        if fact_id in latest and latest[fact_id].version <= version:
            del latest[fact_id]

    @staticmethod
    def _hand_on(tombstone: Tombstone, record: SourceRecord, effects: Effects) -> None:
        """Tell the facts stage, which lies in the same partition: whose fact it was only the log knows."""
        event = cloudevents.outgoing("memory.embedding.v1", _SOURCE, tombstone.fact_id)
        headers = [*event, *tombstones.headers(tombstone.erasure)]
        effects.emit(EMBEDDINGS, record.key, None, headers, partition=record.partition)

    async def _ask_for_vectors(self, latest: Mapping[str, Fact], effects: Effects) -> None:
        """Ask where one is missing, and where the facts stage does not know that there is one."""
        wanted = [fact.fact_id for fact in latest.values() if fact.status in _SEARCHABLE]
        missing = await self._index.without_vector(wanted) if wanted else set()
        for fact_id in wanted:
            if fact_id in missing or latest[fact_id].status is FactStatus.PENDING_EMBED:
                self._ask(latest[fact_id], effects)

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
