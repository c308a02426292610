"""The app of the SDK that answers MCP over Streamable HTTP: stateless, so that any ``serve`` answers."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Any

import httpx
from mcp.server.mcpserver import Context
from mcp.server.transport_security import TransportSecuritySettings
from starlette.requests import Request
from starlette.types import ASGIApp

from processors.text.tokens import TokenCounter
from streams.server.mcp.asking import Ask
from streams.server.mcp.tools import create_server

#: What a call to the API takes over from the call that it is made for.
_KEPT = ("authorization", "traceparent", "tracestate")


def create_app(
    client: httpx.AsyncClient, count: TokenCounter, path: str
) -> tuple[ASGIApp, Callable[[], AbstractAsyncContextManager[None]]]:
    """Return the app that answers at ``path``, asking ``client``, and what is entered meanwhile."""

    def asking(ctx: Context[Any, Any]) -> Ask:
        request = ctx.request_context.request
        if not isinstance(request, Request):
            return Ask(client, {}, "")
        headers = {name: request.headers[name] for name in _KEPT if name in request.headers}
        return Ask(client, headers, request.query_params.get("user_id", ""))

    server = create_server(asking, count)
    app = server.streamable_http_app(
        streamable_http_path=path,
        stateless_http=True,
        json_response=True,
        # `Host` is checked before anything else (streams.server.api.access), `Origin` before this app is asked.
        transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),
    )
    return app, server.session_manager.run
