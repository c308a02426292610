"""A chat in the terminal whose server goes away."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
from typing import Any

import httpx
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from models.errors import DependencyUnavailable
from streams.api.server import serve
from streams.cli import chat
from streams.settings import load_settings

_EVENT = b'event: turn\ndata: {"turn_id": "t-1"}\n\n'
_TURN = (
    b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
    b"%x\r\n%b\r\n" % (len(_EVENT), _EVENT)
)


async def test_a_server_that_goes_while_it_is_told_to_stop_is_named_and_nothing_is_left_behind() -> None:
    streams: list[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked = await reader.readuntil(b"\r\n")
        if b"/stop " not in asked:
            streams.append((reader, writer))
            writer.write(_TURN)
            return
        for _, each in (*streams, (reader, writer)):
            each.transport.abort()

    shown: list[str] = []
    unseen: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: unseen.append(context))
    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    async with server, httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", trust_env=False) as client:

        def show(name: str, told: Any) -> None:
            shown.append(name)
            os.kill(os.getpid(), signal.SIGINT)

        with pytest.raises(DependencyUnavailable, match="broke off"):
            async with asyncio.timeout(60):
                await chat._turn(client, "c-1", {"user_id": "ada"}, "Hello", show)
    async with asyncio.timeout(60):
        while others := asyncio.all_tasks() - {asyncio.current_task()}:
            await asyncio.wait(others)
    del others
    gc.collect()
    assert shown == ["turn"]
    assert not unseen


async def test_who_leaves_a_conversation_closes_it(capsys: pytest.CaptureFixture[str]) -> None:
    asked: list[str] = []

    async def turn(request: Request) -> Response:
        asked.append("turn")
        return Response(_EVENT + b'event: text\ndata: {"text": "Noted."}\n\n', media_type="text/event-stream")

    async def close(request: Request) -> Response:
        asked.append(f"close {request.path_params['name']} {dict(request.query_params)}")
        return JSONResponse({}, 202)

    routes = [
        Route("/v1/conversations/{name}/turns", turn, methods=["POST"]),
        Route("/v1/conversations/{name}/close", close, methods=["POST"]),
    ]
    server = await serve(Starlette(routes=routes), "127.0.0.1", 0)
    settings, who = load_settings(api_port=server.port, topic_prefix=""), {"user_id": "ada", "tenant_id": "t"}
    await chat._talk(settings, "c-1", who, ["Hello", "And now?"], False)
    await chat._talk(settings, "c-1", who, [], False)
    await server.stop()
    assert asked == ["turn", "turn", f"close c-1 {who}"], "who said nothing closes nothing"
    assert capsys.readouterr().out.count("Noted.") == 2
