"""The application: operations, pages and whatever else is mounted, behind what holds for all of them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.routing import BaseRoute, Mount, Route
from starlette.types import ASGIApp

from streams.server.api.access import Access, KnownHosts
from streams.server.api.catalog import OPERATIONS
from streams.server.api.dispatch import routes
from streams.server.api.measuring import Measured
from streams.server.api.operations import Operation
from streams.server.api.parts import Parts
from streams.server.api.problems import HANDLERS
from streams.telemetry.metrics import Metrics

#: Shorter answers are sent as they are (bytes).
_COMPRESSED_FROM = 1024


@dataclass(frozen=True)
class Mounted:
    """An app of its own under a path.  ``running``: entered when the server starts, left when it stops."""

    path: str
    app: ASGIApp
    running: Callable[[], AbstractAsyncContextManager[object]] | None = None


def _below(each: Mounted) -> list[BaseRoute]:
    """Return the routes of the path itself and of all below it; a client that is redirected may not follow."""
    return [Route(each.path, each.app), Mount(each.path, each.app)]


def create_api(
    parts: Parts,
    access: Access | None = None,
    *,
    stopping: asyncio.Event | None = None,
    mounted: Sequence[Mounted] = (),
    pages: Sequence[BaseRoute] = (),
    operations: Sequence[Operation] = OPERATIONS,
    metrics: Metrics | None = None,
) -> Starlette:
    """Return the app; ``access``: who may ask for what (this machine, for the default tenant).

    ``metrics``: where what is answered is counted.  ``stopping``: the event of the server
    (:class:`streams.server.api.server.ApiServer`) that runs it; answers without an end of their own end with
    it.  What is mounted is found where no operation has the path, and ``pages`` where nothing else does.
    """
    access = access or Access()
    found: list[BaseRoute] = [*routes(operations, parts, access, stopping or asyncio.Event())]

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        async with AsyncExitStack() as running:
            for each in mounted:
                if each.running is not None:
                    await running.enter_async_context(each.running())
            yield

    app = Starlette(
        routes=[*found, *(route for each in mounted for route in _below(each)), *pages],
        middleware=[
            *([Middleware(Measured, metrics)] if metrics is not None else ()),
            Middleware(KnownHosts, access),
            Middleware(GZipMiddleware, minimum_size=_COMPRESSED_FROM, compresslevel=5),
        ],
        exception_handlers=HANDLERS,
        lifespan=lifespan,
    )
    app.state.waited_for = parts.waited_for
    return app
