"""The HTTP API over a real connection, with the embedded index and the real embedder behind it."""

from __future__ import annotations

import asyncio
import re
import socket
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from models.errors import ConfigurationError
from models.index import VectorSpace
from streams.llm.onnx_embedder import OnnxEmbedder
from streams.server.api.access import Access
from streams.server.api.app import create_api
from streams.server.api.parts import Parts
from streams.server.api.server import ApiServer, serve
from streams.stores.qdrant_edge import QdrantEdgeIndex
from streams.stores.qdrant_kinds import FACTS as FACT_KIND
from streams.stores.search import MemorySearch, Results


class Service:
    """What stands behind the API, and the switches that the tests use."""

    def __init__(self, index: QdrantEdgeIndex, embedder: OnnxEmbedder) -> None:
        self.index = index
        self.embedder = embedder


@pytest.fixture
async def service(tmp_path: Path) -> AsyncIterator[Service]:
    embedder = OnnxEmbedder()
    index = QdrantEdgeIndex(tmp_path, FACT_KIND, VectorSpace(embedder.model, embedder.dimensions))
    yield Service(index, embedder)
    await index.close()
    await embedder.close()


@pytest.fixture
async def client(service: Service) -> AsyncIterator[httpx.AsyncClient]:
    access = Access(any_tenant=True)  # what SWITCHBOARD_API_AUTH=off gives; test_api_access.py has the rest
    app = create_api(Parts(MemorySearch(service.index, service.embedder), service.index), access)
    server = await serve(app, "127.0.0.1", 0)
    async with httpx.AsyncClient(base_url=server.url, trust_env=False, timeout=30.0) as opened:
        yield opened
    await server.stop()


async def problem(client: httpx.AsyncClient, status: int, path: str, method: str = "GET") -> str:
    """Return the detail of the problem that ``path`` must answer with."""
    answer = await client.request(method, path)
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    body = answer.json()
    assert body["status"] == status
    assert re.fullmatch("urn:switchboard:problem:[a-z-]+", body["type"])
    assert body["advice"]
    assert re.fullmatch("[0-9a-f]{32}", body["trace_id"])
    assert body["title"]
    assert body["instance"] == path.split("?")[0]
    detail: str = body["detail"]
    return detail


async def test_503_while_the_index_is_down(service: Service, client: httpx.AsyncClient) -> None:
    await service.index.close()
    assert "qdrant" in await problem(client, 503, "/v1/search?q=tea&user_id=ada")
    assert "qdrant" in await problem(client, 503, "/v1/facts?user_id=ada")
    assert (await client.get("/v1/facts?user_id=ada")).headers["retry-after"] == "1"


class BrokenSearch(MemorySearch):
    """A mistake of ours."""

    async def search(self, *args: Any, **kwargs: Any) -> Results:
        raise ZeroDivisionError("division by zero")


async def test_500_tells_no_internals(service: Service) -> None:
    app = create_api(Parts(BrokenSearch(service.index, service.embedder), service.index))
    server = await serve(app, "127.0.0.1", 0)
    async with httpx.AsyncClient(base_url=server.url, trust_env=False) as client:
        assert "division" not in await problem(client, 500, "/v1/search?q=tea&user_id=ada")
    await server.stop()


async def slow(request: Request) -> PlainTextResponse:
    request.app.state.asked.set()
    await asyncio.sleep(3600)
    return PlainTextResponse("never")


@pytest.fixture
def asked() -> asyncio.Event:
    """Set when the slow server has been asked."""
    return asyncio.Event()


@pytest.fixture
async def slow_server(asked: asyncio.Event) -> AsyncIterator[ApiServer]:
    app = Starlette(routes=[Route("/", slow)])
    app.state.asked = asked
    server = await serve(app, "127.0.0.1", 0)
    yield server
    await server.stop()


async def test_a_busy_port_says_which_setting_to_change(slow_server: ApiServer) -> None:
    with pytest.raises(ConfigurationError, match=rf"port {slow_server.port} .*SWITCHBOARD_API_PORT"):
        await serve(Starlette(), "127.0.0.1", slow_server.port)


async def test_stop_cuts_a_hanging_request_and_frees_the_port(
    slow_server: ApiServer, asked: asyncio.Event
) -> None:
    async with httpx.AsyncClient(base_url=slow_server.url, trust_env=False, timeout=60.0) as client:
        hanging = asyncio.create_task(client.get("/"))
        async with asyncio.timeout(60):
            await asked.wait()
            await slow_server.stop(grace_seconds=1.0)
        with pytest.raises(httpx.HTTPError):
            (await hanging).raise_for_status()
    with socket.create_server(("127.0.0.1", slow_server.port)):
        pass
    await slow_server.stop()
