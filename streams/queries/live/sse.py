"""Server-sent events: what a browser's ``EventSource`` reads (HTML standard, section 9.2)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import aclosing

from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send

from streams.config.backoff import backoff
from streams.queries.live.hub import GAP, Watcher

#: A comment this often keeps proxies, and the reader, from taking silence for an end.
COMMENT_SECONDS = 15.0

#: After how long it is looked for the first time whether what came late can be loaded.
_LOOK_SECONDS = 0.1

#: How long the reader may take nothing before the stream ends; it comes back with its last id.
STALLED_SECONDS = 60.0

#: How long a reader who stalls may hold up the end of the server.
BYE_SECONDS = 1.0

#: How often it is looked whether the reader may still read (seconds).
LOOK_SECONDS = 1.0

#: After how long a browser comes back (ms).
RETRY_MS = 1000

HEADERS = {
    "cache-control": "no-store",
    "x-accel-buffering": "no",
    "x-content-type-options": "nosniff",
}


def frame(name: str, data: bytes, event_id: str = "") -> bytes:
    """Return one event.  ``data`` may have several lines."""
    lines = [f"id: {event_id}".encode()] if event_id else []
    lines.append(f"event: {name}".encode())
    lines += [b"data: " + line for line in data.splitlines() or [b""]]
    return b"\n".join(lines) + b"\n\n"


#: The last event of a stream that the server ends.
BYE = frame("bye", b"{}")


async def follow(
    watcher: Watcher, is_stored: Callable[[], Awaitable[bool]] | None = None
) -> AsyncIterator[bytes]:
    """Yield what ``watcher`` sees, framed, until it is over, which is told.

    ``is_stored``: tells whether all that was written before can be loaded.  If it cannot, it is looked at again
    until it can, and then whoever reads is told to load once more.
    """
    looks = 0
    lacks = is_stored is not None and not await is_stored()
    yield frame("ready", b'{"resumed":true}' if watcher.resumed else b'{"resumed":false}', watcher.id)
    while not watcher.is_over:
        taken = watcher.take()
        if taken:
            yield b"".join(frame(event.name, event.data, event_id) for event_id, event in taken)
        elif lacks and is_stored is not None:
            await watcher.wait(backoff(looks, _LOOK_SECONDS, COMMENT_SECONDS))
            looks += 1
            if await is_stored():
                lacks = False
                yield frame(GAP, b"{}", watcher.id)
        else:
            await watcher.wait(COMMENT_SECONDS)
    yield BYE


class EventStream(Response):
    """An answer that ends when its reader goes or stalls, or may read no longer, when the events end, or the
    server.

    ``events``: framed; where there is none for a while, a comment is sent.  ``stopping``: set when the server
    stops; ``holds``: whether the reader may still read.  The last event then is ``bye``.  ``close`` is called
    at the end.
    """

    media_type = "text/event-stream"

    #: What is sent first, and when the server ends before the events do.
    opening, bye = f"retry: {RETRY_MS}\n\n".encode(), BYE

    def __init__(
        self,
        events: AsyncIterator[bytes],
        stopping: asyncio.Event,
        close: Callable[[], Awaitable[None]],
        holds: Callable[[], bool] = lambda: True,
    ) -> None:
        super().__init__(headers=HEADERS)
        del self.headers["content-length"]
        self._events = events
        self._stopping = stopping
        self._close = close
        self._holds = holds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """See the ASGI specification."""
        if scope.get("method") == "HEAD":  # of an answer without a body nobody could see the end
            await self._close()
            await Response(headers=HEADERS, media_type=self.media_type)(scope, receive, send)
            return
        ends = self._stopping.wait(), self._may_no_longer()
        tasks = [asyncio.create_task(each) for each in (self._write(send), _left(receive), *ends)]
        try:
            await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()
            results = await asyncio.gather(*tasks, return_exceptions=True)
            await self._close()
        if done.isdisjoint(tasks[:2]):
            async with asyncio.timeout(BYE_SECONDS):
                await send(_body(self.bye, more=False))
        for result in results:
            if isinstance(result, Exception) and not isinstance(result, TimeoutError):
                raise result

    async def _may_no_longer(self) -> None:
        while self._holds():
            await asyncio.sleep(LOOK_SECONDS)

    async def _write(self, send: Send) -> None:
        """Write until the reader has taken nothing for too long, which is a :class:`TimeoutError`."""
        await _within(send(_body(self.opening, more=True)))
        async with aclosing(_commented(self._events)) as pieces:
            async for piece in pieces:
                await _within(send(_body(piece, more=True)))
        await _within(send(_body(b"", more=False)))


async def _commented(events: AsyncIterator[bytes]) -> AsyncGenerator[bytes]:
    """Yield the events, and a comment where there was none for a while."""
    upcoming: asyncio.Future[bytes | None] | None = None
    try:
        while True:
            upcoming = upcoming or asyncio.ensure_future(anext(events, None))
            if not (await asyncio.wait([upcoming], timeout=COMMENT_SECONDS))[0]:
                yield b": nothing new\n\n"
                continue
            piece, upcoming = upcoming.result(), None
            if piece is None:
                return
            yield piece
    finally:
        if upcoming is not None:
            upcoming.cancel()
            await asyncio.gather(upcoming, return_exceptions=True)


async def _within(sending: Awaitable[None]) -> None:
    async with asyncio.timeout(STALLED_SECONDS):
        await sending


async def _left(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


def _body(piece: bytes, more: bool) -> Message:
    return {"type": "http.response.body", "body": piece, "more_body": more}
