"""Conversations that have a turn: one at a time, in this process and, by their leases, at all others."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import structlog

from streams.chat.events import TurnNames
from streams.chat.leases import Holder, TurnRunning
from streams.chat.running import RunningTurn
from streams.config.background import in_background
from streams.stores.remembered.ports import Leases, somebody_elses

log = structlog.get_logger("streams.chat")


class TurnLock:
    """A conversation that is one turn's.  Its lease is renewed from the beginning on."""

    def __init__(self, names: TurnNames) -> None:
        self.names = names
        self.running: RunningTurn | None = None
        self.ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.holding: asyncio.Task[None] | None = None

    @property
    def only_lets_go(self) -> bool:
        """Tell whether its turn has ended."""
        return self.running is not None and self.running.ended is not None


class TurnLocks:
    """The conversations of this process that have a turn."""

    def __init__(self, leases: Leases) -> None:
        self._leases = Holder(leases)
        self.runs = self._leases.runs
        self._taken: dict[tuple[str, str], TurnLock] = {}

    async def close(self) -> None:
        """Wait until every turn has ended and every lease is let go of."""
        holding = [each.holding for each in self._taken.values() if each.holding is not None]
        await asyncio.gather(*holding, return_exceptions=True)

    @asynccontextmanager
    async def take(self, names: TurnNames, *, begins: bool = False) -> AsyncIterator[TurnLock]:
        """Take a conversation until the turn has ended that the block puts in as ``running``, or has failed.

        ``begins``: the log does not know the conversation, so it is whoever's has taken it first.

        Raises:
            NotFound: it begins, with a turn of somebody else.
            TurnRunning: it has another turn.
            DependencyUnavailable: what holds the leases does not answer.
        """
        place = (names.tenant_id, names.conversation_id)
        while (there := self._taken.get(place)) is not None:
            if begins and there.names.user_id != names.user_id:
                raise somebody_elses(names.user_id, names.conversation_id)
            if not there.only_lets_go or there.holding is None:
                raise TurnRunning(there.names.turn_id)
            await asyncio.wait([there.holding])
        # Nobody else may begin one while the leases and the broker are waited for.
        taken = self._taken[place] = TurnLock(names)
        try:
            await self._leases.take(names, begins=begins)
        except BaseException:  # whatever ends this, the conversation is free again
            del self._taken[place]
            raise
        kept = self._leases.keep(names, taken.ended, begins=begins)
        keeping = asyncio.create_task(kept, name=f"lease-{names.turn_id}")
        try:
            yield taken
        finally:
            taken.holding = in_background(self._hold(taken, keeping), f"turn-of-{names.turn_id}")
            if taken.running is None:
                await asyncio.shield(taken.holding)

    async def _hold(self, taken: TurnLock, keeping: asyncio.Task[bool]) -> None:
        """Let go of a conversation when its turn has ended; end the turn when the lease is not kept."""
        names, running = taken.names, taken.running
        try:
            if running is not None:
                ending = asyncio.create_task(running.over())
                await asyncio.wait([ending, keeping], return_when=asyncio.FIRST_COMPLETED)
                if not ending.done():
                    await running.interrupt("It could not be kept that this turn alone has the conversation")
                await ending
        finally:
            taken.ended.set_result(None)
            [kept] = await asyncio.gather(keeping, return_exceptions=True)
            if isinstance(kept, BaseException):
                log.error("the lease of a turn was not kept", turn=names.turn_id, error=repr(kept))
            try:
                await self._leases.release(names)
            except Exception:  # what is ours is in the log; the lease ends by itself
                log.exception("the lease of a turn was not let go of", turn=names.turn_id)
            del self._taken[names.tenant_id, names.conversation_id]
