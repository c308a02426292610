"""One turn at a time in a conversation, whichever ``serve`` it runs at."""

from __future__ import annotations

import asyncio
import secrets

import structlog

from models.errors import DependencyUnavailable, NotFound
from streams.chat.events import TurnNames
from streams.remembered.ports import Leases

log = structlog.get_logger("streams.chat")

#: How often a lease is renewed: several times before it ends (seconds).
RENEW_SECONDS = 3.0

#: After so long without having renewed it a turn ends, before anybody else may begin one (seconds).
_LOST_SECONDS = 8.0

#: How long it may take to ask once more before that, or after standing still for longer (seconds):
#: nobody else can have begun a turn before the lease ends, and whether somebody has is what the answer tells.
_ONCE_MORE_SECONDS = 1.0

#: How long is waited for one that lets go (seconds).
_WAITS_SECONDS = (0.05, 0.2)


class TurnRunning(Exception):
    """There is a turn in this conversation that has not ended; its id is the argument."""


class Holder:
    """The leases of this process."""

    def __init__(self, leases: Leases) -> None:
        self._leases = leases
        self._name = secrets.token_hex(8)

    async def take(self, names: TurnNames, *, begins: bool = False) -> None:
        """Take the lease of a turn's conversation; one that has just ended may still be about to let go of it.

        ``begins``: the conversation does, as far as the log tells.

        Raises:
            NotFound: it begins with a turn of somebody else.
            TurnRunning: another turn has it, or this one at another process.
            DependencyUnavailable: what holds the leases does not answer.
        """
        for seconds in _WAITS_SECONDS:
            try:
                await self._claim(names, begins=begins)
            except TurnRunning:
                await asyncio.sleep(seconds)
            else:
                return
        await self._claim(names, begins=begins)

    async def _claim(self, names: TurnNames, *, begins: bool = False) -> None:
        who = names.user_id if begins else ""
        has = await self._leases.claim(names.tenant_id, names.conversation_id, names.turn_id, self._name, who)
        if has is not None:
            raise TurnRunning(has)

    async def runs(self, names: TurnNames) -> bool:
        """Tell whether a turn runs anywhere.  Raises :class:`DependencyUnavailable`."""
        return await self._leases.held(names.tenant_id, names.conversation_id) == names.turn_id

    async def keep(self, names: TurnNames, ended: asyncio.Future[None], *, begins: bool = False) -> bool:
        """Renew the lease until ``ended``, or until it is lost; return whether it was kept.

        ``begins``: as in :meth:`take`; a Redis that was emptied learns it again.
        """
        clock = asyncio.get_running_loop().time
        lost = clock() + _LOST_SECONDS
        while not (await asyncio.wait([ended], timeout=min(RENEW_SECONDS, lost - clock())))[0]:
            asked = clock()  # it holds from some moment between this one and the answer
            until = max(min(asked + RENEW_SECONDS, lost), asked + _ONCE_MORE_SECONDS)
            try:
                async with asyncio.timeout_at(until):
                    await self._claim(names, begins=begins)
                lost = asked + _LOST_SECONDS
            except (TurnRunning, NotFound) as error:
                log.warning("the lease of a turn is another's", turn=names.turn_id, other=str(error))
                return False
            except (DependencyUnavailable, TimeoutError) as error:
                log.warning("the lease of a turn was not renewed", turn=names.turn_id, error=str(error))
                if clock() >= lost:
                    return False
        return True

    async def release(self, names: TurnNames) -> None:
        """Let go of a lease; one that cannot be reached ends by itself."""
        try:
            async with asyncio.timeout(RENEW_SECONDS):
                await self._leases.release(names.tenant_id, names.conversation_id, names.turn_id, self._name)
        except (DependencyUnavailable, TimeoutError) as error:
            log.warning("the lease of a turn ends by itself", turn=names.turn_id, error=str(error))
