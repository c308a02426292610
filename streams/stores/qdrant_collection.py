"""A collection on a Qdrant server: made by whoever comes first, and used only if it is what it should be."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import structlog
from qdrant_client import models as q
from qdrant_client.http.exceptions import UnexpectedResponse

from models.errors import ConfigurationError
from models.index import VectorSpace
from streams.config.redaction import without_credentials
from streams.stores import qdrant_payload as stored
from streams.stores.qdrant_connection import ask, connect
from streams.stores.qdrant_kinds import Kind
from streams.stores.qdrant_requests import NOTHING, payload_indexes
from streams.stores.qdrant_version import read_version

T = TypeVar("T")

log = structlog.get_logger("streams.stores.qdrant_collection")


class Collection:
    """One collection, which :meth:`prepare` makes if it is missing.

    Its methods raise as :class:`streams.stores.qdrant_server.QdrantServerIndex` says.
    """

    def __init__(
        self,
        url: str,
        name: str,
        kind: Kind[Any],
        space: VectorSpace,
        *,
        timeout: float,
        api_key: str,
        ca_file: Path | None,
    ) -> None:
        self.name = name
        self.client = connect(url, timeout, api_key, ca_file)
        self._shown = without_credentials(url)
        self._local = not url.startswith(("http://", "https://"))
        self._kind = kind
        self._space = space
        self._timeout = timeout
        self.ranks_words = True
        self._prepared = False
        self._preparing: asyncio.Task[None] | None = None

    @property
    def rebuild(self) -> str:
        """Say what a person does about a collection that cannot be used."""
        return (
            "It is only a view, and the topics fill it again: delete it "
            f"(curl -X DELETE {self._shown.rstrip('/')}/collections/{self.name}) and start the workers."
        )

    async def ask(self, request: Awaitable[T]) -> T:
        """Await a request to the server, for so long at most."""
        return await ask(request, self._shown, self._timeout)

    async def insert(self, payloads: Mapping[str, dict[str, Any]]) -> None:
        """Make the points that are not there yet; the others stay, whoever writes at the same time."""
        points = [q.PointStruct(id=name, vector={}, payload=payload) for name, payload in payloads.items()]
        await self.ask(self.client.upsert(self.name, points, wait=True, update_filter=NOTHING))

    async def close(self) -> None:
        """Close the connections.  May be called twice."""
        if self._preparing is not None:
            self._preparing.cancel()
        await self.client.close()

    async def prepare(self) -> None:
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
        version = await read_version(self.client, self._shown, self._timeout)
        self.ranks_words = version.ranks_words
        if version.reservation:
            log.warning("the Qdrant server has a limit", server=self._shown, limit=version.reservation)

    async def _create_collection(self) -> None:
        if not await self.ask(self.client.collection_exists(self.name)):
            size = q.VectorParams(size=self._space.dimensions, distance=q.Distance.COSINE)
            try:
                await self.ask(self.client.create_collection(self.name, {stored.VECTOR: size}))
            except UnexpectedResponse as error:
                if error.status_code != 409:  # another worker was faster
                    raise
        described = await self.ask(self.client.get_collection(self.name))
        vectors = described.config.params.vectors
        vector = vectors.get(stored.VECTOR) if isinstance(vectors, dict) else None
        where = f"the collection {self.name} at {self._shown}"
        if vector is None or vector.size != self._space.dimensions:
            raise ConfigurationError(
                f"{where} is not for vectors of {self._space.dimensions} dimensions: it belongs to something "
                f"else, or the embedding model was changed. {self.rebuild}"
            )
        await self._check_seal(where, is_empty=not described.points_count)
        present = described.payload_schema
        for field, schema in payload_indexes(self._kind, self._local, self.ranks_words).items():
            if field in present and _lacks_scores(present[field], schema):
                # Made by a server that was older; the new one builds it again from the payloads.
                await self.ask(self.client.delete_payload_index(self.name, field, wait=True))
            elif field in present:
                continue
            await self.ask(self.client.create_payload_index(self.name, field, schema, wait=True))

    async def _check_seal(self, where: str, *, is_empty: bool) -> None:
        """Seal an empty collection, unless another worker is faster; compare the seal that it has then."""
        expected = stored.seal(self._kind.name, self._space)
        if is_empty:
            await self.insert({stored.SEAL_ID: expected})
        records = await self.ask(self.client.retrieve(self.name, [stored.SEAL_ID], with_payload=True))
        stored.check_seal(records[0].payload if records else None, expected, where, self.rebuild)


def _lacks_scores(present: q.PayloadIndexInfo, wanted: q.PayloadSchemaParams) -> bool:
    """Return whether an index of texts has none of what ranks them."""
    is_scored = isinstance(present.params, q.TextIndexParams) and present.params.scoring
    return isinstance(wanted, q.TextIndexParams) and bool(wanted.scoring) and not is_scored
