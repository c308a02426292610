"""One turn at a time in a conversation, whichever ``serve`` it runs at.

A lease is lost when somebody else has it, or when nothing is heard of it for as long as it lasts; not because
a process has too much to do to renew it.
"""

from __future__ import annotations

import asyncio
import secrets

import structlog

from models.errors import DependencyUnavailable
from streams.chat.events import TurnNames
from streams.config.background import in_background
from streams.stores.remembered.ports import Held, Leases

log = structlog.get_logger("streams.chat")

#: How often the leases of a process are renewed: several times before they end (seconds).
RENEW_SECONDS = 3.0

#: How soon it is asked again when nobody answered (seconds).
_AGAIN_SECONDS = 0.5

#: After so long without having been renewed a turn ends, before anybody else may begin one (seconds).
_LOST_SECONDS = 8.0

#: But not before an answer was waited for so long by a process that could have read it (seconds): what is read
#: late, because turns had much to do or the machine slept, is not what Redis did not say; and that tells
#: whether somebody else has begun a turn meanwhile.
_AWAKE_SECONDS = 1.5

#: In which parts that is waited (seconds): of each part that took longer, the process was not awake.
_MOMENT_SECONDS = 0.1

#: How long is waited for one that lets go (seconds).
_WAITS_SECONDS = (0.05, 0.2)


class TurnRunning(Exception):
    """There is a turn in this conversation that has not ended; its id is the argument."""


class _Kept:
    """A lease that is renewed; ``lost`` is done when it is no longer this process's."""

    def __init__(self, held: Held) -> None:
        loop = asyncio.get_running_loop()
        self.held = held
        self.renewed = loop.time()
        self.lost: asyncio.Future[None] = loop.create_future()

    def lose(self) -> None:
        """Say that it is lost."""
        if not self.lost.done():
            self.lost.set_result(None)


class Holder:
    """The leases of this process: they are renewed all at once, however many there are."""

    def __init__(self, leases: Leases) -> None:
        self._leases = leases
        self._name = secrets.token_hex(8)
        self._kept: set[_Kept] = set()
        self._renewing: asyncio.Task[None] | None = None
        self._asking: asyncio.Task[list[str | None]] | None = None

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
        who = names.user_id if begins else ""
        kept = _Kept(Held(names.tenant_id, names.conversation_id, names.turn_id, who))
        self._kept.add(kept)
        if self._renewing is None:
            self._renewing = in_background(self._renew(), "leases-of-turns")
        try:
            await asyncio.wait([ended, kept.lost], return_when=asyncio.FIRST_COMPLETED)
        finally:
            self._kept.discard(kept)
            if self._asking is not None:  # what is being asked would take it again once it is let go of
                await asyncio.wait([self._asking])
            if not self._kept and self._renewing is not None:
                self._renewing.cancel()
                self._renewing = None
        return not kept.lost.done()

    async def _renew(self) -> None:
        silent = 0.0
        try:
            while True:
                await asyncio.sleep(_AGAIN_SECONDS if silent else RENEW_SECONDS)
                silent = await self._renew_all(silent)
        except Exception:  # what is ours is in the log; turns whose leases nobody keeps must end
            log.exception("the leases of turns are not kept")
            self._renewing = None
            for each in self._kept:
                each.lose()

    async def _renew_all(self, silent: float) -> float:
        """Renew what is kept, and tell which is lost.

        ``silent``: for how long nothing was heard of the leases, so far and while this process was awake.
        Returns for how long it is now; 0: it was heard.
        """
        kept, clock = list(self._kept), asyncio.get_running_loop().time
        if not kept:
            return 0.0
        asked = clock()  # they hold from some moment between this one and the answer
        until = min(asked + RENEW_SECONDS, min(each.renewed for each in kept) + _LOST_SECONDS)
        asking = self._leases.renew([each.held for each in kept], self._name)
        self._asking = asyncio.create_task(asking, name="renewing")
        try:
            while not self._asking.done() and (clock() < until or silent < _AWAKE_SECONDS):
                began = clock()
                await asyncio.wait([self._asking], timeout=_MOMENT_SECONDS)
                silent += min(clock() - began, _MOMENT_SECONDS)
        finally:
            self._asking.cancel()
            [has] = await asyncio.gather(self._asking, return_exceptions=True)
            self._asking = None
        if isinstance(has, list):
            for each, other in zip(kept, has, strict=True):
                each.renewed = asked
                if other is not None:
                    log.warning("the lease of a turn is another's", turn=each.held.turn_id, other=other)
                    each.lose()
            return 0.0
        if not isinstance(has, DependencyUnavailable | asyncio.CancelledError):
            raise has
        log.warning("the leases of turns were not renewed", turns=len(kept), error=str(has) or "no answer")
        if silent >= _AWAKE_SECONDS:
            for each in kept:
                if clock() >= each.renewed + _LOST_SECONDS:
                    each.lose()
        return silent + _AGAIN_SECONDS

    async def release(self, names: TurnNames) -> None:
        """Let go of a lease; one that cannot be reached ends by itself."""
        try:
            async with asyncio.timeout(RENEW_SECONDS):
                await self._leases.release(names.tenant_id, names.conversation_id, names.turn_id, self._name)
        except (DependencyUnavailable, TimeoutError) as error:
            log.warning("the lease of a turn ends by itself", turn=names.turn_id, error=str(error))
