"""Stopping turns, whichever ``serve`` they run at.

A ``serve`` says which turns run there, beside their leases, and hears in the same call which of them somebody
wants to end.
"""

from __future__ import annotations

import asyncio

import structlog

from models.errors import DependencyUnavailable, NotFound
from streams.chat.events import Status, TurnNames
from streams.chat.running import RunningTurn
from streams.config.background import in_background
from streams.stores.remembered.ports import Leases, WhoseTurn

log = structlog.get_logger("streams.chat")

#: How often it is asked which turns are to end, and whether one that runs elsewhere has (seconds).
_POLL_SECONDS, _LOOK_SECONDS = 0.3, 0.1

#: How long one that runs elsewhere may take to end: its last message is confirmed first (seconds).
_ENDS_SECONDS = 20.0


class Stops:
    """Turns of this process that are to end, and requests for others to end theirs."""

    def __init__(self, leases: Leases) -> None:
        self._leases = leases
        self._running: dict[WhoseTurn, RunningTurn] = {}
        self._task: asyncio.Task[None] | None = None

    async def announce(self, names: TurnNames) -> None:
        """Make a turn known that is about to run.  Raises :class:`DependencyUnavailable`."""
        await self._leases.poll_cancellations([_whose(names)])

    def watch(self, running: RunningTurn) -> None:
        """End a turn when somebody wants it to."""
        self._running[_whose(running.names)] = running
        if self._task is None or self._task.done():
            self._task = in_background(self._poll(), "turns-to-stop")

    async def close(self) -> None:
        """Return when it is known of every turn how it ended; each has."""
        if self._task is not None:
            await asyncio.wait([self._task])

    async def stop(self, tenant_id: str, user_id: str, turn_id: str) -> Status:
        """Have a turn end that runs at another process; return how it has ended.

        Raises:
            NotFound: none of this name runs, or has ended a moment ago.
            DependencyUnavailable: it cannot be told, or it does not end.
        """
        turn = tenant_id, user_id, turn_id
        told = await self._leases.stop(turn)
        if told is None:
            raise NotFound(f"no turn {turn_id} of {user_id} runs: it may have ended")
        clock = asyncio.get_running_loop().time
        deadline = clock() + _ENDS_SECONDS
        while told == "":
            if clock() > deadline:
                raise DependencyUnavailable(
                    "serve", f"turn {turn_id} was asked to end and has not yet: ask once more"
                )
            await asyncio.sleep(_LOOK_SECONDS)
            told = await self._leases.stop(turn)
        return Status.INTERRUPTED if told is None else Status(told)  # whoever had it is gone

    async def _poll(self) -> None:
        while self._running:
            ended = [(turn, each.ended) for turn, each in self._running.items() if each.ended is not None]
            try:
                for turn, end in ended:
                    await self._leases.end(turn, end.status)
                running = [turn for turn, each in self._running.items() if each.ended is None]
                asked = await self._leases.poll_cancellations(running)
            except DependencyUnavailable as error:  # then the leases are lost soon, and the turns end
                log.warning("which turns are to be stopped is not known", error=str(error))
                asked, running = [], []
            for turn, _ in ended:
                del self._running[turn]
            for turn, is_asked in zip(running, asked, strict=True):
                if is_asked:
                    in_background(self._running[turn].stop(), f"stop-{turn[2]}")
            if self._running:
                await asyncio.sleep(_POLL_SECONDS)


def _whose(names: TurnNames) -> WhoseTurn:
    return names.tenant_id, names.user_id, names.turn_id
