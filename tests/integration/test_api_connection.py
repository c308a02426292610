"""Connections that cost a server more than their clients: half-sent, not read, too many; and Nagle."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from typing import Any

import httpx
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, StreamingResponse
from starlette.routing import Route

from streams.server.api.connection import Connection
from streams.server.api.server import ApiServer, serve

#: More than sockets buffer, on both sides together.
LONG = "x" * 32_000_000

_POST = b" HTTP/1.1\r\nHost: localhost\r\n"

HALF_SENT = {
    "nothing": b"",
    "half a header": b"GET / HTTP/1.1\r\nHost: localhost\r\nAcc",
    "half a body": b"POST /" + _POST + b"Content-Length: 100\r\n\r\nhalf",
    "half a body that is waited for": b"POST /read" + _POST + b"Content-Length: 100\r\n\r\nhalf",
    "an endless body": b"POST /" + _POST + b"Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n",
    "one request and half of the next": b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\nGET / HTTP/1.1\r\nHo",
}


class Hasty(Connection):
    """With less patience and less room than the real one, so that a test need not wait for it."""

    request_seconds = stalled_seconds = idle_seconds = 0.3
    most_connections = 20


class Small(Hasty):
    """With as little room, and the time to fill it on any machine."""

    request_seconds = stalled_seconds = idle_seconds = 60.0


async def short(_: Request) -> PlainTextResponse:
    return PlainTextResponse("here")


async def long(_: Request) -> PlainTextResponse:
    return PlainTextResponse(LONG)


async def read(request: Request) -> PlainTextResponse:
    return PlainTextResponse(str(len(await request.body())))


async def endless(_: Request) -> StreamingResponse:
    async def pieces() -> AsyncIterator[bytes]:
        while True:
            yield b"x" * 65_536
            await asyncio.sleep(0)  # what is sent to nobody waits for nobody

    return StreamingResponse(pieces())


def app() -> Starlette:
    methods = ["GET", "POST"]
    return Starlette(
        routes=[
            Route("/", short, methods=methods),
            Route("/long", long),
            Route("/endless", endless),
            Route("/read", read, methods=methods),
        ]
    )


@pytest.fixture
async def hasty() -> AsyncIterator[ApiServer]:
    server = await serve(app(), "127.0.0.1", 0, Hasty)
    yield server
    await server.stop()


def connections(server: ApiServer) -> set[Any]:
    return server._server.server_state.connections


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(30):
        while not condition():
            await asyncio.sleep(0.02)


@pytest.mark.parametrize("sent", HALF_SENT.values(), ids=HALF_SENT)
async def test_a_request_that_does_not_end_is_ended(hasty: ApiServer, sent: bytes) -> None:
    opened = [await asyncio.open_connection("127.0.0.1", hasty.port) for _ in range(10)]
    for _, writer in opened:
        writer.write(sent)
    async with asyncio.timeout(30):
        for reader, _ in opened:
            with suppress(ConnectionResetError):  # a cut is an end, too
                await reader.read()
    await until(lambda: not connections(hasty))
    for _, writer in opened:
        writer.close()


async def test_a_stream_that_is_not_read_is_ended(hasty: ApiServer) -> None:
    with socket.create_connection(("127.0.0.1", hasty.port)) as client:
        client.sendall(b"GET /endless HTTP/1.1\r\nHost: localhost\r\n\r\n")
        await until(lambda: bool(connections(hasty)))
        await until(lambda: not connections(hasty))


async def test_one_connection_too_many_is_refused_and_the_next_admitted() -> None:
    server = await serve(app(), "127.0.0.1", 0, Small)
    opened = [await asyncio.open_connection("127.0.0.1", server.port) for _ in range(Small.most_connections)]
    await until(lambda: len(connections(server)) == Small.most_connections)
    async with httpx.AsyncClient(base_url=server.url, trust_env=False, timeout=30) as client:
        refused = await client.get("/")
        assert refused.status_code == 503
        assert refused.headers["content-type"] == "application/problem+json"
        assert "connections" in refused.json()["detail"]
        for _, writer in opened:
            writer.close()
        await until(lambda: not connections(server))
        assert (await client.get("/")).text == "here"
    await server.stop()
