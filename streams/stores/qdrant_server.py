"""An index on a Qdrant server, shared by any number of processes."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Generic, TypeVar
from uuid import UUID

import msgspec
import numpy as np
from numpy.typing import NDArray
from qdrant_client import models as q

from models.index import Found, Place, Vectors, VectorSpace
from models.index_conditions import Where, Within
from streams.stores import qdrant_payload as stored
from streams.stores.qdrant_collection import Collection
from streams.stores.qdrant_kinds import Kind
from streams.stores.qdrant_requests import NOBODYS, condition_of, filter_of, replace_if
from streams.stores.qdrant_words import best_by_words

Item = TypeVar("Item", bound=msgspec.Struct)
Filter = TypeVar("Filter", bound=Where)


class QdrantServerIndex(Generic[Item, Filter]):
    """Implements :class:`models.index.SearchIndex` on one collection, which the first call makes if missing.

    ``url`` is that of the server, or ``:memory:``, or a folder: the last two are the local mode of
    ``qdrant-client``, which is for tests and small experiments.  ``timeout`` (seconds) bounds a request.
    ``ca_file``: who signs the server's certificate, if it is nobody whom the system trusts.

    Every method raises :class:`DependencyUnavailable` while the server is down, slow, throttling or fails, and
    :class:`ConfigurationError` when it is too old, refuses access, or its collection is of another kind, format
    or model.
    """

    def __init__(
        self,
        url: str,
        collection: str,
        kind: Kind[Item],
        space: VectorSpace,
        *,
        timeout: float = 10.0,
        api_key: str = "",
        ca_file: Path | None = None,
    ) -> None:
        self._collection = Collection(
            url, collection, kind, space, timeout=timeout, api_key=api_key, ca_file=ca_file
        )
        self._name = collection
        self._client = self._collection.client
        self._ask = self._collection.ask
        self._kind = kind
        self.space = space

    @property
    def is_degraded(self) -> bool:
        """See the port: true once a server without a text query has answered."""
        return not self._collection.ranks_words

    async def upsert(self, items: Sequence[Item]) -> None:
        """See the port.  Raises :class:`models.errors.InvalidRecord` for an id that is no uuid."""
        await self._collection.prepare()
        latest = self._kind.newest(items)
        for part in stored.batches(len(latest)):
            await self._upsert(latest[part])

    async def _upsert(self, items: list[Item]) -> None:
        """Insert what is new; then replace what is older, under a condition that the server checks.

        After the first step every point exists, and other writers only ever raise its version.  So whoever
        writes at the same time, the highest version stays.  Overwriting a payload, unlike upserting its
        point, keeps the vector.
        """
        kind = self._kind
        await self._collection.insert({kind.id_of(item): kind.to_payload(item) for item in items})
        ids = [kind.id_of(item) for item in items]
        records = await self._ask(self._client.retrieve(self._name, ids, with_payload=[stored.VERSION_FIELD]))
        versions = {str(record.id): (record.payload or {}).get(stored.VERSION_FIELD, 0) for record in records}
        replacements = [
            replace_if(q.Range(lt=kind.version_of(item)), kind.id_of(item), kind.to_payload(item))
            for item in items
            if versions.get(kind.id_of(item), 0) < kind.version_of(item)
        ]
        if replacements:
            await self._ask(self._client.batch_update_points(self._name, replacements, wait=True))

    async def without_vector(self, ids: Sequence[str]) -> set[str]:
        """See the port."""
        asked = stored.point_ids(ids)
        if not asked:
            return set()
        await self._collection.prepare()
        where = q.Filter(
            must=[q.HasIdCondition(has_id=[*asked])],
            must_not=[q.HasVectorCondition(has_vector=stored.VECTOR), NOBODYS],
        )
        records, _ = await self._ask(
            self._client.scroll(self._name, where, limit=len(asked), with_payload=False)
        )
        return {str(record.id) for record in records}

    async def store_vectors(self, ids: Sequence[str], vectors: Vectors, model: str) -> None:
        """See the port."""
        self._require_space_of(vectors.shape[1], model)
        await self._collection.prepare()
        for part in stored.batches(len(ids)):
            rows = dict(zip(ids[part], vectors[part], strict=True))
            points = [
                q.PointVectors(id=name, vector={stored.VECTOR: rows[name].tolist()})
                for name in stored.point_ids(rows)
            ]
            if points:
                # The server refuses an update that names a point it does not have; none is ever deleted.
                await self._collection.insert({str(point.id): stored.tombstone(0) for point in points})
                await self._ask(self._client.update_vectors(self._name, points, wait=True))

    async def forget_vectors(self, ids: Sequence[str]) -> None:
        """See the port."""
        if known := stored.point_ids(ids):
            await self._collection.prepare()
            named = q.Filter(must=[q.HasIdCondition(has_id=[*known])])
            await self._ask(self._client.delete_vectors(self._name, [stored.VECTOR], named, wait=True))

    async def vectors(self, ids: Sequence[str]) -> dict[str, NDArray[np.float32]]:
        """See the port."""
        asked = stored.point_ids(ids)
        if not asked:
            return {}
        await self._collection.prepare()
        records = await self._ask(
            self._client.retrieve(self._name, asked, with_payload=False, with_vectors=[stored.VECTOR])
        )
        found = {}
        for record in records:
            row = record.vector.get(stored.VECTOR) if isinstance(record.vector, dict) else None
            if row is not None:
                found[str(record.id)] = np.asarray(row, dtype=np.float32)
        return found

    async def search_vector(self, vector: NDArray[np.float32], where: Filter, limit: int) -> list[Found[Item]]:
        """See the port.  Raises :class:`ConfigurationError` for a vector of other dimensions."""
        self._require_space_of(len(vector))
        return await self._query(vector.tolist(), stored.VECTOR, where, limit)

    async def cosines(self, vector: NDArray[np.float32], ids: Sequence[str]) -> dict[str, float]:
        """See the port."""
        self._require_space_of(len(vector))
        asked = stored.point_ids(ids)
        if not asked:
            return {}
        await self._collection.prepare()
        among = q.Filter(must=[q.HasIdCondition(has_id=[*asked])])
        found = await self._ask(
            self._client.query_points(
                self._name,
                query=vector.tolist(),
                using=stored.VECTOR,
                query_filter=among,
                limit=len(asked),
                with_payload=False,
            )
        )
        return {str(point.id): point.score for point in found.points}

    async def search_text(self, query: str, where: Filter, limit: int) -> list[Found[Item]]:
        """See the port.  Words count in their English base form; English stop words do not count."""
        await self._collection.prepare()
        if self._collection.ranks_words:
            return await self._query(q.TextQuery(text=query), self._kind.text_field, where, limit)
        scores = await best_by_words(self._collection, self._kind.text_field, query, filter_of(where), limit)
        items = {self._kind.id_of(item): item for item in await self.get([*scores])}
        return [Found(items[name], score) for name, score in scores.items() if name in items]

    async def search(
        self, query: str, vector: NDArray[np.float32], where: Filter, limit: int
    ) -> tuple[list[Item], dict[str, float]]:
        """See the port."""
        by_meaning, by_words = await asyncio.gather(
            self.search_vector(vector, where, limit), self.search_text(query, where, limit)
        )
        items = {self._kind.id_of(each.item): each.item for each in (*by_meaning, *by_words)}
        cosines = {self._kind.id_of(each.item): each.score for each in by_meaning}
        others = [name for name in items if name not in cosines]
        return [*items.values()], cosines | await self.cosines(vector, others) if others else cosines

    async def get(self, ids: Sequence[str]) -> list[Item]:
        """See the port."""
        asked = stored.point_ids(ids)
        if not asked:
            return []
        await self._collection.prepare()
        records = await self._ask(self._client.retrieve(self._name, asked, with_payload=True))
        payloads = (record.payload for record in records)
        return [self._kind.from_payload(payload) for payload in payloads if not stored.is_nobodys(payload)]

    async def page(self, where: Filter, limit: int, start: str | None = None) -> tuple[list[Item], str | None]:
        """See the port."""
        await self._collection.prepare()
        records, following = await self._ask(
            self._client.scroll(self._name, filter_of(where), limit=limit, offset=start)
        )
        items = [self._kind.from_payload(record.payload) for record in records]
        return items, None if following is None else str(following)

    async def erase(self, versions: Mapping[str, int]) -> None:
        """See the port.  Whoever writes at the same time, the highest version stays: see :meth:`_upsert`."""
        ids = stored.point_ids(versions)
        if not ids:
            return
        await self._collection.prepare()
        for part in stored.batches(len(ids)):
            tombstones = {name: stored.tombstone(versions[name], datetime.now(UTC)) for name in ids[part]}
            await self._collection.insert(tombstones)
            operations = [
                replace_if(q.Range(lte=versions[name]), name, each) for name, each in tombstones.items()
            ]
            await self._ask(self._client.batch_update_points(self._name, operations, wait=True))

    async def expire(self, field: str, before: datetime) -> int:
        """See the port."""
        await self._collection.prepare()
        old = q.Filter(must=[condition_of(Within(field, None, before))])
        counted = await self._ask(self._client.count(self._name, old, exact=True))
        if counted.count:
            await self._ask(self._client.delete(self._name, q.FilterSelector(filter=old), wait=True))
        return counted.count

    async def count(self, where: Filter | None = None) -> int:
        """See the port."""
        await self._collection.prepare()
        condition = q.Filter(must_not=[NOBODYS]) if where is None else filter_of(where)
        counted = await self._ask(self._client.count(self._name, condition, exact=True))
        return counted.count

    async def marks(self, places: Sequence[Place]) -> dict[Place, int]:
        """See the port."""
        await self._collection.prepare()
        ids: list[int | str | UUID] = [*map(stored.mark_id, places)]
        records = await self._ask(self._client.retrieve(self._name, ids, with_payload=True))
        return stored.marks_of({str(record.id): record.payload for record in records}, places)

    async def set_mark(self, place: Place, next_offset: int) -> None:
        """See the port.  One worker at a time has a partition; a late write of the one before is read again."""
        await self._collection.prepare()
        point = q.PointStruct(id=stored.mark_id(place), vector={}, payload=stored.mark(next_offset))
        await self._ask(self._client.upsert(self._name, [point], wait=True))

    async def close(self) -> None:
        """Close the connections.  May be called twice."""
        await self._collection.close()

    async def _query(self, query: Any, using: str, where: Filter, limit: int) -> list[Found[Item]]:
        await self._collection.prepare()
        found = await self._ask(
            self._client.query_points(
                self._name, query=query, using=using, query_filter=filter_of(where), limit=limit
            )
        )
        return [Found(self._kind.from_payload(point.payload), point.score) for point in found.points]

    def _require_space_of(self, dimensions: int, model: str | None = None) -> None:
        stored.check_space(self.space, dimensions, model, self._collection.rebuild)
