"""recall/vectors: keeps the vectors in the indexes a view of ``memory.embeddings.v1``.

A vector may come before the thing that it is of; nobody finds it until that is there.  The topic keeps vectors
for ever: those of turns and episodes that the indexes let go of (:mod:`streams.agents.erasure.expiry`) are not
stored again when an index is filled anew, for nothing would come that they are of.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

import numpy as np
import structlog
from numpy.typing import NDArray

from models.errors import InvalidRecord
from models.index import Place, SearchIndex
from models.vectors import EmbeddingResult, VectorKind
from processors.retrieval.embedding.vectors import unpack
from processors.text.validation import decode
from streams.agents.recall.embedding import Building, answered_to
from streams.agents.vectors.requests import EMBEDDINGS, REQUESTS, key_of, read_key
from streams.clients.records import RecordBatch, SourceRecord
from streams.config.settings import Settings
from streams.runtime.effects import Effects
from streams.runtime.stage import Stage, StateReader
from streams.stores.qdrant_payload import is_point_id

log = structlog.get_logger("streams.agents.recall.vectors")

#: What the indexes keep for a time only.
_EXPIRING = (VectorKind.TURN, VectorKind.EPISODE)


class _Made(NamedTuple):
    """A vector, and which model made it."""

    model: str
    vector: NDArray[np.float32]


class VectorViews:
    """The step around the indexes, by the kind of what they hold; all their vectors are of one model.

    An index that is filled with vectors later is one more entry.  ``built``: what is being built anew, maybe
    beside those, with its own model: it gets the mark of how far requests are answered.
    """

    def __init__(
        self,
        settings: Settings,
        indexes: Mapping[VectorKind, SearchIndex[Any, Any]],
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
        built: Building | None = None,
    ) -> None:
        self._settings = settings
        self._kept = timedelta(days=settings.turn_retention_days)
        self._clock = clock
        self._indexes = indexes
        self._built = built
        (self._model,) = {index.space.model for index in indexes.values()}
        self._models = {self._model} if built is None else {self._model, built.index.space.model}
        self._named: set[str] = set()

    def stage(self) -> Stage:
        """Return the stage."""
        return Stage(
            name="vectors",
            sources=(EMBEDDINGS,),
            async_step=self.step,
            batch_records=8 * self._settings.call_batch_records,
            view_marks=self._marks,
        )

    async def _marks(self, places: Sequence[Place]) -> dict[Place, int]:
        """Return the lowest marks of the indexes."""
        found = [await index.marks(places) for index in self._indexes.values()]
        return {place: min(marks[place] for marks in found) for place in places}

    async def step(self, batch: RecordBatch, state: StateReader) -> Effects:
        """Store the latest vector of each thing of the batch; take those of what was erased."""
        effects = Effects()
        latest: dict[VectorKind, _Latest] = defaultdict(_Latest)
        expired = 1000 * (self._clock() - self._kept).timestamp()
        for record in batch.records:
            try:
                kind, wanted_id, made = self._read(record)
            except InvalidRecord as error:
                effects.dead_letter(record, error)
                continue
            except _OtherModel as other:
                effects.count("skipped_records_total", "vectors", "other_model")
                self._name(other.model)
                continue
            if made is not None and kind in _EXPIRING and record.timestamp < expired:
                effects.count("skipped_records_total", "vectors", "expired")
            elif kind in self._indexes:
                latest[kind].take(wanted_id, made)
            else:
                effects.count("skipped_records_total", "vectors", "no_index")
        for kind, vectors in latest.items():
            index = self._indexes[kind]
            if forgotten := vectors.forgotten(self._models):
                await index.forget_vectors(forgotten)
            for model, kept in vectors.kept.items():
                if kept:
                    await index.store_vectors([*kept], np.stack([*kept.values()]), model)
        for index in self._indexes.values():
            await index.set_mark((batch.source, batch.partition), batch.next_position)
        if self._built is not None and (answered := answered_to(batch, self._built.build)):
            await self._built.index.set_mark((REQUESTS, batch.partition), answered)
        return effects

    def _read(self, record: SourceRecord) -> tuple[VectorKind, str, _Made | None]:
        if record.value is None and record.key is not None:
            kind, wanted_id = read_key(record.key)
            return kind, _checked(wanted_id), None
        result = decode(EmbeddingResult, record.value)
        if record.key is not None and record.key != key_of(result):
            raise InvalidRecord("key_mismatch", "the record's key is not kind/id of its value")
        vector = unpack(result)
        if result.model not in self._models:
            raise _OtherModel(result.model)
        return result.kind, _checked(result.id), _Made(result.model, vector)

    def _name(self, model: str) -> None:
        """Say once of each other model that its vectors are left out: the log keeps what it once had."""
        if model not in self._named:
            self._named.add(model)
            if self._built is not None:
                return  # they are being made again
            log.warning(
                "vectors of another model are left out; to have them made again, stop the workers and run: "
                "switchboard state rewind recall memory.embedding-requests.v1",
                found=model,
                expected=self._model,
            )


class _Latest:
    """The latest vector of each thing of a batch by each model, and what was erased."""

    def __init__(self) -> None:
        self.kept: dict[str, dict[str, NDArray[np.float32]]] = defaultdict(dict)
        self._erased: dict[str, None] = {}

    def take(self, wanted_id: str, made: _Made | None) -> None:
        if made is not None:
            self.kept[made.model][wanted_id] = made.vector
            return
        self._erased[wanted_id] = None
        for vectors in self.kept.values():
            vectors.pop(wanted_id, None)

    def forgotten(self, models: Collection[str]) -> list[str]:
        """Return the erased ids that have no later vector by each of the models."""
        return [name for name in self._erased if any(name not in self.kept[model] for model in models)]


class _OtherModel(Exception):
    """A vector that cannot be compared with those of the index."""

    def __init__(self, model: str) -> None:
        super().__init__(model)
        self.model = model


def _checked(wanted_id: str) -> str:
    """Return the id if a point may be called so; else one bad id would refuse the whole batch."""
    if not is_point_id(wanted_id):
        raise InvalidRecord("invalid_id", f"id is not a uuid in lower case: {wanted_id!r}")
    return wanted_id
