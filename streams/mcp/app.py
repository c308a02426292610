"""MCP over Streamable HTTP, at ``/mcp`` of ``switchboard serve``: stateless, so that any of them answers."""

from __future__ import annotations

from typing import Any

import httpx
from mcp.server.mcpserver import Context
from mcp.server.transport_security import TransportSecuritySettings
from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from processors.text.tokens import TokenCounter
from streams.api.access import Access
from streams.api.app import Mounted, create_api
from streams.api.parts import Parts
from streams.api.problems import FOREIGN_ORIGIN, Problem
from streams.mcp.asking import Ask
from streams.mcp.tools import create_server

PATH = "/mcp"

#: What a call to the API takes over from the call that it is made for.
_KEPT = ("authorization", "traceparent", "tracestate")


def mounted(parts: Parts, access: Access, count: TokenCounter) -> Mounted:
    """Return the app that answers at ``/mcp``.

    Each tool asks the API in process with the caller's own token, so what that may not, no tool does.
    """
    transport = httpx.ASGITransport(create_api(parts, access), raise_app_exceptions=False)
    # Within the process nothing is gained by an answer that is made small.
    plain = {"accept-encoding": "identity"}
    client = httpx.AsyncClient(transport=transport, base_url="http://localhost", headers=plain)

    def asking(ctx: Context[Any, Any]) -> Ask:
        request = ctx.request_context.request
        if not isinstance(request, Request):
            return Ask(client, {}, "")
        headers = {name: request.headers[name] for name in _KEPT if name in request.headers}
        return Ask(client, headers, request.query_params.get("user_id", ""))

    server = create_server(asking, count)
    app = server.streamable_http_app(
        streamable_http_path=PATH,
        stateless_http=True,
        json_response=True,
        # `Host` is checked before anything else (streams.api.access), `Origin` below.
        transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),
    )
    return Mounted(PATH, _Guarded(app, access), running=server.session_manager.run)


class _Guarded:
    """Lets in who may ask, and no page of another site."""

    def __init__(self, app: ASGIApp, access: Access) -> None:
        self._app = app
        self._access = access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope)
        origin = request.headers.get("origin", "")
        if origin and origin.partition("://")[2].lower() != request.headers.get("host", "").lower():
            raise Problem(FOREIGN_ORIGIN, "A page of another site may not ask the memory.")
        self._access.caller(request)
        await self._app({**scope, "path": PATH, "raw_path": PATH.encode(), "root_path": ""}, receive, send)
