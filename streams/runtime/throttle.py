"""Throttle: how many records of some topics a worker takes a second, all lanes together.

A batch is let through when the time of those before it is over, and takes as much time as it has records.  So
that no lane waits for long, batches of these topics are cut small (:meth:`Throttle.most`).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection

#: How much of a second's records one batch may have: eight partitions at once take a second.
_BATCH_SECONDS = 0.125


class Throttle:
    """Lets ``per_second`` records of ``topics`` (contract names) pass; 0: all."""

    def __init__(
        self, per_second: float, topics: Collection[str], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._per_second = per_second
        self._topics = frozenset(topics) if per_second else frozenset()
        self._clock = clock
        self._free_at = 0.0

    def most(self, topic: str, records: int) -> int:
        """Return how many records a batch of ``topic`` may have, of at most ``records``."""
        if topic not in self._topics:
            return records
        return max(1, min(records, int(self._per_second * _BATCH_SECONDS)))

    def wait(self, topic: str, records: int) -> float:
        """Take the time of a batch; return the seconds until it may be processed."""
        if topic not in self._topics:
            return 0.0
        now = self._clock()
        begins = max(now, self._free_at)
        self._free_at = begins + records / self._per_second
        return begins - now
