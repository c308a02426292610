"""``/metrics``, ``/healthz`` and ``/readyz`` from a thread of their own.

The thread answers even when the event loop hangs, which is when the answer matters most:

* ``/healthz`` is 503 when the loop has not called :meth:`.health.HealthState.beat` for
  ``hang_timeout_seconds``, when a step in a thread has not ended for as long, or when the worker said that it
  stops.  Restart it.
* ``/readyz`` is 503 while anything keeps the worker from its work ("recovering state: 12,000 of 370,000
  records", "waiting for qdrant for 12 s").  Leave it alone.

Both answer JSON: ``{"status": "ok" | "standby" | "unavailable", "reasons": [...], "details": {...}}``.  A
standby worker is ready and has no partitions: it takes over when another one goes.
"""

from __future__ import annotations

import errno
import json
import socket
import socketserver
import threading
import time
from contextlib import suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any
from urllib.parse import urlsplit

from prometheus_client import CollectorRegistry
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest

from models.errors import ConfigurationError
from streams.config.redaction import redacted
from streams.telemetry.health import HealthState

#: What one client may cost: a thread each, for as long as its request and the answer take.
_REQUEST_SECONDS = 10.0
_MOST_CONNECTIONS = 64


class HealthServer:
    """Serves one worker's metrics and health until closed.  A context manager.

    ``port`` 0 takes any free one; :attr:`port` tells which.  Raises :class:`ConfigurationError` when the
    port is taken or not allowed.
    """

    def __init__(
        self, port: int, registry: CollectorRegistry, state: HealthState, host: str = "127.0.0.1"
    ) -> None:
        self._server = _bind(host, port, _handler(registry, state))
        self.host = host
        self.port: int = self._server.server_address[1]
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.1}, name="health", daemon=True
        )
        self._thread.start()

    def close(self) -> None:
        """Stop answering and free the port."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(timeout=5)

    def __enter__(self) -> HealthServer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    #: From the connection to the end of the answer (seconds), and how many there may be at once.
    request_seconds = _REQUEST_SECONDS
    most_connections = _MOST_CONNECTIONS

    def __init__(self, address: tuple[str, int], handler: type[BaseHTTPRequestHandler]) -> None:
        self._since: dict[socket.socket, float] = {}
        super().__init__(address, handler)

    def server_bind(self) -> None:
        # HTTPServer.server_bind asks DNS for the machine's name, which can take seconds and is never used
        socketserver.TCPServer.server_bind(self)
        self.server_name, self.server_port = "switchboard", self.server_address[1]

    def verify_request(self, request: Any, client_address: object) -> bool:
        """Turn away whoever comes when too many are here."""
        if len(self._since) >= self.most_connections:
            return False
        self._since[request] = time.monotonic()
        return True

    def service_actions(self) -> None:
        """End what takes too long.  A time-out per read would let a client go on, a byte at a time."""
        latest = time.monotonic() - self.request_seconds
        for request, since in list(self._since.items()):
            if since < latest:
                self._since.pop(request, None)  # first: who hears that it is over may come again
                with suppress(OSError):  # it has just ended by itself
                    request.shutdown(socket.SHUT_RDWR)

    def shutdown_request(self, request: Any) -> None:
        self._since.pop(request, None)
        super().shutdown_request(request)

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that went away in the middle of its request is no news."""


def _bind(host: str, port: int, handler: type[BaseHTTPRequestHandler]) -> _Server:
    try:
        return _Server((host, port), handler)
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            why = "is taken by another process"
        elif error.errno == errno.EACCES:
            why = "is not allowed for this user"
        else:
            why = f"cannot be opened ({error.strerror or error})"
        raise ConfigurationError(
            f"{host}:{port}, the port for metrics and health, {why}: "
            "set SWITCHBOARD_METRICS_PORT to a free one, or to 0 for any"
        ) from error


def _handler(registry: CollectorRegistry, state: HealthState) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        disable_nagle_algorithm = True  # headers and body are written apart

        def do_GET(self) -> None:
            path = urlsplit(self.path).path
            if path == "/metrics":
                self._answer(HTTPStatus.OK, CONTENT_TYPE_LATEST, generate_latest(registry))
            elif path == "/healthz":
                self._report(state.why_unhealthy())
            elif path == "/readyz":
                self._report(state.why_not_ready())
            else:
                self._answer(HTTPStatus.NOT_FOUND, "text/plain", b"/metrics, /healthz or /readyz\n")

        def _report(self, reasons: list[str]) -> None:
            status = HTTPStatus.SERVICE_UNAVAILABLE if reasons else HTTPStatus.OK
            body = {
                "status": "unavailable" if reasons else "standby" if state.is_standby else "ok",
                "reasons": [redacted(reason) for reason in reasons],
                "details": state.details(),
            }
            self._answer(status, "application/json", json.dumps(body).encode() + b"\n")

        def _answer(self, status: HTTPStatus, content_type: str, body: bytes) -> None:
            self.send_response(status)
            self.send_header("Content-Type", content_type)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """A line per scrape would drown everything else."""

    return Handler
