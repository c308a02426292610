"""The client: one suite for the blocking and the awaited one, against a server of this machine."""

from __future__ import annotations

import asyncio
import inspect
import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from switchboard_client import AsyncSwitchboard, Message, Switchboard, errors
from switchboard_client.core import EventReader, Policy

from streams.server.api import problems

FACT = {
    "fact_id": "f-1",
    "user_id": "ada",
    "kind": "state",
    "statement": "Lives in Lisbon",
    "confidence": 0.9,
    "status": "active",
    "changes": [
        {"version": 2, "change": "reinforced", "at": "2026-01-06T08:00:00Z", "confidence_after": 0.9},
        {"version": 1, "change": "created", "at": "2026-01-05T08:00:00Z", "confidence_after": 0.8},
    ],
    "of_a_later_version": {"x": 1},
}
QUICK = Policy(attempts=3, first_wait=0.001, longest_wait=1.0)

#: What a server does with a request: status, headers and body; ``None`` closes the connection.
Answer = tuple[int, dict[str, str], bytes] | None


class Server:
    """Answers what it is told to, in order, and remembers what it was asked."""

    def __init__(self) -> None:
        self.answers: list[Answer] = []
        self.asked: list[tuple[str, str, dict[str, str], bytes]] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def handle_one(self) -> None:
                body = self.rfile.read(int(self.headers.get("content-length", 0)))
                sent = {name.lower(): value for name, value in self.headers.items()}
                outer.asked.append((self.command, self.path, sent, body))
                answer = outer.answers.pop(0)
                if answer is None:
                    self.close_connection = True
                    return
                status, headers, content = answer
                self.send_response(status)
                cut = headers.pop("cut", "")
                for name, value in headers.items():
                    self.send_header(name, value)
                self.send_header("content-length", str(len(content) + (100 if cut else 0)))
                self.end_headers()
                self.wfile.write(content)
                self.close_connection = bool(cut)

            do_GET = do_POST = do_DELETE = handle_one

            def log_message(self, *_: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


def ok(body: Any) -> Answer:
    return 200, {"content-type": "application/json"}, json.dumps(body).encode()


def refused(kind: problems.Kind, **headers: str) -> Answer:
    body = {"type": kind.type, "status": kind.status, "detail": "why", "advice": kind.advice, "part": "kafka"}
    return int(kind.status), headers, json.dumps(body).encode()


@pytest.fixture
def server() -> Iterator[Server]:
    running = Server()
    yield running
    running.close()
    assert running.answers == []


def blocking(url: str, method: str, *given: Any, **options: Any) -> Any:
    with Switchboard(url, user_id="ada", token="sb_1", policy=QUICK) as memory:
        came = getattr(memory, method)(*given, **options)
        return list(came) if inspect.isgenerator(came) else came


def awaited(url: str, method: str, *given: Any, **options: Any) -> Any:
    async def go() -> Any:
        async with AsyncSwitchboard(url, user_id="ada", token="sb_1", policy=QUICK) as memory:
            came = getattr(memory, method)(*given, **options)
            return [each async for each in came] if inspect.isasyncgen(came) else await came

    return asyncio.run(go())


Ask = Callable[..., Any]


@pytest.fixture(params=[blocking, awaited])
def ask(request: pytest.FixtureRequest) -> Ask:
    found: Ask = request.param
    return found


def test_a_search(ask: Ask, server: Server) -> None:
    result = {"kind": "fact", "score": 0.7, "text": "Lives in Lisbon", "message_ids": ["m-1"], "fact": FACT}
    server.answers = [
        ok({"query": "where?", "user_id": "ada", "results": [result], "known": True, "empty": None})
    ]
    found = ask(server.url, "search", "where? &=ü", limit=3)
    assert (found.results[0].fact.statement, found.results[0].score) == ("Lives in Lisbon", 0.7)
    [(method, path, headers, body)] = server.asked
    assert (method, path) == ("POST", "/v1/search"), "what somebody asks is in no address"
    asked = {"user_id": "ada", "q": "where? &=ü", "search_type": "both", "limit": 3}
    assert json.loads(body) == asked
    assert headers["authorization"] == "Bearer sb_1"


def test_a_fact_its_history_and_a_context(ask: Ask, server: Server) -> None:
    server.answers = [
        ok(FACT),
        ok(FACT),
        ok({"status": "made", "conversation_id": "c", "user_id": "ada", "prompt": "p"}),
    ]
    assert ask(server.url, "fact", "a/../b").fact_id == "f-1"
    assert server.asked[0][1] == "/v1/facts/a%2F..%2Fb?user_id=ada"
    assert [change.version for change in ask(server.url, "history", "f-1")] == [1, 2]
    assert ask(server.url, "context", "c").prompt == "p"


def test_the_latest_messages_of_a_conversation_and_forgetting_it(ask: Ask, server: Server) -> None:
    said = [
        {"message_id": f"m-{n}", "role": "user", "content": f"line {n}", "sent_at": "2026-03-01T09:15:12Z"}
        for n in (2, 1)
    ]
    server.answers = [ok({"messages": said, "next": "n-1", "total": 7}), ok({"user_id": ""})]
    assert [each.message_id for each in ask(server.url, "messages", "a/b", limit=2)] == ["m-1", "m-2"]
    ask(server.url, "forget_conversation", "a/b")
    assert [(method, path) for method, path, _, _ in server.asked] == [
        ("GET", "/v1/conversations/a%2Fb?user_id=ada&order=newest&limit=2"),
        ("DELETE", "/v1/conversations/a%2Fb"),
    ]


def test_a_retry_after_a_broken_connection_has_one_key(ask: Ask, server: Server) -> None:
    accepted = {"messages": [{"message_id": "m-1", "partition": 3, "offset": 1842}]}
    server.answers = [None, refused(problems.UNAVAILABLE), ok(accepted)]
    added = ask(server.url, "add", [Message(conversation_id="c-1", content="hi")])
    assert added.messages[0].position == "3:1842"
    assert len({headers["idempotency-key"] for _, _, headers, _ in server.asked}) == 1
    body = json.loads(server.asked[0][3])
    assert body == {
        "user_id": "ada",
        "messages": [{"conversation_id": "c-1", "content": "hi", "role": "user"}],
    }


@pytest.mark.parametrize(
    ("kind", "error"),
    [
        (problems.INVALID_REQUEST, errors.InvalidRequest),
        (problems.TOKEN_NEEDED, errors.NotAuthenticated),
        (problems.NOT_ALLOWED, errors.NotAllowed),
        (problems.UNKNOWN_FACT, errors.NotFound),
        (problems.CONFLICT, errors.Conflict),
        (problems.INTERNAL_ERROR, errors.Problem),
    ],
)
def test_problems_are_errors_by_their_type(ask: Ask, server: Server, kind: problems.Kind, error: type) -> None:
    server.answers = [refused(kind)]
    with pytest.raises(errors.Problem) as raised:
        ask(server.url, "fact", "f-1")
    assert type(raised.value) is error
    assert (raised.value.type, raised.value.detail, raised.value.advice) == (kind.type, "why", kind.advice)


def test_what_is_throttled_waits_and_gives_up_in_the_end(ask: Ask, server: Server) -> None:
    server.answers = [refused(problems.TOO_MANY_REQUESTS, **{"retry-after": "0"})] * 2 + [ok(FACT)]
    assert ask(server.url, "fact", "f-1").fact_id == "f-1"
    server.answers = [refused(problems.UNAVAILABLE)] * 3
    with pytest.raises(errors.Unavailable) as raised:
        ask(server.url, "fact", "f-1")
    assert raised.value.part == "kafka"
    server.answers = [refused(problems.TOO_MANY_REQUESTS, **{"retry-after": "3600"})]
    with pytest.raises(errors.TooManyRequests) as throttled:  # nobody waits an hour in a call
        ask(server.url, "fact", "f-1")
    assert throttled.value.retry_after == 3600


def events(*told: tuple[int, str, Any]) -> bytes:
    return "".join(f"id: {n}\nevent: {kind}\ndata: {json.dumps(data)}\n\n" for n, kind, data in told).encode()


def test_a_stream_is_taken_up_where_it_broke_off(ask: Ask, server: Server) -> None:
    kind = {"content-type": "text/event-stream"}
    first = events((1, "turn", {"turn_id": "t-1"}), (2, "text", {"text": "Hel"})) + b"id: 3\ndata: {"
    server.answers = [
        None,
        (200, kind | {"cut": "yes"}, first),
        (200, dict(kind), b"event: bye\ndata: {}\n\n"),
        (200, dict(kind), events((3, "text", {"text": "lo"}), (4, "end", {"status": "answered"}))),
    ]
    came = ask(server.url, "turn", "c/1", "Hello?")
    assert [(each.id, each.kind) for each in came] == [
        ("1", "turn"),
        ("2", "text"),
        ("3", "text"),
        ("4", "end"),
    ]
    said, again, *rest = server.asked
    assert said[:2] == ("POST", "/v1/conversations/c%2F1/turns")
    turn_id = json.loads(said[3])["turn_id"]
    assert json.loads(again[3])["turn_id"] == turn_id  # the same turn: said once
    assert {path for _, path, _, _ in rest} == {f"/v1/turns/{turn_id}/events?user_id=ada&conversation_id=c%2F1"}
    assert rest[0][2]["last-event-id"] == "2"


def test_events_do_not_depend_on_the_pieces() -> None:
    told = b": hello\r\nretry: 5\r\n\r\nid: 1\r\nevent: a\r\ndata: x\r\ndata: y\r\n\r\n" + events(
        (2, "b", "\u00fc")
    )
    for size in (1, 2, 5, 1000):
        reader, found = EventReader(), []
        for at in range(0, len(told), size):
            found += reader.feed(told[at : at + size])
        assert found == [("1", "a", "x\ny"), ("2", "b", '"\\u00fc"')]
