"""What differs between endpoints that speak OpenAI's API: what they take, and what is wrong with an address."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from typing import Any

import pytest

from deploy.local.model_server import ModelServer
from deploy.local.routed_server import Lack
from models.answers import Dialogue
from models.errors import ConfigurationError, DependencyUnavailable
from processors.prompts import extraction
from streams.config.settings import Settings
from streams.llm.openai.client import OpenAIClient
from streams.llm.openai.schemas import strict
from streams.llm.port import CONTEXT_EXCEEDED, Answer, Declined, Misconfigured, TextDelta
from tests import prompt_examples as examples

PROMPT = extraction.prompt([examples.window()])
TOOL = {"name": "search_memory", "description": "Searches.", "parameters": {"type": "object", "properties": {}}}
DIALOGUE = Dialogue(version="v", system="Answer.", user="Who is Anna?", most_tokens=200, tool=TOOL)


@pytest.fixture
async def server() -> AsyncIterator[ModelServer]:
    async with ModelServer() as running:
        yield running


def client_of(url: str, **given: Any) -> OpenAIClient:
    settings = {"model_api": "openai", "model_name": "scripted", "model_timeout_seconds": 20}
    return OpenAIClient(Settings(**{**settings, "model_url": url, **given}).model_endpoint)


@asynccontextmanager
async def asking(server: ModelServer, **given: Any) -> AsyncIterator[OpenAIClient]:
    client = client_of(f"{server.url}/v1", **given)
    try:
        yield client
    finally:
        await client.close()


async def text_of(client: OpenAIClient) -> str:
    async with aclosing(client.stream(DIALOGUE)) as events:
        return "".join([event.text async for event in events if isinstance(event, TextDelta)])


async def test_a_request_has_a_strict_schema_and_optional_key(server: ModelServer) -> None:
    async with asking(server) as client:
        assert isinstance(await client.generate(PROMPT), Answer)
    (call,) = server.calls
    form = call.body["response_format"]["json_schema"]
    assert form["strict"] is True and form["schema"] == strict(extraction.SCHEMA)
    assert (call.body["temperature"], call.body["max_tokens"]) == (0, PROMPT.most_tokens)
    assert "authorization" not in server.headers[0]


@pytest.mark.parametrize(
    ("lacks", "structured", "calls"),
    [
        ({"schemas"}, "json", 3),
        ({"schemas", "json"}, "prompt", 4),
        ({"temperature", "max_tokens"}, "strict", 3),
    ],
)
async def test_what_an_endpoint_refuses_is_left_out_from_then_on(
    server: ModelServer, lacks: set[Lack], structured: str, calls: int
) -> None:
    server.lacks = lacks
    async with asking(server) as client:
        said = await client.generate(PROMPT)
        assert isinstance(said, Answer) and "Munich" in said.text
        assert (client.dialect.structured, server.count()) == (structured, calls)
        await client.generate(PROMPT)
        assert server.count() == calls + 1
    if structured in ("json", "prompt"):
        assert '"notes"' in server.calls[-1].body["messages"][0]["content"], "the schema is told in words"


async def test_a_request_beyond_the_context_is_declined_with_advice(server: ModelServer) -> None:
    server.context_tokens = 200
    async with asking(server) as client:
        declined = await client.generate(PROMPT)
        assert isinstance(declined, Declined)
        assert (declined.reason, server.count()) == (CONTEXT_EXCEEDED, 1)
        assert "larger one" in declined.message
        assert client.dialect.structured == "strict", "a refusal for length is taken for one of the schema"


async def test_a_key_does_not_follow_a_redirect(server: ModelServer) -> None:
    async with ModelServer() as elsewhere:
        server.redirect_to = elsewhere.url
        async with asking(server, model_api_key="scripted") as client:
            for request in (client.generate(PROMPT), text_of(client)):
                with pytest.raises(Misconfigured, match=r"redirects to .*SWITCHBOARD_MODEL_URL"):
                    await request
            with pytest.raises(ConfigurationError, match="redirects to"):
                await client.check()
        assert elsewhere.headers == [] and elsewhere.count() == 0


@pytest.mark.parametrize(
    ("answer", "error", "words"),
    [
        (b"SSH-2.0-OpenSSH_9.6\r\n", DependencyUnavailable, "cannot be reached"),
        (b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n[]", Misconfigured, "is not OpenAI's API"),
        (b"HTTP/1.1 400 Bad Request\r\ncontent-length: 5\r\n\r\nHTTPS", Misconfigured, "is not OpenAI's API"),
    ],
)
async def test_another_protocol_is_no_answer(answer: bytes, error: type[Exception], words: str) -> None:
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(100)
        writer.write(answer)
        await writer.drain()
        writer.close()

    listening = await asyncio.start_server(talk, "127.0.0.1", 0)
    port = listening.sockets[0].getsockname()[1]
    client = client_of(f"http://127.0.0.1:{port}/v1")
    with pytest.raises(DependencyUnavailable, match=words) as caught:
        await client.generate(PROMPT)
    assert type(caught.value) is error
    await client.close()
    listening.close()


async def test_abilities_take_one_short_answer(server: ModelServer) -> None:
    server.scripts.append(lambda body: '{"right": true}')
    async with asking(server) as client:
        assert await client.abilities() == ("strict", True, "")
        assert server.count() == 1
    server.lacks = {"schemas", "tools"}
    server.scripts[:] = [lambda body: "Yes, it is right."]
    async with asking(server) as client:
        found = await client.abilities()
        assert (found.structured, found.tools) == ("json", False)
        assert "SWITCHBOARD_MODEL_STRUCTURED=prompt" in found.problem
