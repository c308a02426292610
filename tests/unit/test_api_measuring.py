"""What is counted of requests: whoever answers, and nothing of what anybody said."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import httpx
import pytest
from prometheus_client import generate_latest
from starlette.responses import Response

from streams.queries.live.sse import EventStream, frame
from streams.server.api.app import create_api
from streams.server.api.catalog import OPERATIONS
from streams.server.api.connection import room
from streams.server.api.measuring import counted
from streams.server.api.operations import Call, Scope, operation
from streams.server.api.parts import Parts
from streams.server.api.server import serve
from streams.telemetry.metrics import Metrics


@operation("GET", "/v1/counted/{name}", scope=Scope.READ, media_type="text/event-stream", answer=str)
async def watch(call: Call) -> Response:
    """Goes on until the server stops."""

    async def events() -> AsyncIterator[bytes]:
        yield frame("ready", b"{}")
        await asyncio.Event().wait()

    async def close() -> None:
        pass

    return EventStream(events(), call.stopping, close)


@operation("GET", "/v1/mistaken", scope=Scope.READ)
async def mistaken(call: Call) -> str:
    """Fails."""
    return str(1 // 0)


def read(metrics: Metrics, name: str, **labels: str) -> float:
    return metrics.registry.get_sample_value(f"switchboard_{name}", labels) or 0.0


async def test_requests_are_counted_by_operation_and_status_alone() -> None:
    metrics = Metrics()
    app = create_api(Parts(), operations=[*OPERATIONS, mistaken], metrics=metrics)
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost") as client:
        who = {"user_id": "ada", "q": "canary"}
        for path, asked in (
            ("/v1/search", who),
            ("/v1/facts/canary", {"user_id": "ada"}),
            ("/canary", {}),
            ("/v1/openapi.json", {}),
        ):
            await client.get(path, params=asked)
        with pytest.raises(ZeroDivisionError):
            await client.get("/v1/mistaken")
        await client.post(
            "/v1/messages", content=b" " * (1 << 21), headers={"content-type": "application/json"}
        )
        await client.get("/", headers={"host": "canary.example"})
    for name, status, times in (
        ("search", "503", 1),
        ("get_fact", "503", 1),
        ("get_openapi", "200", 1),
        ("send_messages", "413", 1),
        ("mistaken", "500", 1),
        ("other", "404", 1),
        ("other", "421", 1),
    ):
        assert read(metrics, "http_requests_total", operation=name, status=status) == times, name
    assert read(metrics, "http_request_seconds_count", operation="search") == 1
    assert read(metrics, "http_refused_total", reason="too-large") == 1
    assert b"canary" not in generate_latest(metrics.registry)


async def test_a_thousand_open_streams_are_told_bye() -> None:
    metrics, stopping = Metrics(), asyncio.Event()
    app = create_api(Parts(), stopping=stopping, operations=[watch], metrics=metrics)
    assert room(2000) > 1000, "both ends of each are in this process"

    class Patient(counted(metrics)):  # type: ignore[misc]  # made at run time
        request_seconds = 600.0

    server = await serve(app, "127.0.0.1", 0, Patient, stopping)
    opened = []
    for _ in range(10):  # as many at once as may wait to be accepted
        opened += await asyncio.gather(*(asyncio.open_connection("127.0.0.1", server.port) for _ in range(100)))
    for _, writer in opened:
        writer.write(b"GET /v1/counted/1 HTTP/1.1\r\nHost: localhost\r\n\r\n")
    async with asyncio.timeout(60):
        while read(metrics, "http_open_streams") < len(opened):
            await asyncio.sleep(0.01)
        stopped = asyncio.create_task(server.stop(grace_seconds=600.0))
        bodies = await asyncio.gather(*(reader.read() for reader, _ in opened))
        await stopped
    assert all(b"event: bye" in body for body in bodies)
    assert read(metrics, "http_open_streams") == 0
    for _, writer in opened:
        writer.close()


async def test_open_streams_and_refused_connections_are_counted() -> None:
    metrics, stopping = Metrics(), asyncio.Event()
    app = create_api(Parts(), stopping=stopping, operations=[watch], metrics=metrics)

    class Small(counted(metrics)):  # type: ignore[misc]  # made at run time
        most_connections = 2

    server = await serve(app, "127.0.0.1", 0, Small, stopping)
    async with httpx.AsyncClient(base_url=server.url, trust_env=False, timeout=60) as client:
        async with client.stream("GET", "/v1/counted/1"), client.stream("GET", "/v1/counted/2"):
            assert read(metrics, "http_open_streams") == 2
            assert (await client.get("/v1/counted/3")).status_code == 503
            assert read(metrics, "http_refused_total", reason="too-many-connections") == 1
        async with asyncio.timeout(60):
            while read(metrics, "http_open_streams"):
                await asyncio.sleep(0.01)
    await server.stop()
    assert read(metrics, "http_requests_total", operation="watch", status="200") == 2
