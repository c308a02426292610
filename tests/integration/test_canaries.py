"""What people say, and the tokens they say it with, are planted, and looked for where they may not be."""

from __future__ import annotations

import asyncio
import json
import sys
import uuid
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest
from mcp import Client, StdioServerParameters
from serve_rig import ServeRig
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from switchboard_client import AsyncSwitchboard, Message, Switchboard
from waiting import eventually

from deploy.local.kafka import LocalKafka
from streams.clients import kafka
from streams.clients.partitioner import partition_of
from streams.server.api.server import serve

pytestmark = pytest.mark.kafka

SERVICES = ("ingest", "memory", "recall", "respond")

MESSAGES = "chat.messages.v1"


@pytest.fixture(scope="module")
def own(kafka: LocalKafka, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServeRig]:
    """A deployment of its own: what is in its logs is what was said here."""
    rig = ServeRig(kafka.bootstrap_servers, tmp_path_factory.mktemp("canaries"))
    rig.need(*SERVICES)
    yield rig
    rig.close()


def canary() -> str:
    """A word that nobody else says, and no id is made of."""
    return f"kanarie{uuid.uuid4().hex[:10]}"


def publish(rig: ServeRig, key: str, *values: bytes) -> None:
    async def go() -> None:
        spec = rig.catalog.get(MESSAGES)
        place = partition_of(key.encode(), spec.partitions)
        async with kafka.connected(kafka.make_producer(rig.settings, "test"), rig.settings, 30.0) as producer:
            for value in values:
                await producer.send_and_wait(spec.name, value, key=key.encode(), partition=place)

    asyncio.run(go())


def spoiled(word: str) -> list[bytes]:
    """Records that hold the word and that no service can take, each for another reason."""
    said: dict[str, Any] = {
        "message_id": "m",
        "conversation_id": "c-bad",
        "user_id": "ada",
        "role": "user",
        "content": f"I like {word}.",
        "sent_at": "2026-01-05T07:12:00Z",
    }
    changes: list[dict[str, Any]] = [
        {"content": {"shade": word}},
        {"content": f"{word} " * 10_000},
        {"role": word},
        {"sent_at": word},
        {"metadata": [word]},
        {"conversation_id": "c-other"},
        {"sent_at": "1970-01-01T00:00:00Z"},
    ]
    records = [json.dumps(said | change).encode() for change in changes]
    return [
        *records,
        f'{{"content": "{word}'.encode(),
        f'"{word}"'.encode(),
        f'{{"x": "{word}\xff"}}'.encode("latin-1"),
    ]


def test_no_log_metric_or_problem_holds_text_or_token(own: ServeRig) -> None:
    word = canary()
    bad = spoiled(word)
    publish(own, "c-bad", *bad)
    problems: list[str] = []
    with own.token("", "read", "write", "chat", "operate") as token:
        with own.client(headers={"authorization": f"Bearer {token}"}) as client:

            def ask(method: str, path: str, **more: Any) -> httpx.Response:
                answer = client.request(method, path, **more)
                if not answer.is_success:
                    problems.append(answer.text)
                return answer

            told = {"conversation_id": "c-1", "role": "user", "content": f"I am allergic to {word}."}
            said = {"user_id": "ada", "messages": [told | {"metadata": {"note": word}}]}
            assert ask("POST", "/v1/messages", json=said).status_code == 202
            assert ask("POST", "/v1/search", json={"q": word, "user_id": "ada"}).status_code == 200
            assert ask("GET", "/v1/search", params={"q": word, "user_id": "ada"}).status_code == 200
            turn = {"user_id": "ada", "content": f"What of {word}?"}
            assert word in ask("POST", "/v1/conversations/c-2/turns", json=turn).text
            assert ask("POST", "/v1/conversations/c-1/close").status_code == 202
            eventually(
                lambda: word in client.get("/v1/facts", params={"user_id": "ada"}).text, "it became a fact"
            )
            refused = ask("POST", "/v1/messages", json={"user_id": "ada", "messages": [told | {"content": 7}]})
            assert refused.status_code == 400
            long = {"content": word * 10_000}
            wrong = {"user_id": "ada", "messages": [told | long]}
            assert ask("POST", "/v1/messages", json=wrong).status_code == 400
            assert not ask("POST", "/v1/conversations/c-2/turns", json=turn | long).is_success
            assert ask("POST", "/v1/search", json={"q": word * 1000, "user_id": "ada"}).status_code == 400
            assert ask("GET", "/v1/facts", params={"user_id": "ada", "token": token}).status_code == 400
            assert (
                ask("POST", "/v1/facts/f/correct", params={"user_id": "ada"}, json={"text": word}).status_code
                == 404
            )
            letters = client.get("/v1/dead-letters").json()["groups"]
            eventually(
                lambda: (
                    sum(each["count"] for each in client.get("/v1/dead-letters").json()["groups"]) >= len(bad)
                ),
                f"all are dead letters: {letters}",
            )
        with own.client(headers={"authorization": f"Bearer {token[:-1]}x"}) as client:
            problems.append(client.get("/v1/session").text)
        metrics = [
            own.health(name, path).text for name in (*SERVICES, "serve") for path in ("/metrics", "/readyz")
        ]
    own.command("search", word, "--user", "ada")
    logs = {name: own.log(name).read_text() for name in (*SERVICES, "serve")}
    assert all(logs.values()) and len(problems) >= 7
    for what, text in (
        *logs.items(),
        *(("metrics", each) for each in metrics),
        *(("a problem", each) for each in problems),
    ):
        for secret in (word, token, token[3:]):
            found = [line[:400] for line in text.splitlines() if secret in line]
            assert not found, (what, found)


@asynccontextmanager
async def forwarding(rig: ServeRig, addresses: list[str]) -> AsyncIterator[int]:
    """The port of something between serve and those who ask it, which notes the addresses that they ask for."""
    async with httpx.AsyncClient(base_url=rig.url, trust_env=False, timeout=60) as client:

        async def forward(request: Request) -> Response:
            addresses.append(f"{request.method} {request.url}")
            own = ("content-type", "accept", "authorization", "idempotency-key")
            headers = {name: value for name, value in request.headers.items() if name in own}
            url = f"{request.url.path}?{request.url.query}"
            answer = await client.request(request.method, url, content=await request.body(), headers=headers)
            return Response(
                answer.content, answer.status_code, {"content-type": answer.headers["content-type"]}
            )

        routes = [Route("/{path:path}", forward, methods=["GET", "POST", "DELETE"])]
        server = await serve(Starlette(routes=routes), "127.0.0.1", 0)
        yield server.port
        await server.stop()


async def test_no_address_of_ours_holds_what_somebody_says(own: ServeRig) -> None:
    word, addresses = canary(), list[str]()
    who, said = ("--user", "eve"), Message(conversation_id="c-3", content=f"I like {word}.")
    async with forwarding(own, addresses) as port:
        url = f"http://127.0.0.1:{port}"
        for command in ("search", "understand", "chat"):
            done = await asyncio.to_thread(own.command, command, f"Who is {word}?", *who, api_port=port)
            assert done.returncode == 0, done.stderr
        with Switchboard(url, user_id="eve") as blocking:
            await asyncio.to_thread(blocking.search, word)
        async with AsyncSwitchboard(url, user_id="eve") as client:
            await client.add([said])
            await client.search(word)
            assert [event.kind async for event in client.turn("c-3", f"What of {word}?")][-1] == "end"
        arguments = ["-m", "streams.cli", "mcp", "--user", "eve", "--url", url]
        spoken = StdioServerParameters(command=sys.executable, args=arguments, env=own.environment())
        async with Client(spoken) as assistant:
            assert not (await assistant.call_tool("search_memory", {"query": f"Who is {word}?"})).is_error
            assert not (await assistant.call_tool("remember", {"text": f"I like {word}."})).is_error
    asked = [each for each in addresses if "/v1/search" in each]
    assert len(asked) == 4 and len(addresses) >= 10, addresses
    assert not [each for each in addresses if word in each]
