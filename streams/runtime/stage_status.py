"""How a stage stands, over all its partitions: what it fails on, and what it waits for."""

from __future__ import annotations

import time
from typing import Protocol

from streams.clients.records import RecordBatch
from streams.runtime.letter_log import LetterLog
from streams.telemetry.health import HealthState
from streams.telemetry.metrics import Metrics


class Host(Protocol):
    """Where waiting is seen."""

    health: HealthState
    metrics: Metrics


class StageStatus:
    """Shared state of one stage's lanes.

    ``failed_in_row``: records in a row that the step failed on.  Of the calls that went out and were answered:
    ``answered``, when the latest of them began (monotonic), and ``witness``, the last record of it, which
    will be answered again if anything is.

    A lane waits for a dependency from its first failure until it is settled.  The gauge says 1 while any lane
    does, and the counter grows meanwhile, once for all of them.
    """

    def __init__(self, stage: str) -> None:
        self.stage = stage
        self.letters = LetterLog(stage)
        self.failed_in_row = 0
        self.answered = 0.0
        self.witness: RecordBatch | None = None
        self._waiting: dict[str, set[object]] = {}
        self._counted_to: dict[str, float] = {}

    def failed(self, host: Host, dependency: str, lane: object) -> None:
        """A call of ``lane`` to ``dependency`` has failed: it waits, if it did not yet."""
        lanes = self._waiting.setdefault(dependency, set())
        if not lanes:
            self._counted_to[dependency] = time.monotonic()
            host.metrics.dependency_waiting.labels(self.stage, dependency).set(1)
        if lane not in lanes:
            lanes.add(lane)
            host.health.waiting(dependency)
        self._count(host, dependency)

    def settled(self, host: Host, lane: object) -> None:
        """``lane`` waits for nothing any more."""
        for dependency, lanes in self._waiting.items():
            if lane not in lanes:
                continue
            lanes.remove(lane)
            host.health.arrived(dependency)
            self._count(host, dependency)
            if not lanes:
                host.metrics.dependency_waiting.labels(self.stage, dependency).set(0)

    def _count(self, host: Host, dependency: str) -> None:
        now = time.monotonic()
        seconds = host.metrics.dependency_wait_seconds_total.labels(self.stage, dependency)
        seconds.inc(now - self._counted_to[dependency])
        self._counted_to[dependency] = now
