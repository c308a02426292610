"""What the fact index asks of a Qdrant Edge shard: blocking functions, to be called by its one owner.

:mod:`streams.adapters.qdrant_edge` owns the shard and decides when they run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from uuid import UUID

import numpy as np
import qdrant_edge as edge
from numpy.typing import NDArray

from models.errors import ConfigurationError
from models.facts import Fact
from models.ports import FactFilter, FoundFact
from streams.adapters import qdrant_payload as stored

REBUILD = (
    "Move the folder away to start with an empty index; it is only a view, and memory.facts.v1 read from "
    "its beginning fills it again."
)


_NOBODYS = edge.IsEmptyCondition(stored.TENANT_FIELD)


def open_shard(folder: Path, dimensions: int) -> edge.EdgeShard:
    """Open or create the shard, replay its log, and make whichever payload indexes are missing.

    Raises :class:`ConfigurationError` when its files cannot be read or are for other dimensions.
    """
    vector = edge.EdgeVectorParams(size=dimensions, distance=edge.Distance.Cosine)
    config = edge.EdgeConfig(vectors={stored.VECTOR: vector})
    try:
        shard = edge.EdgeShard.load(str(folder), config)
        present = shard.info().payload_schema
        for field, schema in _payload_indexes().items():
            if field not in present:
                shard.update(edge.UpdateOperation.create_field_index(field, schema))
        shard.flush()
    except BaseException as error:
        # The engine's errors are plain exceptions and, when it panics on a broken file, no Exception at all.
        if isinstance(error, KeyboardInterrupt | SystemExit):
            raise
        if "incompatible with existing segments" in str(error):
            raise ConfigurationError(
                f"the index in {folder} is not for vectors of {dimensions} dimensions: the embedding model "
                f"was changed. {REBUILD}"
            ) from error
        raise ConfigurationError(f"cannot open the index in {folder}: {error}. {REBUILD}") from error
    return shard


def upsert(shard: edge.EdgeShard, facts: Sequence[Fact]) -> None:
    """Insert what is new and overwrite what is older.  Each fact occurs once.

    Reading first is safe because the owner is alone, and cheaper than the engine's conditional update for
    facts that are new.  Overwriting a payload, unlike upserting its point, keeps the vector.
    """
    records = shard.retrieve([fact.fact_id for fact in facts], [stored.VERSION_FIELD], False)
    versions = {str(record.id): (record.payload or {}).get(stored.VERSION_FIELD, 0) for record in records}
    new = [
        edge.Point(fact.fact_id, {}, stored.to_payload(fact)) for fact in facts if fact.fact_id not in versions
    ]
    if new:
        shard.update(edge.UpdateOperation.upsert_points(new))
    for fact in facts:
        if versions.get(fact.fact_id, fact.version) < fact.version:
            payload = stored.to_payload(fact)
            shard.update(edge.UpdateOperation.overwrite_payload([fact.fact_id], payload))


def store_vectors(shard: edge.EdgeShard, vectors: Mapping[str, NDArray[np.float32]]) -> None:
    """Give points their vectors, and make those that are not there yet: the engine refuses to update them."""
    ids: list[str | int | UUID] = [*stored.point_ids(vectors)]
    rows = {name: {stored.VECTOR: vectors[name].tolist()} for name in map(str, ids)}
    known = {str(record.id) for record in shard.retrieve(ids, False, False)}
    if new := [
        edge.Point(wanted_id, row, stored.gravestone(0))
        for wanted_id, row in rows.items()
        if wanted_id not in known
    ]:
        shard.update(edge.UpdateOperation.upsert_points(new))
    points = [edge.PointVectors(wanted_id, row) for wanted_id, row in rows.items() if wanted_id in known]
    if points:
        shard.update(edge.UpdateOperation.update_vectors(points))


def forget_vectors(shard: edge.EdgeShard, ids: Sequence[str]) -> None:
    """Take the vectors of points that are stored."""
    if known := [record.id for record in shard.retrieve([*ids], False, False)]:
        shard.update(edge.UpdateOperation.delete_vectors(known, [stored.VECTOR]))


def without_vector(shard: edge.EdgeShard, ids: Sequence[str]) -> set[str]:
    """Return those of ``ids`` that are stored and have no vector."""
    where = edge.Filter(
        must=[edge.HasIdCondition({*ids})], must_not=[edge.HasVectorCondition(stored.VECTOR), _NOBODYS]
    )
    records, _ = shard.scroll(edge.ScrollRequest(limit=len(ids), filter=where, with_payload=False))
    return {str(record.id) for record in records}


def nearest(
    shard: edge.EdgeShard, vector: NDArray[np.float32], where: FactFilter, limit: int
) -> list[FoundFact]:
    """Return the facts nearest to ``vector``; the score is the cosine."""
    query = edge.Query.Nearest(vector.tolist(), stored.VECTOR)
    request = edge.QueryRequest(limit=limit, query=query, filter=_filter(where), with_payload=True)
    return [
        FoundFact(fact=stored.from_payload(point.payload), score=point.score) for point in shard.query(request)
    ]


def with_words(shard: edge.EdgeShard, words: str, where: FactFilter, limit: int) -> list[FoundFact]:
    """Return the facts that share words with ``words``, ranked by the engine's BM25."""
    query = edge.TextQuery(stored.TEXT_FIELD, words)
    request = edge.QueryRequest(limit=limit, query=query, filter=_filter(where), with_payload=True)
    return [
        FoundFact(fact=stored.from_payload(point.payload), score=stored.text_score(point.score))
        for point in shard.query(request)
    ]


def get(shard: edge.EdgeShard, ids: Sequence[str]) -> list[Fact]:
    """Return the stored facts among ``ids``."""
    payloads = (record.payload for record in shard.retrieve([*ids], True, False))
    return [stored.from_payload(payload) for payload in payloads if not stored.is_nobodys(payload)]


def page(
    shard: edge.EdgeShard, where: FactFilter, limit: int, start: str | None
) -> tuple[list[Fact], str | None]:
    """Return facts in order of their ids, and where the next page starts."""
    request = edge.ScrollRequest(limit=limit, offset=start, filter=_filter(where), with_payload=True)
    records, following = shard.scroll(request)
    facts = [stored.from_payload(record.payload) for record in records]
    return facts, None if following is None else str(following)


def erase(shard: edge.EdgeShard, versions: Mapping[str, int]) -> None:
    """Put gravestones in the place of what is no newer.  Overwriting a payload keeps the vector."""
    records = shard.retrieve([*versions], [stored.VERSION_FIELD], False)
    known = {str(record.id): (record.payload or {}).get(stored.VERSION_FIELD, 0) for record in records}
    graves = {fact_id: stored.gravestone(version) for fact_id, version in versions.items()}
    if new := [edge.Point(fact_id, {}, grave) for fact_id, grave in graves.items() if fact_id not in known]:
        shard.update(edge.UpdateOperation.upsert_points(new))
    for fact_id, version in known.items():
        if version <= versions[fact_id]:
            shard.update(edge.UpdateOperation.overwrite_payload([fact_id], graves[fact_id]))


def count(shard: edge.EdgeShard, where: FactFilter | None) -> int:
    """Count exactly."""
    condition = edge.Filter(must_not=[_NOBODYS]) if where is None else _filter(where)
    return shard.count(edge.CountRequest(exact=True, filter=condition))


def _filter(where: FactFilter) -> edge.Filter:
    conditions: list[edge.ConditionType] = [
        edge.FieldCondition(field, match=edge.MatchAny([*values]))
        for field, values in stored.wanted_keywords(where)
    ]
    if where.minimum_confidence > 0.0:
        at_least = edge.RangeFloat(gte=where.minimum_confidence)
        conditions.append(edge.FieldCondition(stored.CONFIDENCE_FIELD, range=at_least))
    return edge.Filter(must=conditions)


def _payload_indexes() -> dict[str, edge.PayloadSchemaParams]:
    text = edge.TextIndexParams(
        tokenizer=edge.TokenizerType.Multilingual,
        lowercase=True,
        ascii_folding=True,
        stopwords=edge.Language.English,
        stemmer=edge.SnowballParams(edge.SnowballLanguage.English),
        scoring=True,
    )
    indexes: dict[str, edge.PayloadSchemaParams] = {
        stored.TENANT_FIELD: edge.KeywordIndexParams(is_tenant=True),
        stored.CONFIDENCE_FIELD: edge.FloatIndexParams(),
        stored.VERSION_FIELD: edge.IntegerIndexParams(),
        stored.TEXT_FIELD: text,
    }
    return indexes | {field: edge.KeywordIndexParams() for field in stored.KEYWORD_FIELDS}
