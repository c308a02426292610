"""The fact index on a Qdrant server, shared by any number of processes."""

from __future__ import annotations

import asyncio
import math
import ssl
from collections.abc import Awaitable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from qdrant_client import AsyncQdrantClient
from qdrant_client import models as q
from qdrant_client.common.client_exceptions import ResourceExhaustedResponse
from qdrant_client.http.exceptions import ResponseHandlingException, UnexpectedResponse

from models.errors import ConfigurationError, DependencyUnavailable, Unanswered
from models.facts import Fact
from models.ports import FactFilter, FoundFact, Vectors
from streams.adapters import qdrant_payload as stored
from streams.redaction import without_credentials

T = TypeVar("T")

#: The first release that ranks a text field by BM25.  (Older ones also ignore ``update_mode`` in silence,
#: and would let an old version replace a new one.)
MINIMUM_VERSION = (1, 20)


_NOBODYS = q.IsEmptyCondition(is_empty=q.PayloadField(key=stored.TENANT_FIELD))


class QdrantServerIndex:
    """Implements :class:`models.ports.FactIndex` on one collection, which the first call makes if missing.

    ``url`` is that of the server, or ``:memory:``, or a folder: the last two are the local mode of
    ``qdrant-client``, which is for tests and small experiments.  ``timeout`` (seconds) bounds a request.
    ``ca_file``: who signs the server's certificate, if it is nobody whom the system trusts.

    Every method raises :class:`DependencyUnavailable` while the server is down, slow, throttling or fails,
    and :class:`ConfigurationError` when it is too old, refuses access, or its collection has vectors of
    other dimensions.
    """

    def __init__(
        self,
        url: str,
        collection: str,
        *,
        dimensions: int,
        timeout: float = 10.0,
        api_key: str = "",
        ca_file: Path | None = None,
    ) -> None:
        self._url = url
        self._shown = without_credentials(url)
        self._collection = collection
        self._dimensions = dimensions
        self._timeout = timeout
        self._local = not url.startswith(("http://", "https://"))
        self._client = _client(url, timeout, api_key, ca_file)
        self._prepared = False
        self._preparing: asyncio.Task[None] | None = None

    async def upsert_facts(self, facts: Sequence[Fact]) -> None:
        """See the port.  Raises :class:`models.errors.InvalidRecord` for a ``fact_id`` that is no uuid."""
        await self._prepare()
        latest = stored.newest(facts)
        for part in stored.batches(len(latest)):
            await self._upsert(latest[part])

    async def _upsert(self, facts: list[Fact]) -> None:
        """Insert what is new; then replace what is older, under a condition that the server checks.

        After the first step every point exists, and other writers only ever raise its version.  So whoever
        writes at the same time, the highest version stays.  Overwriting a payload, unlike upserting its
        point, keeps the vector.
        """
        await self._insert({fact.fact_id: stored.to_payload(fact) for fact in facts})
        ids = [fact.fact_id for fact in facts]
        records = await self._ask(
            self._client.retrieve(self._collection, ids, with_payload=[stored.VERSION_FIELD])
        )
        versions = {str(record.id): (record.payload or {}).get(stored.VERSION_FIELD, 0) for record in records}
        replacements = [
            _replace_if(q.Range(lt=fact.version), fact.fact_id, stored.to_payload(fact))
            for fact in facts
            if versions.get(fact.fact_id, 0) < fact.version
        ]
        if replacements:
            await self._ask(self._client.batch_update_points(self._collection, replacements, wait=True))

    async def without_vector(self, fact_ids: Sequence[str]) -> set[str]:
        """See the port."""
        ids = stored.point_ids(fact_ids)
        if not ids:
            return set()
        await self._prepare()
        where = q.Filter(
            must=[q.HasIdCondition(has_id=[*ids])],
            must_not=[q.HasVectorCondition(has_vector=stored.VECTOR), _NOBODYS],
        )
        records, _ = await self._ask(
            self._client.scroll(self._collection, where, limit=len(ids), with_payload=False)
        )
        return {str(record.id) for record in records}

    async def store_vectors(self, fact_ids: Sequence[str], vectors: Vectors) -> None:
        """See the port.  Raises :class:`ConfigurationError` for vectors of other dimensions."""
        await self._prepare()
        for part in stored.batches(len(fact_ids)):
            rows = dict(zip(fact_ids[part], vectors[part], strict=True))
            points = [
                q.PointVectors(id=wanted_id, vector={stored.VECTOR: self._checked(rows[wanted_id])})
                for wanted_id in stored.point_ids(rows)
            ]
            if points:
                # The server refuses an update that names a point it does not have, and points are never
                # deleted.
                await self._insert({str(point.id): stored.gravestone(0) for point in points})
                await self._ask(self._client.update_vectors(self._collection, points, wait=True))

    async def forget_vectors(self, fact_ids: Sequence[str]) -> None:
        """See the port."""
        if ids := stored.point_ids(fact_ids):
            await self._prepare()
            named = q.Filter(must=[q.HasIdCondition(has_id=[*ids])])
            await self._ask(self._client.delete_vectors(self._collection, [stored.VECTOR], named, wait=True))

    async def _insert(self, payloads: Mapping[str, dict[str, Any]]) -> None:
        """Make the points that are not there yet; the others stay, whoever writes at the same time."""
        points = [q.PointStruct(id=name, vector={}, payload=payload) for name, payload in payloads.items()]
        await self._ask(
            self._client.upsert(self._collection, points, wait=True, update_mode=q.UpdateMode.INSERT_ONLY)
        )

    async def search_vector(
        self, vector: NDArray[np.float32], where: FactFilter, limit: int
    ) -> list[FoundFact]:
        """See the port.  Raises :class:`ConfigurationError` for a vector of other dimensions."""
        points = await self._query(self._checked(vector), stored.VECTOR, where, limit)
        return [FoundFact(fact=stored.from_payload(point.payload), score=point.score) for point in points]

    async def search_text(self, query: str, where: FactFilter, limit: int) -> list[FoundFact]:
        """See the port.  Words count in their English base form; English stop words do not count."""
        points = await self._query(q.TextQuery(text=query), stored.TEXT_FIELD, where, limit)
        return [
            FoundFact(fact=stored.from_payload(point.payload), score=stored.text_score(point.score))
            for point in points
        ]

    async def get(self, fact_ids: Sequence[str]) -> list[Fact]:
        """See the port."""
        ids = stored.point_ids(fact_ids)
        if not ids:
            return []
        await self._prepare()
        records = await self._ask(self._client.retrieve(self._collection, ids, with_payload=True))
        payloads = (record.payload for record in records)
        return [stored.from_payload(payload) for payload in payloads if not stored.is_nobodys(payload)]

    async def list_facts(
        self, where: FactFilter, limit: int, start: str | None = None
    ) -> tuple[list[Fact], str | None]:
        """See the port."""
        await self._prepare()
        records, following = await self._ask(
            self._client.scroll(self._collection, _filter(where), limit=limit, offset=start)
        )
        facts = [stored.from_payload(record.payload) for record in records]
        return facts, None if following is None else str(following)

    async def erase(self, versions: Mapping[str, int]) -> None:
        """See the port.  Whoever writes at the same time, the highest version stays: see :meth:`_upsert`."""
        ids = stored.point_ids(versions)
        if not ids:
            return
        await self._prepare()
        for part in stored.batches(len(ids)):
            known = {fact_id: versions[fact_id] for fact_id in ids[part]}
            await self._insert({fact_id: stored.gravestone(version) for fact_id, version in known.items()})
            operations = [_replace_if(q.Range(lte=v), name, stored.gravestone(v)) for name, v in known.items()]
            await self._ask(self._client.batch_update_points(self._collection, operations, wait=True))

    async def count(self, where: FactFilter | None = None) -> int:
        """See the port."""
        await self._prepare()
        condition = q.Filter(must_not=[_NOBODYS]) if where is None else _filter(where)
        counted = await self._ask(self._client.count(self._collection, condition, exact=True))
        return counted.count

    async def close(self) -> None:
        """Close the connections.  May be called twice."""
        if self._preparing is not None:
            self._preparing.cancel()
        await self._client.close()

    async def _query(self, query: Any, using: str, where: FactFilter, limit: int) -> list[q.ScoredPoint]:
        await self._prepare()
        found = await self._ask(
            self._client.query_points(
                self._collection, query=query, using=using, query_filter=_filter(where), limit=limit
            )
        )
        return found.points

    def _checked(self, vector: NDArray[np.float32]) -> list[float]:
        if len(vector) != self._dimensions:
            raise ConfigurationError(
                f"vectors of {len(vector)} dimensions do not fit an index of {self._dimensions}: "
                "the embedding model was changed"
            )
        numbers: list[float] = vector.tolist()
        return numbers

    async def _prepare(self) -> None:
        """Check the server and make what is missing, once.

        Who comes while another is at it shares its outcome: behind a server that does not answer nobody queues.
        """
        if self._prepared:
            return
        if self._preparing is None or self._preparing.done():
            self._preparing = asyncio.create_task(self._make_ready())
            # Seen by all who wait for it; if they have gone, by the next one.
            self._preparing.add_done_callback(lambda task: task.cancelled() or task.exception())
        await asyncio.shield(self._preparing)

    async def _make_ready(self) -> None:
        await self._check_version()
        await self._create_collection()
        self._prepared = True

    async def _check_version(self) -> None:
        version = (await self._ask(self._client.info())).version
        major, minor = version.split(".")[:2]
        if (int(major), int(minor)) < MINIMUM_VERSION:
            wanted = ".".join(map(str, MINIMUM_VERSION))
            raise ConfigurationError(
                f"the Qdrant server at {self._shown} is version {version}; {wanted} or newer is needed "
                "(set SWITCHBOARD_QDRANT_URL to one, or leave it empty for the embedded engine)"
            )

    async def _create_collection(self) -> None:
        if not await self._ask(self._client.collection_exists(self._collection)):
            size = q.VectorParams(size=self._dimensions, distance=q.Distance.COSINE)
            try:
                await self._ask(self._client.create_collection(self._collection, {stored.VECTOR: size}))
            except UnexpectedResponse as error:
                if error.status_code != 409:  # another worker was faster
                    raise
        described = await self._ask(self._client.get_collection(self._collection))
        vectors = described.config.params.vectors
        vector = vectors.get(stored.VECTOR) if isinstance(vectors, dict) else None
        if vector is None or vector.size != self._dimensions:
            raise ConfigurationError(
                f"the collection {self._collection} at {self._shown} is not for vectors of {self._dimensions} "
                "dimensions: it belongs to something else, or the embedding model was changed. Delete it; "
                "it is only a view, and memory.facts.v1 read from its beginning fills it again."
            )
        for field, schema in _payload_indexes(self._local).items():
            if field not in described.payload_schema:
                await self._ask(self._client.create_payload_index(self._collection, field, schema, wait=True))

    async def _ask(self, request: Awaitable[T]) -> T:
        """Await one request and give the client's errors their names.

        What is left, such as 400 and 409, is a mistake of ours, or for the caller to judge.
        """
        try:
            return await asyncio.wait_for(request, self._timeout)
        except TimeoutError as error:
            raise Unanswered("qdrant", f"{self._shown}: no answer within {self._timeout:g} s") from error
        except (ResponseHandlingException, ResourceExhaustedResponse) as error:
            reason = str(error) or type(error).__name__
            if "CERTIFICATE_VERIFY_FAILED" in reason:
                raise ConfigurationError(
                    f"the certificate of the Qdrant server at {self._shown} is not trusted ({reason}): set "
                    "SWITCHBOARD_QDRANT_SSL_CA_FILE to who signed it"
                ) from error
            raise DependencyUnavailable("qdrant", f"{self._shown}: {reason}") from error
        except UnexpectedResponse as error:
            status = error.status_code or 0
            if status in (401, 403):
                raise ConfigurationError(
                    f"the Qdrant server at {self._shown} refuses access (SWITCHBOARD_QDRANT_API_KEY): {error}"
                ) from error
            if status in (404, 408, 429) or status >= 500:
                raise DependencyUnavailable("qdrant", f"{self._shown}: {error}") from error
            raise


def _client(url: str, timeout: float, api_key: str, ca_file: Path | None) -> AsyncQdrantClient:
    if url == ":memory:":
        return AsyncQdrantClient(location=url)
    if not url.startswith(("http://", "https://")):
        return AsyncQdrantClient(path=url)
    # The client's own check of the server's version blocks the event loop; _check_version asks instead.
    return AsyncQdrantClient(
        url=url,
        timeout=math.ceil(timeout),
        check_compatibility=False,
        api_key=api_key or None,
        verify=_trusted(ca_file),
    )


def _trusted(ca_file: Path | None) -> ssl.SSLContext:
    try:
        return ssl.create_default_context(cafile=ca_file)
    except OSError as error:
        reason = getattr(error, "reason", None) or error.strerror
        raise ConfigurationError(
            f"SWITCHBOARD_QDRANT_SSL_CA_FILE={ca_file} cannot be used ({reason}): give certificates in PEM"
        ) from error


def _replace_if(versions: q.Range, fact_id: str, payload: dict[str, Any]) -> q.OverwritePayloadOperation:
    """Replace a payload whose version is in a range; its vector is kept."""
    condition = q.FieldCondition(key=stored.VERSION_FIELD, range=versions)
    where = q.Filter(must=[q.HasIdCondition(has_id=[fact_id]), condition])
    return q.OverwritePayloadOperation(overwrite_payload=q.SetPayload(payload=payload, filter=where))


def _filter(where: FactFilter) -> q.Filter:
    conditions: list[q.Condition] = [
        q.FieldCondition(key=field, match=q.MatchAny(any=[*values]))
        for field, values in stored.wanted_keywords(where)
    ]
    if where.minimum_confidence > 0.0:
        at_least = q.Range(gte=where.minimum_confidence)
        conditions.append(q.FieldCondition(key=stored.CONFIDENCE_FIELD, range=at_least))
    return q.Filter(must=conditions)


def _payload_indexes(local: bool) -> dict[str, q.PayloadSchemaParams]:
    if local:
        # Local mode has no indexes, and ranks text by plain words only: no stems, no stop words.
        return {stored.TEXT_FIELD: q.TextIndexParams(type=q.TextIndexType.TEXT, scoring=True)}
    text = q.TextIndexParams(
        type=q.TextIndexType.TEXT,
        tokenizer=q.TokenizerType.MULTILINGUAL,
        lowercase=True,
        ascii_folding=True,
        stopwords=q.Language.ENGLISH,
        stemmer=q.SnowballParams(type=q.Snowball.SNOWBALL, language=q.SnowballLanguage.ENGLISH),
        scoring=True,
    )
    keyword = q.KeywordIndexParams(type=q.KeywordIndexType.KEYWORD)
    indexes: dict[str, q.PayloadSchemaParams] = {
        stored.TENANT_FIELD: q.KeywordIndexParams(type=q.KeywordIndexType.KEYWORD, is_tenant=True),
        stored.CONFIDENCE_FIELD: q.FloatIndexParams(type=q.FloatIndexType.FLOAT),
        stored.VERSION_FIELD: q.IntegerIndexParams(type=q.IntegerIndexType.INTEGER),
        stored.TEXT_FIELD: text,
    }
    return indexes | dict.fromkeys(stored.KEYWORD_FIELDS, keyword)
