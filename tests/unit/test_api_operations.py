"""How operations are declared and described, and what each of them gets for it: checks, problems, schemas."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import httpx
import msgspec
import pytest
from structlog.testing import capture_logs

from models.errors import ConfigurationError, NotFound
from models.messages import Identifier
from streams.server.api import tracing
from streams.server.api.app import create_api
from streams.server.api.dispatch import MOST_BYTES
from streams.server.api.operations import Call, Parameters, Scope, operation
from streams.server.api.parts import Parts
from streams.server.api.problems import CONFLICT
from streams.server.api.server import serve


class EchoParameters(Parameters, frozen=True, kw_only=True):
    thing_id: str
    times: int = 1


class BrokenParameters(Parameters, frozen=True, kw_only=True):
    how: str


class Body(msgspec.Struct, frozen=True):
    text: Identifier
    deep: Any = None


class Echo(msgspec.Struct, frozen=True):
    """What was sent."""

    thing_id: str
    text: str = ""
    times: int = 0


@operation("GET", "/v1/things/{thing_id}", scope=Scope.READ, example={"thing_id": "t", "times": 2})
async def get_thing(call: Call, wanted: EchoParameters) -> Echo:
    """A thing.

    Whatever it is.
    """
    return Echo(wanted.thing_id, "x" * 3000 if wanted.times > 9 else "", wanted.times)


@operation(
    "POST",
    "/v1/things/{thing_id}",
    scope=Scope.WRITE,
    example={"thing_id": "t"},
    example_body={"text": "hello"},
    problems=[CONFLICT],
    status=202,
)
async def put_thing(call: Call, wanted: EchoParameters, body: Body) -> Echo:
    """Make a thing."""
    return Echo(wanted.thing_id, body.text)


@operation("GET", "/v1/search-of-nothing", scope=Scope.READ)
async def needs_a_part(call: Call) -> Echo:
    """Needs what is not there."""
    call.part("search")
    return Echo("")


@operation("GET", "/v1/broken/{how}", scope=Scope.READ)
async def broken(call: Call, wanted: BrokenParameters) -> Echo:
    """Fails for what whoever runs the deployment did, or did not."""
    raise {
        "right": ConfigurationError("the user has no right to write"),
        "topic": NotFound("there is no topic"),
    }[wanted.how]


HERE = [get_thing, put_thing, needs_a_part, broken]


@pytest.fixture
async def client() -> AsyncIterator[httpx.AsyncClient]:
    app = create_api(Parts(), operations=HERE)
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost") as made:
        yield made


@pytest.mark.parametrize("thing", ["a", "a/b", "..", "%", "a%2Fb", "ä ö\n", "a?b#c"])
async def test_an_id_in_the_path_may_hold_anything(client: httpx.AsyncClient, thing: str) -> None:
    encoded = "".join(f"%{byte:02X}" for byte in thing.encode())
    assert (await client.get(f"/v1/things/{encoded}")).json()["thing_id"] == thing


async def test_a_refusal_s_trace_id_is_in_the_log(client: httpx.AsyncClient) -> None:
    with capture_logs() as told:
        answer = await client.get("/v1/things/t?canary=canary")
    assert answer.status_code == 400 and "canary" in answer.json()["detail"]
    [line] = [each for each in told if each.get("trace_id") == answer.json()["trace_id"]]
    assert line["log_level"] == "debug"
    assert (line["kind"], line["method"], line["path"]) == ("invalid-request", "GET", "/v1/things/t")
    assert "canary" not in str(told)


JSON = {"content-type": "application/json"}


def check_problem(answer: httpx.Response, status: int, name: str, said: str) -> None:
    told = answer.json()
    assert (answer.status_code, told["type"]) == (status, f"urn:switchboard:problem:{name}"), answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    assert said in told["detail"]
    assert told["advice"] and told["title"] and told["instance"] == answer.request.url.path
    if status == 405:
        assert answer.headers["allow"] == "GET, HEAD, POST"


@pytest.mark.parametrize(
    ("method", "path", "status", "name", "said"),
    [
        ("GET", "/v2", 404, "no-such-path", "/v1/openapi.json"),
        ("DELETE", "/v1/things/t", 405, "method-not-allowed", "GET or HEAD or POST"),
        ("GET", "/v1/things/t?thing_id=u", 400, "invalid-request", "in the path"),
        ("GET", "/v1/search-of-nothing", 503, "dependency-unavailable", "search"),
    ],
)
async def test_what_is_wrong_is_a_problem_of_its_own(
    client: httpx.AsyncClient, method: str, path: str, status: int, name: str, said: str
) -> None:
    check_problem(await client.request(method, path), status, name, said)


@pytest.mark.parametrize(
    ("body", "charset", "status", "name", "said"),
    [
        (b'{"text":"x"}', "latin-1", 415, "not-json", "UTF-8"),
        (b'{"text":"\xff"}', "utf-8", 400, "invalid-request", ""),
        (
            b'{"text":"x","deep":' + b"[" * 9_999 + b"]" * 9_999 + b"}",
            "utf-8",
            400,
            "invalid-request",
            "nested",
        ),
        (b'{"text":"' + b"x" * MOST_BYTES + b'"}', "utf-8", 413, "too-large", "1,048,576 bytes"),
    ],
)
async def test_a_wrong_body_is_a_problem_of_its_own(
    client: httpx.AsyncClient, body: bytes, charset: str, status: int, name: str, said: str
) -> None:
    headers = {"content-type": f"application/json; charset={charset}"}
    check_problem(await client.post("/v1/things/t", content=body, headers=headers), status, name, said)


async def test_a_body_without_an_announced_length_is_bounded_too(client: httpx.AsyncClient) -> None:
    async def pieces() -> AsyncIterator[bytes]:
        for _ in range(20):
            yield b"x" * (MOST_BYTES // 10)

    answer = await client.post("/v1/things/t", content=pieces(), headers=JSON)
    assert answer.status_code == 413


async def test_what_is_right_is_answered(client: httpx.AsyncClient) -> None:
    answer = await client.post("/v1/things/t", content=b'{"text":"hello"}', headers=JSON)
    assert (answer.status_code, answer.json()["text"]) == (202, "hello")
    assert (await client.head("/v1/things/t")).status_code == 200
    for accept in ("*/*", "application/*", "text/html, application/json;q=0.1"):
        assert (await client.get("/v1/things/t", headers={"accept": accept})).status_code == 200
    assert "content-encoding" not in (await client.get("/v1/things/t")).headers
    assert (await client.get("/v1/things/t?times=10")).headers["content-encoding"] == "gzip"


async def test_headers_that_are_too_long_and_what_is_no_http() -> None:
    server = await serve(create_api(Parts()), "127.0.0.1", 0)
    for sent, status, name in (
        (b"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + b"x" * 100_000, 431, "headers-too-large"),
        (b"\x16\x03\x01 nothing like it\r\n\r\n", 400, "malformed-http"),
    ):
        async with asyncio.timeout(60):
            reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
            writer.write(sent)
            head, _, body = (await reader.read()).partition(b"\r\n\r\n")
            writer.close()
        assert int(head.split()[1]) == status
        assert msgspec.json.decode(body)["type"] == f"urn:switchboard:problem:{name}"
    await server.stop()


async def test_each_operation_is_a_span_of_the_callers_trace(
    client: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    kept = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(kept))
    monkeypatch.setattr(tracing, "_tracer", None)
    tracing.collect(provider)
    own = "4bf92f3577b34da6a3ce929d0e0e4736"
    await client.get("/v1/things/t", headers={"traceparent": f"00-{own}-00f067aa0ba902b7-01"})
    (found,) = kept.get_finished_spans()
    assert (found.name, f"{found.context.trace_id:032x}") == ("get_thing", own)
    kept.clear()
    for path, status, is_ours in (("/v1/things/t?canary=canary", 400, False), ("/v1/broken/right", 503, True)):
        assert (await client.get(path)).status_code == status
        (found,) = kept.get_finished_spans()
        assert found.attributes is not None and found.attributes["error.type"]
        assert found.status.is_ok is not is_ours
        assert "canary" not in found.to_json() and "no right to write" not in found.to_json()
        kept.clear()
