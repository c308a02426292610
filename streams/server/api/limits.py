"""How many requests a second one token may make: a bucket each, which holds two seconds' worth."""

from __future__ import annotations

import time
from collections.abc import Callable

#: Buckets that are kept; those that are full again are dropped first.
_MOST_BUCKETS = 10_000


class Limits:
    """``per_second`` 0: no limit."""

    def __init__(self, per_second: float = 0.0, clock: Callable[[], float] = time.monotonic) -> None:
        self.per_second = per_second
        self._clock = clock
        self._buckets: dict[str, tuple[float, float]] = {}

    def wait(self, name: str) -> float:
        """Take one from a bucket and return 0; if it is empty, return when to come again (seconds)."""
        if not self.per_second:
            return 0.0
        now, most = self._clock(), max(1.0, 2 * self.per_second)
        left, at = self._buckets.get(name, (most, now))
        left = min(most, left + (now - at) * self.per_second)
        if left < 1.0:
            return (1.0 - left) / self.per_second
        if len(self._buckets) >= _MOST_BUCKETS:
            self._buckets = {
                each: (had, since)
                for each, (had, since) in self._buckets.items()
                if had + (now - since) * self.per_second < most
            }
        self._buckets[name] = (left - 1.0, now)
        return 0.0
