"""The generation that ``serve`` answers from, and the switch to another one.

Everything that reads a generation's views is opened once for each generation, behind an app of its own.  Here
is the only place that decides which app answers: a request is given to the one that serves when it begins, and
sees no other.  A switch opens the other generation, asks it something, and then changes which app the next
request is given to.  The one before answers what it has begun and is closed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass

import structlog
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from models.control import Generation
from models.errors import SwitchboardError
from streams.clients.serving import shown
from streams.config.background import cancel_and_wait, in_background, until
from streams.config.backoff import backoff

#: Of each answer: the generation that it is from.
HEADER = b"switchboard-generation"

#: How long answers that have begun may go on after a switch (seconds); chats are then interrupted.
GRACE_SECONDS = 60.0

#: How long it may take to open a generation, and between two attempts (seconds).
_OPEN_SECONDS, _FIRST_SECONDS, _LONGEST_SECONDS = 30.0, 0.2, 5.0

_POLL_SECONDS = 0.05

log = structlog.get_logger("streams.server.serve")


@dataclass(frozen=True)
class Opened:
    """A generation, opened.

    ``needed``: tasks without which it cannot go on.  ``probe`` asks its views something, and raises what keeps
    them from answering.  ``leave`` ends what has no end of its own; ``is_idle``: whether nothing is left to do.
    """

    app: ASGIApp
    needed: Sequence[asyncio.Task[None]]
    probe: Callable[[], Awaitable[None]]
    leave: Callable[[], None]
    is_idle: Callable[[], bool]


#: Opens a generation; what must be closed at its end goes on the stack.
Open = Callable[[Generation, AsyncExitStack], Awaitable[Opened]]


class _Served:
    """A generation that answers, with the number of its requests that have begun and not ended."""

    def __init__(self, generation: Generation, opened: Opened, resources: AsyncExitStack) -> None:
        self.generation = generation
        self.opened = opened
        self.resources = resources
        self.requests = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        name = shown(self.generation.name).encode()

        async def named(message: Message) -> None:
            if message["type"] == "http.response.start":
                message = {**message, "headers": [*message["headers"], (HEADER, name)]}
            await send(message)

        self.requests += 1
        try:
            await self.opened.app(scope, receive, named)
        finally:
            self.requests -= 1

    async def close(self, grace_seconds: float) -> None:
        """Let what has begun end, at most ``grace_seconds``, and close."""
        self.opened.leave()
        try:
            async with asyncio.timeout(grace_seconds):
                while self.requests or not self.opened.is_idle():
                    await asyncio.sleep(_POLL_SECONDS)
        except TimeoutError:
            log.info("answers are cut off", generation=shown(self.generation.name), requests=self.requests)
        finally:
            await self.resources.aclose()


class Switch:
    """The ASGI app of ``serve``.  ``changed``: called with the name of each generation that begins to serve."""

    def __init__(
        self, wanted: Generation, changed: Callable[[str], None], grace_seconds: float = GRACE_SECONDS
    ) -> None:
        self._wanted = wanted
        self._changed = changed
        self._grace_seconds = grace_seconds
        self._opening: Open
        self._asked = asyncio.Event()
        self._serving: _Served
        self._leaving: set[asyncio.Task[None]] = set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":  # each generation has its own
            for step in ("startup", "shutdown"):
                await receive()
                await send({"type": f"lifespan.{step}.complete"})
            return
        await self._serving(scope, receive, send)

    async def start(self, opening: Open) -> None:
        """Open the generation that is wanted; its views may be down.

        Raises:
            ConfigurationError: a setting is wrong.
        """
        self._opening = opening
        self._serve(await self._open(self._wanted, probe=False))

    def want(self, generation: Generation) -> None:
        """Serve this generation from now on; once one serves, as soon as this one answers."""
        self._wanted = generation
        self._asked.set()

    async def run(self) -> None:
        """Follow :meth:`want` until cancelled; return if something has ended that the generation needs."""
        failures = 0
        while await until(self._asked, self._serving.opened.needed):
            self._asked.clear()
            wanted, before = self._wanted, self._serving
            if wanted == before.generation:
                continue
            try:
                fresh = await self._open(wanted, probe=True)
            except (SwitchboardError, OSError, TimeoutError) as error:
                failures += 1
                log.error(
                    "a generation cannot serve yet; the one before goes on",
                    generation=shown(wanted.name),
                    serves=shown(before.generation.name),
                    error=str(error) or type(error).__name__,
                )
                wait = backoff(failures, _FIRST_SECONDS, _LONGEST_SECONDS)
                asyncio.get_running_loop().call_later(wait, self._asked.set)
                continue
            failures = 0
            self._serve(fresh)
            leaving = in_background(before.close(self._grace_seconds), "leaving generation")
            self._leaving.add(leaving)
            leaving.add_done_callback(self._leaving.discard)

    async def close(self) -> None:
        """Close all generations; the server has stopped."""
        await cancel_and_wait(*self._leaving)  # which closes them at once
        await self._serving.close(0.0)

    def _serve(self, fresh: _Served) -> None:
        self._serving = fresh
        self._changed(fresh.generation.name)
        log.info("a generation serves", generation=shown(fresh.generation.name))

    async def _open(self, generation: Generation, *, probe: bool) -> _Served:
        async with AsyncExitStack() as resources:
            async with asyncio.timeout(_OPEN_SECONDS):
                opened = await self._opening(generation, resources)
                if probe:
                    await opened.probe()
            return _Served(generation, opened, resources.pop_all())
