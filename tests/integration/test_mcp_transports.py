"""MCP as assistants use it: over Streamable HTTP at ``serve``, and ``switchboard mcp`` on stdin and stdout."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp import Client, MCPError, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from serve_rig import ServeRig
from waiting import eventually

pytestmark = pytest.mark.kafka

SAID = ("I live in Lisbon.", "I'm allergic to peanuts.", "I have a dog called Bruno.")


@pytest.fixture(scope="module")
def known(deployment: ServeRig, tmp_path_factory: pytest.TempPathFactory) -> ServeRig:
    """Ada has said some things, and they are facts."""
    deployment.need("recall", "memory", "ingest")
    file = tmp_path_factory.mktemp("said") / "said.jsonl"
    lines = [
        {"role": "user", "content": text, "sent_at": f"2026-01-05T08:00:0{n}Z", "conversation_id": "mcp-c"}
        for n, text in enumerate(SAID)
    ]
    file.write_text("\n".join(map(json.dumps, lines)))
    done = deployment.command("import", "jsonl", str(file), "--user", "ada-mcp")
    assert done.returncode == 0, done.stderr
    eventually(lambda: len(facts(deployment)) == len(SAID), "all that was said is known")
    return deployment


def facts(rig: ServeRig) -> list[dict[str, Any]]:
    with rig.client() as client:
        found: list[dict[str, Any]] = client.get("/v1/facts", params={"user_id": "ada-mcp"}).json()["facts"]
        return found


def over_http(rig: ServeRig) -> Client:
    return Client(f"{rig.url}/mcp?user_id=ada-mcp")


def over_stdio(rig: ServeRig, **more: object) -> Client:
    arguments = ["-m", "streams.cli", "mcp", "--user", "ada-mcp", "--url", rig.url]
    root = str(Path(__file__).parents[2])
    return Client(
        StdioServerParameters(command=sys.executable, args=arguments, env=rig.environment(**more), cwd=root)
    )


@asynccontextmanager
async def with_token(rig: ServeRig, token: str, query: str = "") -> AsyncIterator[Client]:
    headers = {"authorization": f"Bearer {token}"}
    async with httpx2.AsyncClient(headers=headers, timeout=30) as http:
        over = streamable_http_client(f"{rig.url}/mcp{query}", http_client=http)
        async with Client(over) as client:
            yield client


def why(answer: Any) -> str:
    """What an error says; it must be one."""
    assert answer.is_error
    return str(answer.content[0].text)


@pytest.mark.parametrize("way", [over_http, over_stdio])
async def test_an_assistant_finds_what_was_said(known: ServeRig, way: Callable[[ServeRig], Client]) -> None:
    async with way(known) as client:
        answer = await client.call_tool("search_memory", {"query": "What is she allergic to?"})
        assert not answer.is_error, answer.content
        memories = answer.structured_content["memories"]
        assert "peanuts" in memories[0]["text"]
        [fact_id, *_] = [each["fact_id"] for each in memories if each["fact_id"]]
        fact = (await client.call_tool("get_fact", {"fact_id": fact_id})).structured_content
        assert fact["evidence"][0]["quote"] and fact["history"]
        listed = (await client.call_tool("list_facts", {"limit": 2})).structured_content
        rest = (await client.call_tool("list_facts", {"limit": 2, "cursor": listed["next"]})).structured_content
        assert len(listed["facts"]) == 2 and len(rest["facts"]) == 1
        window = await client.call_tool("get_window", {"conversation_id": "mcp-c", "first": 0, "turns": 2})
        assert [each["text"] for each in window.structured_content["messages"]] == list(SAID)
        nobody = await client.call_tool("get_window", {"conversation_id": "no-such", "first": 0})
        assert nobody.is_error
        behind = await client.call_tool("get_window", {"conversation_id": "mcp-c", "first": 99})
        assert "the conversation has 3, numbered 0 to 2" in behind.structured_content["empty"]
        told = json.loads((await client.read_resource("switchboard://conversations/mcp-c")).contents[0].text)
        assert [each["text"] for each in told["messages"]] == list(SAID)
        assert (told["total"], told["next"]) == (3, "")
        people = await client.read_resource("switchboard://people/ada-mcp/facts")
        assert len(json.loads(people.contents[0].text)["facts"]) == 3


def test_a_token_decides_whose_memory_is_searched(known: ServeRig) -> None:
    with (
        known.token("ada-mcp", "read") as ada,
        known.token("eve-mcp") as eve,
        known.token("") as anybody,
    ):
        asyncio.run(check_tokens(known, ada, eve, anybody))


async def check_tokens(known: ServeRig, ada: str, eve: str, anybody: str) -> None:
    question = {"query": "What is she allergic to?"}
    async with with_token(known, ada) as client:
        answer = await client.call_tool("search_memory", question)
        assert "peanuts" in answer.structured_content["memories"][0]["text"]
        [fact] = (await client.call_tool("list_facts", {"limit": 1})).structured_content["facts"]
        assert "write" in why(await client.call_tool("remember", {"text": "I like tea."}))
    async with with_token(known, eve) as client:
        found = (await client.call_tool("search_memory", question)).structured_content
        assert found["memories"] == [] and found["empty"]
        for tool, given in (
            ("get_fact", {"fact_id": fact["fact_id"]}),
            ("correct", {"fact_id": fact["fact_id"], "text": "I live in Rome."}),
            ("forget", {"fact_id": fact["fact_id"]}),
            ("get_window", {"conversation_id": "mcp-c", "first": 0}),
            ("get_context", {"conversation_id": "mcp-c"}),
        ):
            assert "peanuts" not in why(await client.call_tool(tool, given))
        with pytest.raises(MCPError, match="eve-mcp"):
            await client.read_resource("switchboard://people/ada-mcp/facts")
    async with with_token(known, eve, "?user_id=ada-mcp") as client:
        assert "eve-mcp" in why(await client.call_tool("search_memory", question))
    async with with_token(known, anybody) as client:
        assert "--user NAME" in why(await client.call_tool("search_memory", question))
    async with over_stdio(known, api_token=eve) as client:
        assert "eve-mcp" in why(await client.call_tool("search_memory", question))
    async with over_stdio(known) as client:
        assert "token" in why(await client.call_tool("search_memory", question))
