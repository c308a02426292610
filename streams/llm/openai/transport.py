"""Transport under the ``openai`` library: bounded responses, traces, and no key or account for strangers."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import httpx2

from streams.clients.cloudevents import traceparent
from streams.config.settings.endpoints import OPENAI_URL, Endpoint, origin
from streams.llm.bounded import bounded

#: Names of the account, which the library takes from the environment.
_ACCOUNT_HEADERS = ("openai-organization", "openai-project")


class _Bounded(httpx2.AsyncByteStream):
    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def __aiter__(self) -> AsyncIterator[bytes]:
        return bounded(self._stream)

    async def aclose(self) -> None:
        await self._stream.aclose()


class Transport(httpx2.AsyncHTTPTransport):
    """Bounds responses and passes traces on; sends a key and an account only where they belong."""

    def __init__(self, endpoint: Endpoint) -> None:
        limits = httpx2.Limits(max_connections=None, max_keepalive_connections=endpoint.connections)
        super().__init__(limits=limits)
        self._has_key = bool(endpoint.key.get_secret_value())
        self._is_openai = origin(endpoint.url) == origin(OPENAI_URL)

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send a request."""
        if trace := traceparent():
            request.headers["traceparent"] = trace
        if not self._has_key:
            request.headers.pop("authorization", None)
        for name in _ACCOUNT_HEADERS if not self._is_openai else ():
            request.headers.pop(name, None)
        response = await super().handle_async_request(request)
        response.stream = _Bounded(response.stream)
        return response
