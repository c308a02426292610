"""Timers of one partition: wall-clock times by key, kept in memory and derived from state at assignment."""

from __future__ import annotations

import heapq
import time
from collections.abc import Callable
from typing import Protocol


class Handle(Protocol):
    """A scheduled call."""

    def cancel(self) -> None: ...


class Timers:
    """A heap with lazy deletion: setting a timer that moves later costs one dict write.

    ``schedule(delay)`` asks for a wake-up after ``delay`` seconds; at most one is pending.  Times are
    epoch seconds.
    """

    def __init__(self, schedule: Callable[[float], Handle], clock: Callable[[], float] = time.time) -> None:
        self._schedule = schedule
        self._clock = clock
        self._at: dict[bytes, float] = {}
        self._heap: list[tuple[float, bytes]] = []
        self._queued: dict[bytes, float] = {}
        self._handle: Handle | None = None
        self._handle_at = float("inf")

    def __len__(self) -> int:
        return len(self._at)

    def set(self, key: bytes, at: float | None) -> None:
        """Set, move or (``None``) clear the timer of ``key``."""
        if at is None:
            self._at.pop(key, None)
            return
        self._at[key] = at
        queued = self._queued.get(key)
        # An entry that comes due too early is put back then; only an earlier time needs a new one now.
        if queued is None or at < queued:
            self._queued[key] = at
            heapq.heappush(self._heap, (at, key))
        if at < self._handle_at:
            self.arm()

    def due(self, now: float, limit: int) -> list[bytes]:
        """Remove and return the keys whose time has come, ``limit`` at most, the earliest first."""
        keys: list[bytes] = []
        while self._heap and self._heap[0][0] <= now and len(keys) < limit:
            queued_at, key = heapq.heappop(self._heap)
            if self._queued.get(key) != queued_at:
                continue
            del self._queued[key]
            at = self._at.get(key)
            if at is None:
                continue
            if at <= now:
                del self._at[key]
                keys.append(key)
            else:
                self._queued[key] = at
                heapq.heappush(self._heap, (at, key))
        return keys

    def arm(self) -> None:
        """Ask to be woken for the earliest timer."""
        self._cancel()
        if self._heap:
            self._handle_at = self._heap[0][0]
            self._handle = self._schedule(max(0.005, self._handle_at - self._clock()))

    def postpone(self, delay: float) -> None:
        """Ask to be woken after ``delay`` seconds, whatever is due."""
        self._cancel()
        self._handle_at = self._clock() + delay
        self._handle = self._schedule(delay)

    def close(self) -> None:
        """Never fire again."""
        self._cancel()
        self._heap.clear()
        self._at.clear()
        self._queued.clear()

    def _cancel(self) -> None:
        if self._handle is not None:
            self._handle.cancel()
        self._handle, self._handle_at = None, float("inf")
