"""recall/embedding: texts become vectors, in batches, and the vectors go into the log.

The views of vectors are filled from the log (:mod:`.vectors`), so whatever becomes of them, nothing is embedded
twice.  Embedder down: the batch waits in place.  What a tenant has no budget left for waits aside
(:mod:`.waiting`), unless an index is being built anew: then the batch waits in place for that, too.  What waits
is found by its words meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from models.errors import InvalidRecord
from models.index import SearchIndex
from models.ports import Embedder, VectorSource
from models.vectors import EmbeddingRequest, EmbeddingResult
from processors.retrieval.embedding.vectors import pack
from processors.text.validation import decode
from streams.agents.emitting import emit, emit_tombstone
from streams.agents.recall.turn_vectors import send_on
from streams.agents.recall.waiting import (
    WAITING,
    Waiting,
    ask_again,
    asks_again,
    at_once,
    gives_up,
    keep_most,
    settle,
    wait,
    what_waits,
)
from streams.agents.vectors.requests import EMBEDDINGS, REQUESTS, key_of, read_key
from streams.clients.records import RecordBatch, header
from streams.config.settings import Settings
from streams.runtime.effects import Effects
from streams.runtime.stage import Stage, StateReader
from streams.runtime.work import Work

#: Of the last vector of a batch while an index is being built anew: for which build, and up to which offset
#: requests are answered.  Those of earlier builds stay in the topic.
ANSWERED_TO = "requests-answered-to"


@dataclass(frozen=True)
class Building:
    """An index that gets its vectors anew, and what names this build of it."""

    index: SearchIndex[Any, Any]
    build: str


class Embedding:
    """The step around an embedder; ``paid``: what keeps account of its calls, if they cost money.

    ``built``: what is being built anew; the mark of its index says from where on requests are read again.
    """

    def __init__(
        self,
        settings: Settings,
        embedder: Embedder,
        paid: VectorSource | None = None,
        built: Building | None = None,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
        index: SearchIndex[Any, Any] | None = None,
    ) -> None:
        self._settings = settings
        self._embedder = embedder
        self._paid = paid
        self._built = built
        self._clock = clock
        self._index = index

    def stage(self) -> Stage:
        """Return the stage."""
        stage = Stage(
            name="embedding",
            sources=(REQUESTS,),
            async_step=self.step,
            batch_records=self._settings.call_batch_records,
            decided_by={"embedder": self._embedder.model, **self._settings.chosen("episodes")},
        )
        if self._built is not None:  # all requests are read again, those that wait as well
            return replace(stage, view_marks=self._built.index.marks)
        return replace(stage, table="embedding", on_timer=ask_again, timer_at=at_once, codecs=(WAITING,))

    async def step(self, batch: RecordBatch, state: StateReader) -> Effects:
        """Embed the batch's texts in one call, each once, and publish the vectors; hand erasures on."""
        effects = Work("embedding", state)
        latest: dict[bytes, EmbeddingRequest | None] = {}
        offsets: dict[bytes, int] = {}
        since: dict[bytes, int] = {}
        answered = await self._answered(batch)
        for record in batch.records:
            if asks_again(record):
                found = None if self._built is not None else what_waits(record, latest, answered, effects)
                if found is None:
                    effects.skip("replayed")
                elif not gives_up(*found, record, effects):
                    key, waited = found
                    latest[key], offsets[key], since[key] = waited.request, record.offset, waited.since
                continue
            try:
                if record.value is None and record.key is not None:
                    read_key(record.key)
                    latest[record.key], offsets[record.key] = None, record.offset
                    continue
                request = decode(EmbeddingRequest, record.value)
            except InvalidRecord as error:
                effects.dead_letter(record, error)
                continue
            key = key_of(request)
            latest[key], offsets[key], since[key] = request, record.offset, record.timestamp
        asked = {key: request for key, request in latest.items() if request is not None}
        vectors = await self._vectors(batch.partition, asked)
        for key, wanted in latest.items():
            if wanted is not None and key not in vectors:
                wait(key, Waiting(offsets[key], wanted, since[key]), self._clock(), effects)
                continue
            settle(key, offsets[key], effects)
            if wanted is None:
                emit_tombstone(effects, EmbeddingResult, key.decode(), partition=batch.partition)
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
                sentence=wanted.sentence,
            )
            event_id = f"{wanted.kind}/{wanted.id}/{wanted.text_hash}"
            emit(effects, result, event_id, partition=batch.partition)
            if wanted.place is not None and self._settings.episodes == "adaptive":
                send_on(effects, result, wanted.place)
        if len(vectors) < len(asked):
            keep_most(batch, latest, effects)
        if self._built is not None and not _say_how_far(effects, batch, self._built.build):
            await self._pass_over(self._built.index, batch)
        effects.flush()
        return effects

    async def _answered(self, batch: RecordBatch) -> int:
        """Return up to which offset the building of an index has answered what is asked for again."""
        if self._index is None or not any(map(asks_again, batch.records)):
            return 0
        place = REQUESTS, batch.partition
        return (await self._index.marks([place]))[place]

    @staticmethod
    async def _pass_over(built: SearchIndex[Any, Any], batch: RecordBatch) -> None:
        """Set the mark behind a batch that no vector comes of, if what came before is stored."""
        place = batch.source, batch.partition
        if (await built.marks([place]))[place] >= batch.position:
            await built.set_mark(place, batch.next_position)

    async def _vectors(self, partition: int, asked: Mapping[bytes, EmbeddingRequest]) -> Mapping[bytes, bytes]:
        if not asked:
            return {}
        if self._paid is not None:
            return await self._paid.vectors(partition, asked, some=self._built is None)
        texts = dict.fromkeys(request.text for request in asked.values())
        found = dict(zip(texts, await self._embedder.embed(list(texts)), strict=True))
        return {key: pack(found[request.text]) for key, request in asked.items()}


def _say_how_far(effects: Effects, batch: RecordBatch, build: str) -> bool:
    """Say in the last vector how far requests are answered: who has stored it sets the mark.  False: none."""
    places = [place for place, output in enumerate(effects.outputs) if output.topic == EMBEDDINGS]
    if places:
        last = effects.outputs[places[-1]]
        answered = (ANSWERED_TO, f"{build} {batch.next_position}".encode())
        effects.outputs[places[-1]] = last._replace(headers=(*last.headers, answered))
    return bool(places)


def answered_to(batch: RecordBatch, build: str) -> int:
    """Return up to which offset requests are answered for a build by this batch and those before; 0: unsaid."""
    said = ((header(record.headers, ANSWERED_TO) or b"").partition(b" ") for record in batch.records)
    return max((int(at) for named, _, at in said if named == build.encode() and at.isdigit()), default=0)
