"""Who is answered: a stranger's name for this machine, another tenant, another address."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from models.errors import ConfigurationError
from models.index import FactIndex, VectorSpace
from streams.cli.search import search
from streams.config.settings import load_settings
from streams.llm.onnx_embedder import OnnxEmbedder
from streams.server.api.access import Access
from streams.server.api.app import create_api
from streams.server.api.parts import Parts
from streams.server.api.server import ApiServer, serve
from streams.stores.qdrant_edge import QdrantEdgeIndex
from streams.stores.qdrant_kinds import FACTS
from streams.stores.search import MemorySearch, Wanted

EVERYTHING = ["/v1/search?q=tea&user_id=ada", "/v1/facts?user_id=ada", "/v1/facts/x?user_id=ada", "/", "/v2"]


@pytest.fixture
async def memory(tmp_path: Path) -> AsyncIterator[tuple[MemorySearch, FactIndex]]:
    embedder = OnnxEmbedder()
    index = QdrantEdgeIndex(tmp_path, FACTS, VectorSpace(embedder.model, embedder.dimensions))
    yield MemorySearch(index, embedder), index
    await index.close()
    await embedder.close()


@pytest.fixture
async def server(memory: tuple[MemorySearch, FactIndex]) -> AsyncIterator[ApiServer]:
    made = await serve(create_api(Parts(*memory)), "127.0.0.1", 0)
    yield made
    await made.stop()


@pytest.fixture
async def fronted(memory: tuple[MemorySearch, FactIndex]) -> AsyncIterator[ApiServer]:
    """One that something authenticates in front of, under a name of its own."""
    settings = load_settings(api_auth="off", api_hosts="Memory.Example , 10.0.0.7", api_host="0.0.0.0")
    made = await serve(create_api(Parts(*memory), Access.of(settings)), "127.0.0.1", 0)
    yield made
    await made.stop()


async def ask(server: ApiServer, path: str, host: str | None) -> tuple[int, dict[str, Any]]:
    """Ask as a browser does that took the server for ``host``; ``None``: no header, as in HTTP/1.0."""
    async with asyncio.timeout(30):
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        version, header = ("1.0", "") if host is None else ("1.1", f"Host: {host}\r\n")
        writer.write(f"GET {path} HTTP/{version}\r\n{header}Connection: close\r\n\r\n".encode())
        head, _, body = (await reader.read()).partition(b"\r\n\r\n")
        writer.close()
    answer = httpx.Response(int(head.split()[1]), content=body)
    return answer.status_code, answer.json()


STRANGERS = [
    "attacker.example",
    "127.0.0.1.attacker.example:8371",
    "127.0.0.1@attacker.example",
    "[::1",
    "0.0.0.0:8371",
    "",
    None,
]


@pytest.mark.parametrize("path", EVERYTHING)
async def test_a_foreign_name_is_refused_on_every_path(server: ApiServer, path: str) -> None:
    for host in STRANGERS:
        status, body = await ask(server, path, host)
        assert status == 421, host
        assert body["type"] == "urn:switchboard:problem:unknown-host"
        assert "SWITCHBOARD_API_HOSTS" in body["detail"]


async def test_a_caller_cannot_name_the_tenant_without_an_authenticating_proxy(
    server: ApiServer, fronted: ApiServer
) -> None:
    for path in EVERYTHING[:3]:
        status, body = await ask(server, f"{path}&tenant_id=acme", "localhost")
        assert status == 403
        assert "SWITCHBOARD_API_AUTH=off" in body["detail"]
        assert (await ask(server, f"{path}&tenant_id=default", "localhost"))[0] != 403
        assert (await ask(fronted, f"{path}&tenant_id=acme", "localhost"))[0] != 403


@pytest.mark.parametrize(("theirs", "ours"), [("theirs-", ""), ("theirs-", "ours-"), ("", "ours-")])
async def test_a_search_is_not_answered_by_another_deployment(
    memory: tuple[MemorySearch, FactIndex], theirs: str, ours: str
) -> None:
    made = await serve(
        create_api(Parts(*memory), Access.of(load_settings(topic_prefix=theirs))), "127.0.0.1", 0
    )
    named = f"not of the topic prefix '{ours}'" if ours else "not of the deployment without a topic prefix"
    with pytest.raises(ConfigurationError, match=f"{named}: set SWITCHBOARD_API_PORT"):
        await search(load_settings(topic_prefix=ours, api_port=made.port), Wanted(query="tea", user_id="ada"))
    settings = load_settings(topic_prefix=theirs, api_port=made.port)
    assert (await search(settings, Wanted(query="tea", user_id="ada"))).results == []
    assert (await ask(made, "/v1/facts?user_id=ada", "localhost"))[0] == 200, "who does not care is answered"
    await made.stop()
