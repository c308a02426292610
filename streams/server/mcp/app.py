"""MCP at ``/mcp`` of ``switchboard serve``: who may ask, and the app that answers, made when somebody asks."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace

import httpx
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from processors.text.tokens import TokenCounter
from streams.config.background import cancel_and_wait, in_background
from streams.server.api.access import Access
from streams.server.api.app import Mounted, create_api
from streams.server.api.dispatch import check_accept, check_json, read_body
from streams.server.api.limits import Limits
from streams.server.api.operations import JSON
from streams.server.api.parts import Parts
from streams.server.api.problems import FOREIGN_ORIGIN, METHOD_NOT_ALLOWED, Problem

PATH = "/mcp"

#: An app, and what is entered for as long as it answers.
_Made = tuple[ASGIApp, Callable[[], AbstractAsyncContextManager[None]]]


def mounted(parts: Parts, access: Access, count: TokenCounter) -> Mounted:
    """Return the app that answers at ``/mcp``.

    Each tool asks the API in process with the caller's own token, so what that may not, no tool does.  A call
    counts once against the token's limit, however often its tool asks.
    """
    within = replace(access, limits=Limits())
    transport = httpx.ASGITransport(create_api(parts, within), raise_app_exceptions=False)
    # Within the process nothing is gained by an answer that is made small.
    plain = {"accept-encoding": "identity"}
    client = httpx.AsyncClient(transport=transport, base_url="http://localhost", headers=plain)

    def make() -> _Made:
        # The SDK is a quarter of what a start of `serve` would cost; many a one is never asked over MCP.
        from streams.server.mcp.serving import create_app

        return create_app(client, count, PATH)

    app = _WhenAsked(make)
    return Mounted(PATH, _Guarded(app, access), running=app.running)


class _WhenAsked:
    """An app that is made, in a thread, when it is first asked.

    What it runs in is entered and left by one task, as task groups want it, whose end is the server's.
    """

    def __init__(self, make: Callable[[], _Made]) -> None:
        self._make = make
        self._asked = asyncio.Event()
        self._ready = asyncio.Event()
        self._app: ASGIApp | None = None

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Answer, from now on, until left."""
        task = in_background(self._run(), "mcp")
        try:
            yield
        finally:
            await cancel_and_wait(task)

    async def _run(self) -> None:
        await self._asked.wait()
        try:
            app, running = await asyncio.to_thread(self._make)
            async with running():
                self._app = app
                self._ready.set()
                await asyncio.Event().wait()  # until cancelled
        finally:
            # Whoever waits is told that there is none, rather than never anything.
            self._app = None
            self._ready.set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self._asked.set()
        await self._ready.wait()
        if self._app is None:
            raise RuntimeError("the app for MCP is not running: it could not be made, or the server stops")
        await self._app(scope, receive, send)


class _Guarded:
    """Lets in who may ask, no page of another site, and no more than any operation takes."""

    def __init__(self, app: ASGIApp, access: Access) -> None:
        self._app = app
        self._access = access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        if request.method != "POST":  # without sessions a stream would carry nothing, and have no end
            raise Problem(METHOD_NOT_ALLOWED, "Every message of MCP is a POST here.", {"allow": "POST"})
        origin = request.headers.get("origin", "")
        if origin and origin.partition("://")[2].lower() != request.headers.get("host", "").lower():
            raise Problem(FOREIGN_ORIGIN, "A page of another site may not ask the memory.")
        self._access.caller(request)
        check_accept(request, JSON)
        check_json(request, "A message of MCP is a JSON-RPC request")
        body = await read_body(request)
        whole: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

        async def again() -> Message:
            return whole.pop() if whole else await receive()

        await self._app({**scope, "path": PATH, "raw_path": PATH.encode(), "root_path": ""}, again, send)
