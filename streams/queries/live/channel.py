"""The last events of one interest, and those who read them at their own pace."""

from __future__ import annotations

import asyncio
from collections import deque
from typing import NamedTuple


class Framed(NamedTuple):
    """An event as it is kept: its number in the channel, its name, and its data as JSON."""

    number: int
    name: str
    data: bytes


class Channel:
    """A bounded ring.  Writing never waits; whoever reads too slowly finds a hole and is told so.

    ``token`` is part of every event's id: an id of another channel (of another process, or of one that was
    given up meanwhile) says nothing here.
    """

    def __init__(self, token: str, most_events: int, most_bytes: int) -> None:
        self.token = token
        self.most_bytes = most_bytes
        self.readers = 0
        self.left_at = 0.0
        self.is_over = False
        self._events: deque[Framed] = deque()
        self._most_events = most_events
        self._bytes = 0
        self._last = 0
        self._changed = asyncio.Event()

    @property
    def last(self) -> int:
        """The number of the newest event; 0 before the first."""
        return self._last

    def put(self, name: str, data: bytes) -> None:
        """Keep an event and wake who waits for one.  The oldest go where there is no room."""
        self._last += 1
        self._events.append(Framed(self._last, name, data))
        self._bytes += len(data)
        while len(self._events) > self._most_events or (
            self._bytes > self.most_bytes and len(self._events) > 1
        ):
            self._bytes -= len(self._events.popleft().data)
        self.wake()

    def wake(self) -> None:
        """Let everybody who waits look again."""
        self._changed.set()
        self._changed = asyncio.Event()

    def end(self) -> None:
        """Nothing comes any more."""
        self.is_over = True
        self.wake()

    def restart(self, token: str) -> None:
        """Begin anew: what happened meanwhile is not known, so no id from before can be continued."""
        self.token = token
        self._events.clear()
        self._bytes = 0
        self._last = 0
        self.wake()

    def after(self, token: str, number: int) -> list[Framed] | None:
        """Return the events after ``number``; ``None`` if some of them are gone."""
        first = self._events[0].number if self._events else self._last + 1
        if token != self.token or not first - 1 <= number <= self._last:
            return None
        return [event for event in self._events if event.number > number]

    async def wait(self, timeout_seconds: float) -> bool:
        """Return whether something has changed, after ``timeout_seconds`` at the latest."""
        try:
            async with asyncio.timeout(timeout_seconds):
                return await self._changed.wait()
        except TimeoutError:
            return False
