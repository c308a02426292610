"""Single flight: concurrent callers share one run of the same work."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

from streams.config.background import cancel_and_wait

T = TypeVar("T")


class SingleFlight(Generic[T]):
    """Rounds of ``work``, one after the other; callers during a round share the next one.

    A round thus sees everything written before its callers asked, and any number of callers costs two rounds.
    ``lock`` is held while a round is at work.
    """

    def __init__(self, work: Callable[[], Awaitable[T]], name: str, lock: asyncio.Lock | None = None) -> None:
        self._work = work
        self._name = name
        self._lock = lock or asyncio.Lock()
        self._next: asyncio.Task[T] | None = None
        self._open: set[asyncio.Task[T]] = set()

    async def run(self) -> T:
        """Return the result of the next round, or raise its error.  A cancelled caller ends no round."""
        if self._next is None:
            self._next = asyncio.create_task(self._round(), name=self._name)
            self._open.add(self._next)
            self._next.add_done_callback(self._open.discard)
            self._next.add_done_callback(_retrieve)
        return await asyncio.shield(self._next)

    async def close(self) -> None:
        """End all rounds."""
        await cancel_and_wait(*self._open)

    async def _round(self) -> T:
        async with self._lock:
            self._next = None  # from now on it may miss what somebody has just written
            return await self._work()


def _retrieve(done: asyncio.Task[T]) -> None:
    if not done.cancelled():
        done.exception()  # whoever waited was told; nobody may wait any more
