"""What a Qdrant server that fails looks like to the index.  The servers here answer everything alike."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import pytest
from fact_samples import ADA, SPACE, make_fact

from models.errors import ConfigurationError, DependencyUnavailable
from models.index import FactIndex
from streams.stores.qdrant_kinds import FACTS
from streams.stores.qdrant_server import QdrantServerIndex

CALLS: dict[str, Callable[[FactIndex], object]] = {
    "upsert": lambda index: index.upsert([make_fact()]),
    "search_text": lambda index: index.search_text("tea", ADA, 5),
    "erase": lambda index: index.erase({make_fact().fact_id: 1}),
}


@asynccontextmanager
async def a_server(status: str, body: object, headers: str = "") -> AsyncIterator[str]:
    """Answer every request with ``status`` and ``body``; never answer if ``status`` is empty."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        if status:
            content = json.dumps(body).encode()
            head = f"HTTP/1.1 {status}\r\ncontent-length: {len(content)}\r\nconnection: close\r\n{headers}\r\n"
            writer.write(head.encode() + content)
        else:
            await reader.read()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"


@asynccontextmanager
async def an_index(url: str, patience: float = 30.0) -> AsyncIterator[QdrantServerIndex]:
    index = QdrantServerIndex(url, "facts", FACTS, SPACE, timeout=patience)
    yield index
    await index.close()


@pytest.mark.parametrize("name", CALLS)
async def test_a_server_that_is_not_there_is_waited_for(name: str) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{unused.getsockname()[1]}"
        async with an_index(url) as index:
            with pytest.raises(DependencyUnavailable, match=url):
                await CALLS[name](index)


async def test_a_server_that_never_answers_is_waited_for() -> None:
    async with a_server("", None) as url, an_index(url, patience=0.1) as index:
        with pytest.raises(DependencyUnavailable, match=url):
            await index.count()


@pytest.mark.parametrize(
    ("status", "headers"),
    [
        ("500 Internal Server Error", ""),
        ("429 Too Many Requests", "retry-after: 3\r\n"),
        ("404 Not Found", ""),
    ],
)
async def test_a_server_that_fails_is_waited_for(status: str, headers: str) -> None:
    async with a_server(status, {"status": {"error": "no"}}, headers) as url, an_index(url) as index:
        with pytest.raises(DependencyUnavailable, match=url):
            await index.count()


@pytest.mark.parametrize("status", ["401 Unauthorized", "403 Forbidden"])
async def test_a_server_that_refuses_access_is_a_configuration_error(status: str) -> None:
    async with a_server(status, {"status": {"error": "no"}}) as url, an_index(url) as index:
        with pytest.raises(ConfigurationError, match="refuses access"):
            await index.count()
