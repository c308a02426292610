"""recall/vectors: keeps the vectors in the indexes a view of ``memory.embeddings.v1``.

A vector may come before the thing that it is of; nobody finds it until that is there.  The topic keeps vectors
for ever: those of turns and episodes that the indexes let go of (:mod:`streams.expiry`) are not stored again
when an index is filled anew, for nothing would come that they are of.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import structlog
from numpy.typing import NDArray

from models.errors import InvalidRecord
from models.index import Place, SearchIndex
from models.vectors import EmbeddingResult, VectorKind
from processors.embedding.vectors import unpack
from processors.text.validation import decode
from streams.adapters.qdrant_payload import is_point_id
from streams.embedding_requests import EMBEDDINGS, key_of, read_key
from streams.runtime.effects import Effects
from streams.runtime.records import RecordBatch, SourceRecord
from streams.runtime.stage import Stage, StateReader
from streams.settings import Settings

log = structlog.get_logger("streams.agents.recall.vectors")

#: What the indexes keep for a time only.
_EXPIRING = (VectorKind.TURN, VectorKind.EPISODE)


class VectorViews:
    """The step around the indexes, by the kind of what they hold; all their vectors are of one model.

    An index that is filled with vectors later is one more entry.
    """

    def __init__(
        self,
        settings: Settings,
        indexes: Mapping[VectorKind, SearchIndex[Any, Any]],
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._settings = settings
        self._kept = timedelta(days=settings.turn_retention_days)
        self._clock = clock
        self._indexes = indexes
        (self._model,) = {index.space.model for index in indexes.values()}
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
        latest: dict[VectorKind, dict[str, NDArray[np.float32] | None]] = defaultdict(dict)
        expired = 1000 * (self._clock() - self._kept).timestamp()
        for record in batch.records:
            try:
                kind, wanted_id, vector = self._read(record)
            except InvalidRecord as error:
                effects.dead_letter(record, error)
                continue
            except _OtherModel as other:
                effects.count("skipped_records_total", "vectors", "other_model")
                self._name(other.model)
                continue
            if vector is not None and kind in _EXPIRING and record.timestamp < expired:
                effects.count("skipped_records_total", "vectors", "expired")
            elif kind in self._indexes:
                latest[kind][wanted_id] = vector
            else:
                effects.count("skipped_records_total", "vectors", "no_index")
        for kind, vectors in latest.items():
            index = self._indexes[kind]
            if forgotten := [wanted_id for wanted_id, vector in vectors.items() if vector is None]:
                await index.forget_vectors(forgotten)
            kept = {wanted_id: vector for wanted_id, vector in vectors.items() if vector is not None}
            if kept:
                await index.store_vectors([*kept], np.stack([*kept.values()]), self._model)
        for index in self._indexes.values():
            await index.set_mark((batch.source, batch.partition), batch.next_position)
        return effects

    def _read(self, record: SourceRecord) -> tuple[VectorKind, str, NDArray[np.float32] | None]:
        if record.value is None and record.key is not None:
            kind, wanted_id = read_key(record.key)
            return kind, _checked(wanted_id), None
        result = decode(EmbeddingResult, record.value)
        if record.key is not None and record.key != key_of(result):
            raise InvalidRecord("key_mismatch", "the record's key is not kind/id of its value")
        vector = unpack(result)
        if result.model != self._model:
            raise _OtherModel(result.model)
        return result.kind, _checked(result.id), vector

    def _name(self, model: str) -> None:
        """Say once of each other model that its vectors are left out: the log keeps what it once had."""
        if model not in self._named:
            self._named.add(model)
            log.warning(
                "vectors of another model are left out; to have them made again, stop the workers and run: "
                "switchboard state rewind recall memory.embedding-requests.v1",
                found=model,
                expected=self._model,
            )


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
