"""Turns of tenants at a model: of the calls that wait, one of the tenant that has the fewest open is next.

Of several that have equally few, it is the one whose turn is longest ago.  A process opens as many calls as the
limits allow to all of them.  What waits, waits here, by tenant, and not at the limiter, which knows no tenants.
"""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from streams.llm.port import Throttled


class TenantTurns:
    """``slots`` calls at once, which one tenant alone may have all of."""

    def __init__(self, slots: int) -> None:
        self._free = slots
        self._open: Counter[str] = Counter()
        #: By tenant, in the order of their turns.
        self._waiting: dict[str, deque[asyncio.Future[None]]] = {}

    @asynccontextmanager
    async def turn(self, tenant: str, deadline: float | None = None) -> AsyncIterator[None]:
        """Wait for a turn of ``tenant``, until ``deadline`` (the event loop's time; ``None``: without end).

        Raises:
            Throttled: there is none before the deadline.
        """
        await self._wait(tenant, deadline)
        try:
            yield
        finally:
            self._pass_on(tenant)

    async def _wait(self, tenant: str, deadline: float | None) -> None:
        if self._free:
            self._free -= 1
            self._open[tenant] += 1
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(tenant, deque()).append(turn)
        try:
            async with asyncio.timeout_at(deadline):
                await turn
        except BaseException as error:
            if turn.done() and not turn.cancelled():
                self._pass_on(tenant)
            if isinstance(error, TimeoutError):
                raise Throttled("too many calls of this process are open", None) from error
            raise

    def _pass_on(self, tenant: str) -> None:
        """Give a slot of ``tenant`` to the next that waits."""
        self._open[tenant] -= 1
        if not self._open[tenant]:
            del self._open[tenant]
        while self._waiting:
            following = min(self._waiting, key=self._open.__getitem__)
            waiting = self._waiting.pop(following)
            turn = waiting.popleft()
            if waiting:
                self._waiting[following] = waiting
            if not turn.done():
                self._open[following] += 1
                turn.set_result(None)
                return
        self._free += 1
