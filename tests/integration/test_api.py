"""The HTTP API over a real connection, with the embedded index and the real embedder behind it."""

from __future__ import annotations

import asyncio
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
from streams.server.api.app import create_api
from streams.server.api.parts import Parts
from streams.server.api.server import ApiServer, serve
from streams.stores.qdrant_edge import QdrantEdgeIndex
from streams.stores.qdrant_kinds import FACTS as FACT_KIND
from streams.stores.search import MemorySearch


async def check_problem(server: ApiServer, status: int, said: str, unsaid: str = "nothing") -> None:
    """Ask for facts and for a search: both are answered with this problem."""
    async with httpx.AsyncClient(base_url=server.url, trust_env=False, timeout=30.0) as client:
        for path in ("/v1/search?q=tea&user_id=ada", "/v1/facts?user_id=ada"):
            answer = await client.get(path)
            body = answer.json()
            assert (answer.status_code, body["status"]) == (status, status)
            assert answer.headers["content-type"] == "application/problem+json"
            assert said in body["detail"] and unsaid not in answer.text
            assert answer.headers.get("retry-after") == ("1" if status == 503 else None)
    await server.stop()


async def test_503_while_the_index_is_down(tmp_path: Path) -> None:
    embedder = OnnxEmbedder()
    index = QdrantEdgeIndex(tmp_path, FACT_KIND, VectorSpace(embedder.model, embedder.dimensions))
    await index.close()
    server = await serve(create_api(Parts(MemorySearch(index, embedder), index)), "127.0.0.1", 0)
    await check_problem(server, 503, "qdrant")
    await embedder.close()


class Broken:
    """A mistake of ours."""

    async def search(self, *_: Any) -> Any:
        raise ZeroDivisionError("division by zero")

    page = search


async def test_500_tells_no_internals() -> None:
    broken: Any = Broken()
    server = await serve(create_api(Parts(broken, broken)), "127.0.0.1", 0)
    await check_problem(server, 500, "", "division")


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
