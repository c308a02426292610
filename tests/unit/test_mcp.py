"""The memory over the Model Context Protocol: the SDK's own client against what ``serve`` mounts."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Mount

from streams.llm.tokenizer import open_counter
from streams.server.api.access import Access
from streams.server.api.app import create_api
from streams.server.api.parts import Parts
from streams.server.mcp import app as mcp_app
from streams.server.mcp.answers import MOST_TOKENS

COUNT = open_counter("cl100k_base")
SAID = {"quote": "I live in Lisbon.", "conversation_id": "c-1", "sent_at": "2026-01-05T08:00:00Z"}
CHANGED = {"change": "created", "at": "2026-01-05T08:00:00Z", "confidence_after": 0.8}
FACT = {
    "fact_id": "f-1",
    "user_id": "ada",
    "kind": "state",
    "statement": "Lives in Lisbon \x1b[31m",
    "status": "active",
    "confidence": 0.9,
    "valid_from": "2026-01-05T08:00:00Z",
    "last_evidence_at": "2026-01-06T08:00:00Z",
    "provenance": [SAID],
    "changes": [CHANGED],
}


class Api:
    """Stands where the HTTP API is: answers what it is told to, and remembers who asked for what."""

    def __init__(self) -> None:
        self.answers: dict[str, Any] = {}
        self.asked: list[tuple[str, str, dict[str, str], Any]] = []

    def __call__(self, *_: Any, **__: Any) -> Any:
        async def app(scope: Any, receive: Any, send: Any) -> None:
            body = (await receive()).get("body", b"")
            headers = {name.decode(): value.decode() for name, value in scope["headers"]}
            query = dict(httpx2.QueryParams(scope["query_string"].decode()))
            path = scope["raw_path"].decode().partition("?")[0]
            self.asked.append((f"{scope['method']} {path}", headers.get("authorization", ""), query, body))
            named = f"{scope['method']} */{path.rpartition('/')[2]}"
            none = 404, {"detail": "none", "advice": "look"}
            status, answer = self.answers.get(f"{scope['method']} {path}", self.answers.get(named, none))
            await send({"type": "http.response.start", "status": status, "headers": []})
            await send({"type": "http.response.body", "body": json.dumps(answer).encode()})

        return app


@pytest.fixture
def api(monkeypatch: pytest.MonkeyPatch) -> Api:
    api = Api()
    monkeypatch.setattr(mcp_app, "create_api", api)
    return api


def served() -> Starlette:
    """The application as ``serve`` puts it together, pages at the end."""
    pages = [Mount("", PlainTextResponse("a page", 405))]
    return create_api(Parts(), Access(), mounted=[mcp_app.mounted(Parts(), Access(), COUNT)], pages=pages)


@asynccontextmanager
async def connected(query: str = "?user_id=ada", headers: Any = None, **more: Any) -> AsyncIterator[Client]:
    """The SDK's client over Streamable HTTP, through the real application with its checks."""
    app = served()
    async with app.router.lifespan_context(app):
        transport = httpx2.ASGITransport(app)
        async with httpx2.AsyncClient(
            transport=transport, base_url="http://localhost", headers=headers
        ) as http:
            over = streamable_http_client(f"http://localhost/mcp{query}", http_client=http)
            async with Client(over, **more) as client:
                yield client


async def test_a_search_is_made_for_the_person_of_the_connection(api: Api) -> None:
    result = {"kind": "fact", "score": 0.7, "text": FACT["statement"], "fact": FACT, "conversation_id": "c-1"}
    api.answers["POST /v1/search"] = 200, {"results": [result], "empty": None}
    async with connected() as client:
        answer = await client.call_tool("search_memory", {"query": "where?", "limit": 3})
    assert not answer.is_error
    assert answer.structured_content is not None
    [memory] = answer.structured_content["memories"]
    assert (memory["text"], memory["confidence"], memory["timestamp"]) == (
        FACT["statement"],
        0.9,
        FACT["last_evidence_at"],
    )
    assert "\x1b" not in answer.content[0].text  # type: ignore[union-attr]
    [(what, _, query, body)] = api.asked
    assert (what, query) == ("POST /v1/search", {}), "what somebody asks is in no address"
    asked = {"user_id": "ada", "q": "where?", "search_type": "both", "limit": 3, "explain": False}
    assert json.loads(body) == asked


@pytest.mark.parametrize(
    ("tool", "given", "said"),
    [
        ("search_memory", {}, "query is missing: it must be a text. Example: search_memory(query="),
        ("get_window", {"conversation_id": "c", "first": "canary"}, "first does not fit: it must be a whole"),
        ("remember", {"text": "canary " * 1000}, "a text of 1 to 4,000 characters."),
        ("drop_tables", {}, "There is no tool drop_tables: use search_memory, "),
    ],
)
async def test_values_no_tool_takes_are_refused_with_advice(
    api: Api, tool: str, given: dict[str, Any], said: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG")
    async with connected() as client:
        answer = await client.call_tool(tool, given)
    text = answer.content[0].text  # type: ignore[union-attr]
    assert answer.is_error and said in text, text
    theirs = ("Error executing", "validation error", "pydantic", "Input should", "canary")
    assert not [each for each in theirs if each in text]
    assert api.asked == [], "nobody was asked"
    assert not [each for each in caplog.records if "mcp.server" in each.name and "canary" in each.getMessage()]


async def test_what_is_remembered_is_said_by_the_person_and_closed(api: Api) -> None:
    api.answers["POST /v1/messages"] = 202, {"messages": [{"message_id": "m", "position": "3:1842"}]}
    async with connected() as client:
        for _ in range(2):
            kept = await client.call_tool("remember", {"text": "I'm allergic to nuts."})
            assert not kept.is_error
            assert kept.structured_content["position"] == "3:1842"
            assert (
                "will be read later" in kept.structured_content["done"]
            )  # nothing answers when asked to close
        said = json.loads(api.asked[0][3])
        [message] = said["messages"]
        assert (said["user_id"], message["role"], message["content"]) == (
            "ada",
            "user",
            "I'm allergic to nuts.",
        )
        conversations = {
            json.loads(body)["messages"][0]["conversation_id"] for what, _, _, body in api.asked if body
        }
        assert len(conversations) == 2  # nothing is said into a conversation that is there


@pytest.mark.parametrize(
    ("came", "said", "fact_id"),
    [
        ({"state": "searchable", "fact_ids": ["f-1"]}, "It is remembered: Lives in Lisbon", "f-1"),
        ({"state": "extracted"}, "no fact was made of it", ""),
        ({"state": "dead_lettered", "reason": "content_too_large: content exceeds"}, "content_too_large", ""),
    ],
)
async def test_remember_tells_the_fact_or_why_there_is_none(
    api: Api, came: dict[str, Any], said: str, fact_id: str
) -> None:
    api.answers["POST /v1/messages"] = 202, {"messages": [{"message_id": "m", "position": "3:1842"}]}
    api.answers["POST */close"] = 202, {}
    api.answers["GET /v1/progress"] = 200, came
    api.answers["GET /v1/facts/f-1"] = 200, FACT
    async with connected() as client:
        kept = await client.call_tool("remember", {"text": "I live in Lisbon."})
    assert said in kept.content[0].text  # type: ignore[union-attr]
    assert kept.is_error or kept.structured_content["fact_id"] == fact_id


async def test_forgetting_asks_where_the_client_can(api: Api) -> None:
    api.answers["DELETE /v1/facts/f-1"] = 202, {}
    api.answers["GET /v1/facts/f-1"] = 200, FACT

    def forgotten() -> int:
        return [what for what, *_ in api.asked].count("DELETE /v1/facts/f-1")

    async with connected() as client:
        answer = await client.call_tool("forget", {"fact_id": "f-1"})
    assert not answer.is_error and forgotten() == 1

    from mcp.types import ElicitResult

    asked = []
    for agreed in (False, True):

        async def on_question(_: Any, question: Any, agreed: bool = agreed) -> ElicitResult:
            asked.append(question.message)
            return ElicitResult(action="accept", content={"forget": agreed})

        async with connected(elicitation_callback=on_question) as client:
            answer = await client.call_tool("forget", {"fact_id": "f-1"})
            assert not answer.is_error
            assert (await client.call_tool("forget", {"fact_id": "nope"})).is_error
        assert forgotten() == 1 + agreed
    question = "Shall “Lives in Lisbon \\x1b[31m” be forgotten? It cannot be brought back."
    assert asked == [question] * 2


async def test_a_correction_is_an_operation_of_its_own(api: Api) -> None:
    told = {"instead": "f-2", "statement": "Lives in Munich", "ends": False}
    api.answers["POST /v1/facts/f-1/correct"] = 202, told
    async with connected() as client:
        answer = await client.call_tool("correct", {"fact_id": "f-1", "text": "I live in Munich now."})
        assert answer.structured_content["fact_id"] == "f-2"
        assert answer.structured_content["done"].endswith("Lives in Munich")
        api.answers["POST /v1/facts/f-1/correct"] = 202, {"instead": "", "statement": "", "ends": True}
        ended = await client.call_tool("correct", {"fact_id": "f-1", "text": "I don't live there any more."})
        assert "ends" in ended.structured_content["done"]
    [(_, _, query, body), _] = api.asked
    assert (query, json.loads(body)) == ({"user_id": "ada"}, {"text": "I live in Munich now."})


def said(first: int, last: int) -> list[dict[str, Any]]:
    text = "We talked about the garden. " * 20
    return [
        {"index": n, "role": "user", "text": text, "content": text, "sent_at": "2026-01-05T08:00:00Z"}
        for n in range(first, last + 1)
    ]


@pytest.mark.parametrize(
    ("messages", "total", "following"),
    [
        ([], 201, "first=200, last=200"),
        (said(150, 160), 200, ""),
        (said(0, 2), 90_000, "first=200, last=2199"),
    ],
)
async def test_what_was_erased_of_a_conversation_does_not_end_it(
    api: Api, messages: Any, total: int, following: str
) -> None:
    api.answers["GET /v1/conversations/c"] = 200, {"messages": messages, "total": total}
    async with connected() as client:
        [read] = (await client.read_resource("switchboard://conversations/c")).contents
    told = json.loads(read.text)  # type: ignore[union-attr]
    assert (len(told["messages"]), told["total"]) == (len(messages), total)
    assert following in told["next"] and bool(told["next"]) == bool(following)


async def test_a_page_elsewhere_cannot_ask(api: Api) -> None:
    app = served()
    async with (
        app.router.lifespan_context(app),
        httpx2.AsyncClient(transport=httpx2.ASGITransport(app), base_url="http://localhost") as http,
    ):
        answer = await http.post("/mcp", headers={"origin": "http://evil.example"}, json={})
        assert answer.status_code == 403
        answer = await http.post("/mcp", headers={"host": "evil.example"}, json={})
        assert answer.status_code == 421
        answer = await http.post("/mcp", headers={"authorization": "Bearer sb_1"}, json={})
        assert answer.status_code == 401
    assert api.asked == []


def largest(text: str) -> dict[str, Any]:
    """What every operation that a tool asks answers of a memory as large as it gets."""
    said = {"index": 0, "role": "user", "text": text, "sent_at": "2026-01-05T08:00:00Z"}
    fact = FACT | {"statement": text}
    whole = fact | {"provenance": [SAID | {"quote": text}] * 20 + [SAID] * 2_000, "changes": [CHANGED] * 2_000}
    turn = {"index": 0, "sent_at": said["sent_at"]}
    result = {"kind": "turn", "score": 0.7, "text": text, "before": said, "after": said, "turn": turn}
    return {
        "POST /v1/search": {"results": [result | {"conversation_id": "c-" * 128}] * 20, "empty": None},
        "GET /v1/context": {"status": "made", "prompt": text},
        "GET /v1/conversations/c/window": {"messages": [said] * 20},
        "GET /v1/conversations/c": {"messages": [said | {"content": text}] * 20, "total": 5_000},
        "GET /v1/facts/f": whole,
        "GET /v1/facts": {"facts": [fact] * 20 + [FACT] * 500, "next": None, "known": True},
        "GET /v1/session": {"user_id": "ada"},
        "GET /v1/progress": {"state": "extracted"},
        "POST /v1/messages": {"messages": [{"message_id": "m", "position": "3:1842"}]},
        "POST /v1/facts/f/correct": {"instead": "f-2", "statement": text, "ends": False},
        "DELETE /v1/facts/f": {},
    }


#: What a call of any tool may be given; a tool with a parameter of another name has it added here.
GIVEN = {
    "query": "where?",
    "search_type": "both",
    "limit": 50,
    "conversation_id": "c",
    "first": 0,
    "last": 0,
    "turns": 50,
    "fact_id": "f",
    "cursor": "f",
    "text": "I like tea.",
}


def as_read(answer: Any) -> int:
    """The tokens of the longer form of an answer: assistants read either."""
    structured = json.dumps(answer.structured_content, indent=2, ensure_ascii=False)
    return max(map(COUNT, ["".join(each.text for each in answer.content), structured]))


@pytest.mark.parametrize(
    "text",
    ["We talked. " * 4_000, "bergamot" * 4_000, '"' * 40_000, "\U00012000" * 9_000],
    ids=["sentences", "one word", "escaped", "four tokens a character"],
)
async def test_no_answer_of_any_tool_is_longer_than_its_budget(api: Api, text: str) -> None:
    api.answers = {what: (200, told) for what, told in largest(text).items()}
    async with connected() as client:
        for tool in (await client.list_tools()).tools:
            given = {name: GIVEN[name] for name in tool.input_schema["properties"]}
            answer = await client.call_tool(tool.name, given)
            assert not answer.is_error, (tool.name, answer.content)
            assert as_read(answer) <= MOST_TOKENS, tool.name
            shown = [each for each in answer.structured_content.values() if isinstance(each, list)]
            assert all(shown), f"{tool.name} shows something, however large each is"
        for template in (await client.list_resource_templates()).resource_templates:
            uri = template.uri_template.replace("{user_id}", "ada").replace("{conversation_id}", "c")
            [read] = (await client.read_resource(uri)).contents
            assert COUNT(read.text) <= MOST_TOKENS, uri  # type: ignore[union-attr]
