"""A server that speaks Qdrant's REST protocol, as its versions from 1.15 on do, over the client's local mode.

For the machines on which no Qdrant server runs; the contract's tests also run against whatever
``SWITCHBOARD_TEST_QDRANT_URL`` names.  Older versions know less, and ignore or refuse it as the real ones do:
``update_filter`` came with 1.16, ``update_mode`` with 1.17, the text query with 1.20.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import uvicorn
from pydantic import BaseModel, TypeAdapter
from qdrant_client import AsyncQdrantClient
from qdrant_client import models as q
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

_SELECTOR: TypeAdapter[Any] = TypeAdapter(q.PointsSelector)

#: Local mode ranks plain words only: no stems, no stop words.
_PLAIN = q.TextIndexParams(type=q.TextIndexType.TEXT, scoring=True)


class QdrantStandIn:
    """The handlers of one server.  ``version`` may be raised while it runs: an upgrade."""

    def __init__(self, version: tuple[int, int]) -> None:
        self.version = version
        #: What it says of itself, if not its version: any answer of any server.
        self.says: Response | None = None
        self.text_queries = 0
        self._engine = AsyncQdrantClient(":memory:")
        self._indexes: dict[str, dict[str, Any]] = {}

    def app(self) -> Starlette:
        one, points = "/collections/{name}", "/collections/{name}/points"
        routes = [
            Route("/", self.root),
            Route(f"{one}/exists", self.exists),
            Route(one, self.create, methods=["PUT"]),
            Route(one, self.describe),
            Route(one, self.drop, methods=["DELETE"]),
            Route(f"{one}/index", self.index, methods=["PUT"]),
            Route(f"{one}/index/{{field}}", self.drop_index, methods=["DELETE"]),
            Route(points, self.upsert, methods=["PUT"]),
            Route(points, self.retrieve, methods=["POST"]),
            Route(f"{points}/batch", self.batch, methods=["POST"]),
            Route(f"{points}/vectors", self.vectors, methods=["PUT"]),
            Route(f"{points}/vectors/delete", self.delete_vectors, methods=["POST"]),
            Route(f"{points}/query", self.query, methods=["POST"]),
            Route(f"{points}/scroll", self.scroll, methods=["POST"]),
            Route(f"{points}/count", self.count, methods=["POST"]),
            Route(f"{points}/delete", self.delete, methods=["POST"]),
        ]
        return Starlette(routes=routes)

    async def root(self, request: Request) -> Response:
        if self.says is not None:
            return self.says
        major, minor = self.version
        return JSONResponse({"title": "qdrant", "version": f"{major}.{minor}.3"})

    async def exists(self, request: Request) -> Response:
        return _answer({"exists": await self._engine.collection_exists(_name(request))})

    async def create(self, request: Request) -> Response:
        asked = q.CreateCollection.model_validate(await request.json())
        if await self._engine.collection_exists(_name(request)):
            return _refuse(409, f"Collection `{_name(request)}` already exists!")
        self._indexes[_name(request)] = {}
        return _answer(await self._engine.create_collection(_name(request), asked.vectors))

    async def describe(self, request: Request) -> Response:
        if not await self._engine.collection_exists(_name(request)):
            return _refuse(404, f"Collection `{_name(request)}` doesn't exist!")
        found = _json(await self._engine.get_collection(_name(request)))
        fields = self._indexes[_name(request)].items()
        found["payload_schema"] = {
            field: {"data_type": params["type"], "params": params, "points": 0} for field, params in fields
        }
        return _answer(found)

    async def drop(self, request: Request) -> Response:
        return _answer(await self._engine.delete_collection(_name(request)))

    async def index(self, request: Request) -> Response:
        asked = await request.json()
        field, schema = asked["field_name"], asked["field_schema"]
        if self.version < (1, 20):
            schema.pop("scoring", None)
        self._indexes[_name(request)].setdefault(field, schema)
        if schema.get("scoring"):
            await self._engine.create_payload_index(_name(request), field, _PLAIN)
        return _answer(_DONE)

    async def drop_index(self, request: Request) -> Response:
        self._indexes[_name(request)].pop(request.path_params["field"], None)
        return _answer(_DONE)

    async def upsert(self, request: Request) -> Response:
        asked = q.PointsList.model_validate(await request.json())
        known = self.version >= (1, 17), self.version >= (1, 16)
        mode, where = (
            value if is_known else None
            for value, is_known in zip((asked.update_mode, asked.update_filter), known, strict=True)
        )
        await self._engine.upsert(_name(request), asked.points, update_filter=where, update_mode=mode)
        return _answer(_DONE)

    async def retrieve(self, request: Request) -> Response:
        asked = q.PointRequest.model_validate(await request.json())
        payload = True if asked.with_payload is None else asked.with_payload
        return _answer(
            await self._engine.retrieve(_name(request), asked.ids, payload, asked.with_vector or False)
        )

    async def batch(self, request: Request) -> Response:
        asked = q.UpdateOperations.model_validate(await request.json())
        await self._engine.batch_update_points(_name(request), asked.operations)
        return _answer([_DONE] * len(asked.operations))

    async def vectors(self, request: Request) -> Response:
        asked = q.UpdateVectors.model_validate(await request.json())
        await self._engine.update_vectors(_name(request), asked.points)
        return _answer(_DONE)

    async def delete_vectors(self, request: Request) -> Response:
        asked = q.DeleteVectors.model_validate(await request.json())
        assert asked.filter is not None
        await self._engine.delete_vectors(_name(request), asked.vector, asked.filter)
        return _answer(_DONE)

    async def query(self, request: Request) -> Response:
        asked = await request.json()
        if isinstance(asked["query"], dict) and "text" in asked["query"]:
            self.text_queries += 1
            scored = self._indexes[_name(request)].get(asked["using"], {}).get("scoring")
            if self.version < (1, 20) or not scored:
                return _refuse(
                    400, "Format error in JSON body: data did not match any variant of QueryInterface"
                )
        wanted = q.QueryRequest.model_validate(asked)
        return _answer(
            await self._engine.query_points(
                _name(request),
                query=wanted.query,
                using=wanted.using,
                query_filter=wanted.filter,
                limit=wanted.limit or 10,
                with_payload=bool(wanted.with_payload),
            )
        )

    async def scroll(self, request: Request) -> Response:
        asked = q.ScrollRequest.model_validate(await request.json())
        records, following = await self._engine.scroll(
            _name(request),
            asked.filter,
            limit=asked.limit or 10,
            offset=asked.offset,
            with_payload=True if asked.with_payload is None else asked.with_payload,
        )
        return _answer({"points": _json(records), "next_page_offset": following})

    async def count(self, request: Request) -> Response:
        asked = q.CountRequest.model_validate(await request.json())
        return _answer(await self._engine.count(_name(request), asked.filter))

    async def delete(self, request: Request) -> Response:
        await self._engine.delete(_name(request), _SELECTOR.validate_python(await request.json()))
        return _answer(_DONE)


_DONE = {"operation_id": 1, "status": "completed"}


def _name(request: Request) -> str:
    name: str = request.path_params["name"]
    return name


def _json(found: object) -> Any:
    if isinstance(found, BaseModel):
        return found.model_dump(mode="json", exclude_none=True)
    return [_json(each) for each in found] if isinstance(found, list) else found


def _answer(found: object) -> Response:
    return JSONResponse({"result": _json(found), "status": "ok", "time": 0.001})


def _refuse(status: int, why: str) -> Response:
    return JSONResponse({"status": {"error": why}, "time": 0.001}, status_code=status)


class _Server(uvicorn.Server):
    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave the signals to pytest."""
        yield


@asynccontextmanager
async def a_qdrant(version: tuple[int, int]) -> AsyncIterator[tuple[QdrantStandIn, str]]:
    """Serve a version; yields its handlers and its address."""
    serving = QdrantStandIn(version)
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        server = _Server(uvicorn.Config(serving.app(), lifespan="off", log_level="warning"))
        task = asyncio.create_task(server.serve(sockets=[listening]))
        try:
            yield serving, f"http://127.0.0.1:{listening.getsockname()[1]}"
        finally:
            server.should_exit = True
            await asyncio.wait_for(task, 30)
