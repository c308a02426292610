"""Metrics of requests: by operation and status, how long an answer took to begin, open streams."""

from __future__ import annotations

import time
from collections.abc import MutableMapping
from http import HTTPStatus
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from streams.server.api.connection import MOST_CONNECTIONS, Connection
from streams.server.api.problems import TOO_LARGE, TOO_MANY_REQUESTS, Kind
from streams.telemetry.metrics import Metrics

#: Where a request says which operation it is of.
OPERATION = "switchboard.operation"

#: Where a request whose body was mended says how many halves of characters were replaced in contents.
REPLACED = "switchboard.replaced"

#: What answers where no operation does; paths are anybody's words and no labels.
_OTHER = "other"

_LIMITS = {kind.status.value: kind.name for kind in (TOO_LARGE, TOO_MANY_REQUESTS)}


class Measured:
    """Middleware: counts what is answered, whoever answers."""

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self._app = app
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began, started, streams = time.perf_counter(), False, False

        async def watched(message: Message) -> None:
            nonlocal started, streams
            if message["type"] == "http.response.start":
                started = True
                self._count(scope, message["status"], time.perf_counter() - began)
                streams = _streams(message)
                if streams:
                    self._metrics.http_open_streams.inc()
            await send(message)

        try:
            await self._app(scope, receive, watched)
        except Exception:  # counted here, and answered further out
            if not started:
                self._count(scope, HTTPStatus.INTERNAL_SERVER_ERROR.value, time.perf_counter() - began)
            raise
        finally:
            if streams:
                self._metrics.http_open_streams.dec()

    def _count(self, scope: MutableMapping[str, Any], status: int, seconds: float) -> None:
        name = scope.get(OPERATION, _OTHER)
        self._metrics.http_requests_total.labels(name, str(status)).inc()
        if replaced := scope.get(REPLACED, 0):
            self._metrics.message_characters_replaced_total.inc(replaced)
        self._metrics.http_request_seconds.labels(name).observe(seconds)
        if status in _LIMITS:
            self._metrics.http_refused_total.labels(_LIMITS[status]).inc()


def _streams(start: Message) -> bool:
    kinds = [value for name, value in start["headers"] if name.lower() == b"content-type"]
    return start["status"] == HTTPStatus.OK and any(kind.startswith(b"text/event-stream") for kind in kinds)


def counted(metrics: Metrics, most: int = MOST_CONNECTIONS) -> type[Connection]:
    """Return the connections of a server that has room for ``most`` and counts what they refuse."""

    class Counted(Connection):
        most_connections = most

        def refused(self, kind: Kind) -> None:
            metrics.http_refused_total.labels(kind.name).inc()

    return Counted
