"""What the parts of the runtime may ask of what they belong to.

Imports inside this package point one way (``pyproject.toml`` names the layers).  The service stands on top and
makes the parts; what a part needs of the service, or of the lane that it works for, is named here.
"""

from __future__ import annotations

import asyncio
from typing import Any, Protocol

from streams.runtime.publisher import Publisher
from streams.runtime.records import RecordBatch
from streams.runtime.stage import BoundStage
from streams.runtime.table import NoState, PartitionState
from streams.runtime.timers import Timers
from streams.settings import Settings
from streams.telemetry.health import HealthState
from streams.telemetry.metrics import Metrics


class StepperHost(Protocol):
    """The service, to a stepper."""

    name: str
    settings: Settings
    metrics: Metrics
    health: HealthState
    log: Any
    publisher: Publisher


class SteppedLane(Protocol):
    """The lane that a stepper works for."""

    bound: BoundStage
    state: PartitionState | NoState
    timers: Timers

    @property
    def runtime(self) -> StepperHost: ...


class LaneHost(StepperHost, Protocol):
    """The service, to a lane.  ``slots`` bounds what is in flight; ``settled`` is set when less of it is."""

    slots: asyncio.Semaphore
    settled: asyncio.Event

    @property
    def epoch(self) -> int: ...
    def fail(self, exc: BaseException) -> None: ...
    def discard(self, message: Any) -> None: ...
    def stalled(self) -> bool: ...
    def sought_position(self, batch: RecordBatch) -> int | None: ...
    def caught_up(self, bound: BoundStage, partition: int) -> bool: ...
    def ends_at_seek(self, bound: BoundStage, partition: int) -> dict[str, int]: ...
