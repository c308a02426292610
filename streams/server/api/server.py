"""Runs an app inside an event loop that already runs a service."""

from __future__ import annotations

import asyncio
import errno
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from math import ceil

import structlog
import uvicorn
from starlette.types import ASGIApp

from models.errors import ConfigurationError
from streams.server.api.connection import Connection

log = structlog.get_logger("streams.server.api")

_START_SECONDS = 30.0


class _QuietServer(uvicorn.Server):
    """A uvicorn server that leaves the process's signals alone: they belong to the worker."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


class ApiServer:
    """A server that accepts requests.  Made by :func:`serve`."""

    def __init__(
        self,
        server: uvicorn.Server,
        task: asyncio.Task[None],
        host: str,
        port: int,
        stopping: asyncio.Event,
    ) -> None:
        self._server = server
        self._task = task
        self._stopping = stopping
        self.host = host
        self.port = port

    @property
    def url(self) -> str:
        """Where it listens, as a URL without a path."""
        return f"http://[{self.host}]:{self.port}" if ":" in self.host else f"http://{self.host}:{self.port}"

    async def stop(self, grace_seconds: float = 3.0) -> None:
        """Accept nothing more, let running requests end, and cut off those that take too long.

        Streams, which have no end of their own, are told by the event that the app was made with.
        Returns after ``grace_seconds`` and a moment at the latest.  May be called twice.
        """
        self._server.config.timeout_graceful_shutdown = max(1, round(grace_seconds))
        self._stopping.set()
        self._server.should_exit = True
        _, running = await asyncio.wait([self._task], timeout=grace_seconds + 1.0)
        if running:
            log.warning("the API did not stop in time and is cut off")
            self._server.force_exit = True
            self._task.cancel()
            await asyncio.wait([self._task], timeout=1.0)


async def serve(
    app: ASGIApp,
    host: str,
    port: int,
    connection: type[Connection] = Connection,
    stopping: asyncio.Event | None = None,
) -> ApiServer:
    """Serve ``app`` in the background until :meth:`ApiServer.stop`; ``port`` 0 takes any free one.

    ``stopping`` is set when it stops, before it waits for what runs.  ``connection`` says how long a request
    may take to arrive, and how many connections there may be.  It installs no signal handlers and does not
    touch the configuration of logging.

    Raises:
        ConfigurationError: the address cannot be listened on.
    """
    listener = _listen(host, port)
    config = uvicorn.Config(
        app,
        http=connection,
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=ceil(connection.idle_seconds),
    )
    server = _QuietServer(config)
    task = asyncio.create_task(server.serve(sockets=[listener]), name="http-api")
    try:
        async with asyncio.timeout(_START_SECONDS):
            while not server.started:
                if task.done():
                    task.result()
                    raise RuntimeError("the HTTP server ended before it had started")
                await asyncio.sleep(0.01)
    except BaseException:  # cancelled too: the port must not stay taken
        task.cancel()
        listener.close()
        raise
    return ApiServer(server, task, host, listener.getsockname()[1], stopping or asyncio.Event())


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        made = socket.create_server((host, port), family=family, backlog=128)
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise ConfigurationError(
                f"port {port} on {host} is in use, so the HTTP API cannot listen there: stop what uses it, or "
                "set SWITCHBOARD_API_PORT to another port (0: any free one)"
            ) from error
        if error.errno == errno.EACCES:
            raise ConfigurationError(
                f"this user may not listen on port {port}: set SWITCHBOARD_API_PORT to one from 1024 on"
            ) from error
        raise ConfigurationError(
            f"the HTTP API cannot listen on {host}: {error.strerror or error}. Set SWITCHBOARD_API_HOST to an "
            "address of this machine, such as 127.0.0.1"
        ) from error
    # create_server leaves the protocol at 0, accepted sockets inherit it, and asyncio turns Nagle's algorithm
    # off for IPPROTO_TCP only: every answer on a kept connection would wait 40 ms for an acknowledgement.
    listener = socket.socket(fileno=made.detach())  # asks the kernel what it is
    listener.setblocking(False)
    return listener
