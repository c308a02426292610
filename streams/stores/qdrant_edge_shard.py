"""Operations of an index on a Qdrant Edge shard: blocking functions, to be called by its one owner.

:mod:`streams.stores.qdrant_edge` owns the shard and decides when they run, and
:mod:`streams.stores.qdrant_edge_opening` opens it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Generic, TypeVar, cast
from uuid import UUID

import msgspec
import numpy as np
import qdrant_edge as edge
from numpy.typing import NDArray

from models.index import Found, Place
from models.index_conditions import AnyOf, NoneOf, Where, Within, must_and_must_not
from streams.stores import qdrant_payload as stored
from streams.stores.kept_items import KeptItems
from streams.stores.qdrant_kinds import Kind

Item = TypeVar("Item", bound=msgspec.Struct)

_NOBODYS = edge.IsEmptyCondition(stored.OWNER_FIELD)

#: So many times the wanted ones, found by vectors of 4 bits a number, are compared again by the exact vectors:
#: of 100 drawn at random, which lie closest together, none was missed.
_NEAREST = edge.SearchParams(quantization=edge.QuantizationSearchParams(rescore=True, oversampling=4.0))
_EXACT = edge.SearchParams(quantization=edge.QuantizationSearchParams(ignore=True))


@dataclass(frozen=True)
class Shard(Generic[Item]):
    """An open shard that holds items of one kind; ``kept`` are those that were read of it.

    ``changed``: the points that were written, for the owner to take after each call.
    """

    engine: edge.EdgeShard
    kind: Kind[Item]
    kept: KeptItems[Item]
    changed: set[str] = field(default_factory=set)

    def upsert(self, items: Sequence[Item]) -> None:
        """Insert what is new and overwrite what is older.  Each item occurs once.

        Reading first is safe because the owner is alone, and cheaper than the engine's conditional update for
        items that are new.  Overwriting a payload, unlike upserting its point, keeps the vector.
        """
        kind = self.kind
        versions = self._versions([kind.id_of(item) for item in items])
        new = [item for item in items if kind.id_of(item) not in versions]
        if new:
            points = [edge.Point(kind.id_of(item), {}, kind.to_payload(item)) for item in new]
            self._update(edge.UpdateOperation.upsert_points(points), points)
        for item in items:
            name, version = kind.id_of(item), kind.version_of(item)
            if versions.get(name, version) < version:
                self._overwrite(name, kind.to_payload(item))

    def store_vectors(self, vectors: Mapping[str, NDArray[np.float32]]) -> None:
        """Give points their vectors; make those that are not there yet, which the engine refuses to update."""
        ids = stored.point_ids(vectors)
        rows = {name: {stored.VECTOR: vectors[name].tolist()} for name in ids}
        known = self._versions(ids)
        new = [edge.Point(name, row, stored.tombstone(0)) for name, row in rows.items() if name not in known]
        if new:
            self._update(edge.UpdateOperation.upsert_points(new), new)
        points = [edge.PointVectors(name, row) for name, row in rows.items() if name in known]
        if points:
            self._update(edge.UpdateOperation.update_vectors(points), points)

    def forget_vectors(self, ids: Sequence[str]) -> bool:
        """Take the vectors of points that are stored; return whether there are any."""
        if known := self.engine.retrieve([*ids], False, False):
            names = [record.id for record in known]
            self._update(edge.UpdateOperation.delete_vectors(names, [stored.VECTOR]), known)
        return bool(known)

    def vectors(self, ids: Sequence[str]) -> dict[str, NDArray[np.float32]]:
        """Return the vectors of those points that have one."""
        records = self.engine.retrieve([*ids], False, True)
        found = {}
        for record in records:
            row = record.vector.get(stored.VECTOR) if isinstance(record.vector, dict) else None
            if row is not None:
                found[str(record.id)] = np.asarray(row, dtype=np.float32)
        return found

    def without_vector(self, ids: Sequence[str]) -> set[str]:
        """Return those of ``ids`` that are stored and have no vector."""
        where = edge.Filter(
            must=[edge.HasIdCondition({*ids})], must_not=[edge.HasVectorCondition(stored.VECTOR), _NOBODYS]
        )
        records, _ = self.engine.scroll(edge.ScrollRequest(limit=len(ids), filter=where, with_payload=False))
        return {str(record.id) for record in records}

    def nearest(self, vector: NDArray[np.float32], where: Where, limit: int) -> list[Found[Item]]:
        """Return the items nearest to ``vector``; the score is the cosine."""
        return self._query(edge.Query.Nearest(vector.tolist(), stored.VECTOR), where, limit)

    def cosines(self, vector: NDArray[np.float32], ids: Sequence[str]) -> dict[str, float]:
        """Return the cosines of those of ``ids`` that have a vector."""
        nearest = edge.Query.Nearest(vector.tolist(), stored.VECTOR)
        among = edge.Filter(must=[edge.HasIdCondition({*ids})])
        request = edge.QueryRequest(
            limit=len(ids), query=nearest, filter=among, with_payload=False, params=_EXACT
        )
        return {str(point.id): point.score for point in self.engine.query(request)}

    def with_words(self, words: str, where: Where, limit: int) -> list[Found[Item]]:
        """Return the items that share words with ``words``; the score is the engine's BM25."""
        return self._query(self._words(words), where, limit)

    def nearest_and_with_words(
        self, words: str, vector: NDArray[np.float32], where: Where, limit: int
    ) -> tuple[list[Item], dict[str, float]]:
        """Return both, each item once, and the cosines of those that have a vector.

        Other threads get their turn between two calls of the engine.
        """
        selected = _filter(where)
        found: dict[int, tuple[UUID, float | None]] = {}
        for query in (edge.Query.Nearest(vector.tolist(), stored.VECTOR), self._words(words)):
            request = edge.QueryRequest(
                limit=limit, query=query, filter=selected, with_payload=False, params=_NEAREST
            )
            by_meaning = isinstance(query, edge.Query)
            for point in self.engine.query(request):
                name = _uuid(point)
                if name.int not in found:
                    found[name.int] = name, point.score if by_meaning else None
        items = self._items(name for name, _ in found.values())
        scores = {self.kind.id_of(item): found[each][1] for each, item in items.items()}
        cosines = {name: score for name, score in scores.items() if score is not None}
        if others := [name for name, score in scores.items() if score is None]:
            cosines |= self.cosines(vector, others)
        return [*items.values()], cosines

    def _words(self, words: str) -> edge.TextQuery:
        return edge.TextQuery(self.kind.text_field, words)

    def _query(self, query: Any, where: Where, limit: int) -> list[Found[Item]]:
        request = edge.QueryRequest(
            limit=limit, query=query, filter=_filter(where), with_payload=False, params=_NEAREST
        )
        scores = {_uuid(point): point.score for point in self.engine.query(request)}
        items = self._items(scores)
        return [Found(items[point.int], score) for point, score in scores.items() if point.int in items]

    def _items(self, points: Iterable[UUID]) -> dict[int, Item]:
        """Return the items of stored points, by the numbers of their ids and in their order."""
        found: dict[int, Item | None] = {}
        missing: list[int | UUID | str] = []
        for point in points:
            found[point.int] = item = self.kept.get(point.int)
            if item is None:
                missing.append(point)
        if missing:
            for record in self.engine.retrieve(missing, True, False):
                number = _uuid(record).int
                found[number] = item = self.kind.from_payload(record.payload)
                self.kept.put(number, item)
        return {number: item for number, item in found.items() if item is not None}

    def get(self, ids: Sequence[str]) -> list[Item]:
        """Return the stored items among ``ids``."""
        payloads = (record.payload for record in self.engine.retrieve([*ids], True, False))
        return [self.kind.from_payload(payload) for payload in payloads if not stored.is_nobodys(payload)]

    def page(self, where: Where, limit: int, start: str | None) -> tuple[list[Item], str | None]:
        """Return items in order of their ids, and where the next page starts."""
        request = edge.ScrollRequest(limit=limit, offset=start, filter=_filter(where), with_payload=False)
        records, following = self.engine.scroll(request)
        items = self._items(map(_uuid, records))
        return [*items.values()], None if following is None else str(following)

    def erase(self, versions: Mapping[str, int]) -> bool:
        """Put tombstones in the place of what is no newer; return whether there is any.

        Overwriting a payload keeps the vector.
        """
        known = self._versions([*versions])
        now = datetime.now(UTC)
        tombstones = {name: stored.tombstone(version, now) for name, version in versions.items()}
        if new := [edge.Point(name, {}, each) for name, each in tombstones.items() if name not in known]:
            self._update(edge.UpdateOperation.upsert_points(new), new)
        older = [name for name, version in known.items() if version <= versions[name]]
        for name in older:
            self._overwrite(name, tombstones[name])
        return bool(older)

    def expire(self, field: str, before: datetime) -> int:
        """Delete some of the points whose ``field`` is earlier; return how many, 0 if there are no more."""
        old = edge.Filter(must=[_condition(Within(field, None, before))])
        records, _ = self.engine.scroll(
            edge.ScrollRequest(limit=stored.WRITE_BATCH, filter=old, with_payload=False)
        )
        if records:
            # First: points that are missing and were not counted out would be taken for lost.
            self._tally(-len(records))
            self.kept.forget(_uuid(record).int for record in records)
            names = [record.id for record in records]
            self._update(edge.UpdateOperation.delete_points(names), records)
        return len(records)

    def count(self, where: Where | None) -> int:
        """Count exactly."""
        condition = edge.Filter(must_not=[_NOBODYS]) if where is None else _filter(where)
        return self.engine.count(edge.CountRequest(exact=True, filter=condition))

    def marks(self, places: Sequence[Place]) -> dict[Place, int]:
        """Return up to which offset each partition was written."""
        ids: list[int | UUID | str] = [*map(stored.mark_id, places)]
        records = self.engine.retrieve(ids, True, False)
        return stored.marks_of({str(record.id): record.payload for record in records}, places)

    def set_mark(self, place: Place, next_offset: int) -> None:
        """Note it behind the writes that it is about, with how many points there are now."""
        mark = edge.Point(stored.mark_id(place), {}, stored.mark(next_offset))
        self._tally(0, mark)

    def _tally(self, change: int, *points: edge.Point) -> None:
        """Note how many points there are, with ``change`` to it, and store ``points``."""
        tally = stored.tally(self.engine.info().points_count + change)
        written = [*points, edge.Point(stored.TALLY_ID, {}, tally)]
        self._update(edge.UpdateOperation.upsert_points(written), written)

    def _versions(self, ids: Sequence[str]) -> dict[str, int]:
        """Return the version of each point that there is."""
        records = self.engine.retrieve([*ids], [stored.VERSION_FIELD], False)
        return {str(record.id): (record.payload or {}).get(stored.VERSION_FIELD, 0) for record in records}

    def _overwrite(self, name: str, payload: dict[str, Any]) -> None:
        self.kept.forget([UUID(name).int])  # first: a write that fails may have been done all the same
        self.changed.add(name)
        self.engine.update(edge.UpdateOperation.overwrite_payload([name], payload))

    def _update(
        self,
        operation: edge.UpdateOperation,
        points: Sequence[edge.Point | edge.PointVectors | edge.Record],
    ) -> None:
        self.changed.update(str(point.id) for point in points)  # first, for the same reason
        self.engine.update(operation)


def _uuid(point: edge.ScoredPoint | edge.Record) -> UUID:
    """Return a point's id, which of ours is a uuid; the engine makes it anew each time that it is asked."""
    return cast(UUID, point.id)


def _filter(where: Where) -> edge.Filter:
    must, must_not = must_and_must_not(where)
    none: list[edge.Filter | edge.FieldCondition] = [
        edge.Filter(must=[*map(_condition, each.conditions)]) if isinstance(each, NoneOf) else _condition(each)
        for each in must_not
    ]
    return edge.Filter(must=[*map(_condition, must)], must_not=[*none])


def _condition(wanted: AnyOf | Within) -> edge.FieldCondition:
    if isinstance(wanted, AnyOf):
        # One value is looked up once; of a list each point's value is looked for in it, which takes a quarter
        # of the time of a search among 50,000.
        one = wanted.values[0] if len(wanted.values) == 1 else None
        match = edge.MatchAny([*wanted.values]) if one is None else edge.MatchValue(one)
        return edge.FieldCondition(wanted.field, match=match)
    start, end = wanted.start, wanted.end
    since, until = (each.isoformat() if isinstance(each, datetime) else None for each in (start, end))
    if since is not None or until is not None:
        return edge.FieldCondition(wanted.field, range=edge.RangeDateTime(gte=since, lt=until))
    low, high = (None if isinstance(each, datetime) else each for each in (start, end))
    return edge.FieldCondition(wanted.field, range=edge.RangeFloat(gte=low, lt=high))
