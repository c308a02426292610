"""recall/embedding: texts become vectors, in batches, and the vectors go into the log.

It stores nothing: the views of vectors are filled from the log (:mod:`.vectors`), so whatever becomes of them,
nothing is embedded twice.  Embedder down, or its budget spent: the batch waits in place; what waits is found by
its words meanwhile.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from models.errors import InvalidRecord
from models.ports import Embedder, VectorSource
from models.vectors import EmbeddingRequest, EmbeddingResult
from processors.embedding.vectors import pack
from processors.text.validation import decode
from streams import cloudevents
from streams.agents.recall.turn_vectors import send_on
from streams.embedding_requests import EMBEDDINGS, REQUESTS, key_of, read_key
from streams.runtime.effects import Effects
from streams.runtime.records import RecordBatch
from streams.runtime.stage import Stage, StateReader
from streams.settings import Settings

_encode = msgspec.json.Encoder().encode
_SOURCE = "/switchboard/recall"
_EVENT = "memory.embedding.v1"


class Embedding:
    """The step around an embedder; ``paid``: what keeps account of its calls, if they cost money."""

    def __init__(self, settings: Settings, embedder: Embedder, paid: VectorSource | None = None) -> None:
        self._settings = settings
        self._embedder = embedder
        self._paid = paid

    def stage(self) -> Stage:
        """Return the stage."""
        return Stage(
            name="embedding",
            sources=(REQUESTS,),
            async_step=self.step,
            batch_records=self._settings.call_batch_records,
            decided_by={"embedder": self._embedder.model, **self._settings.chosen("episodes")},
        )

    async def step(self, batch: RecordBatch, state: StateReader) -> Effects:
        """Embed the batch's texts in one call, each once, and publish the vectors; hand erasures on."""
        effects = Effects()
        latest: dict[bytes, EmbeddingRequest | None] = {}
        for record in batch.records:
            try:
                if record.value is None and record.key is not None:
                    read_key(record.key)
                    latest[record.key] = None
                    continue
                request = decode(EmbeddingRequest, record.value)
            except InvalidRecord as error:
                effects.dead_letter(record, error)
                continue
            latest[key_of(request)] = request
        asked = {key: request for key, request in latest.items() if request is not None}
        vectors = await self._vectors(batch.partition, asked)
        for key, wanted in latest.items():
            if wanted is None:
                headers = cloudevents.outgoing(_EVENT, _SOURCE, f"{key.decode()}/erased")
                effects.emit(EMBEDDINGS, key, None, headers, partition=batch.partition)
                continue
            result = EmbeddingResult(
                kind=wanted.kind,
                id=wanted.id,
                user_id=wanted.user_id,
                text_hash=wanted.text_hash,
                model=self._embedder.model,
                dimensions=self._embedder.dimensions,
                vector=vectors[key],
                tenant_id=wanted.tenant_id,
                saying=wanted.saying,
            )
            event_id = f"{wanted.kind}/{wanted.id}/{wanted.text_hash}"
            headers = cloudevents.outgoing(_EVENT, _SOURCE, event_id, subject=result.user_id)
            effects.emit(EMBEDDINGS, key, _encode(result), headers, partition=batch.partition)
            if wanted.place is not None and self._settings.episodes == "adaptive":
                send_on(effects, result, wanted.place)
        return effects

    async def _vectors(self, partition: int, asked: Mapping[bytes, EmbeddingRequest]) -> Mapping[bytes, bytes]:
        if not asked:
            return {}
        if self._paid is not None:
            return await self._paid.vectors(partition, asked)
        texts = dict.fromkeys(request.text for request in asked.values())
        found = dict(zip(texts, await self._embedder.embed(list(texts)), strict=True))
        return {key: pack(found[request.text]) for key, request in asked.items()}
