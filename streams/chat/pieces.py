"""Writing an answer as it comes, however much faster it comes than the broker confirms it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable


class Pieces:
    """Writes pieces in their order, one at a time: what comes while one is being confirmed is one piece more.

    So a busy broker is sent fewer and longer pieces, and nobody waits longer than for one to be confirmed.
    ``write`` writes a piece, and returns when it is confirmed.
    """

    def __init__(self, write: Callable[[str], Awaitable[None]]) -> None:
        self._write = write
        self._waiting = ""
        self._writing: asyncio.Task[None] | None = None

    def add(self, text: str) -> None:
        """Have a piece written; raises what an earlier one has failed of."""
        self._waiting += text
        if self._writing is not None and self._writing.done():
            self._writing.result()
            self._writing = None
        if self._writing is None and self._waiting:
            self._writing = asyncio.create_task(self._write_all())

    async def written(self) -> None:
        """Return when all is confirmed; raises what a piece has failed of."""
        if self._writing is not None:
            await self._writing

    async def give_up(self) -> None:
        """Write no more."""
        if self._writing is not None:
            self._writing.cancel()
            await asyncio.gather(self._writing, return_exceptions=True)

    async def _write_all(self) -> None:
        while self._waiting:
            text, self._waiting = self._waiting, ""
            await self._write(text)
