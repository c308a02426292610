"""recall/embedding: gives facts their vectors, in batches, and says so.

Embedder or Qdrant down: the batch waits in place; facts stay searchable by their words meanwhile.
"""

from __future__ import annotations

import msgspec

from models.errors import InvalidRecord
from models.facts import EmbeddingRequest, EmbeddingResult
from models.ports import Embedder, FactIndex
from processors.text.validation import decode
from streams import cloudevents
from streams.runtime.effects import Effects
from streams.runtime.records import RecordBatch
from streams.runtime.stage import Stage, StateReader
from streams.settings import Settings

REQUESTS = "memory.embedding-requests.v1"
EMBEDDINGS = "memory.embeddings.v1"

_encode = msgspec.json.Encoder().encode
_SOURCE = "/switchboard/recall"


class Embedding:
    """The step around an embedder and a fact index."""

    def __init__(self, settings: Settings, embedder: Embedder, index: FactIndex) -> None:
        self._settings = settings
        self._embedder = embedder
        self._index = index

    def stage(self) -> Stage:
        """Return the stage."""
        return Stage(
            name="embedding",
            sources=(REQUESTS,),
            async_step=self.step,
            batch_records=self._settings.call_batch_records,
            decided_by={"embedder": self._embedder.model},
        )

    async def step(self, batch: RecordBatch, state: StateReader) -> Effects:
        """Embed the batch's statements in one call, store the vectors, publish that they are there."""
        effects = Effects()
        requests: dict[str, EmbeddingRequest] = {}
        for record in batch.records:
            try:
                request = decode(EmbeddingRequest, record.value)
            except InvalidRecord as error:
                effects.dead_letter(record, error)
                continue
            requests[request.fact_id] = request
        if not requests:
            return effects
        vectors = await self._embedder.embed([request.text for request in requests.values()])
        await self._index.store_vectors(list(requests), vectors)
        for request in requests.values():
            result = EmbeddingResult(
                fact_id=request.fact_id,
                user_id=request.user_id,
                version=request.version,
                model=self._embedder.model,
                dimensions=self._embedder.dimensions,
                tenant_id=request.tenant_id,
            )
            effects.emit(
                EMBEDDINGS,
                result.fact_id.encode(),
                _encode(result),
                cloudevents.outgoing("memory.embedding.v1", _SOURCE, result.fact_id, subject=result.user_id),
                route=result.user_id.encode(),
            )
        return effects
