"""Ports from the runtime's parts to their owners.

Imports inside this package point one way (``pyproject.toml`` names the layers).  The service stands on top and
makes the parts; what a part needs of the service, or of the lane that it works for, is named here.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any, Protocol

from streams.clients.broker_clock import BrokerClock
from streams.clients.catalog import Catalog
from streams.clients.records import RecordBatch
from streams.config.settings import Settings
from streams.runtime.epoch import Epoch, Offsets
from streams.runtime.faust_internals import TP
from streams.runtime.lease import Lease
from streams.runtime.publisher import Publisher
from streams.runtime.stage import BoundStage
from streams.runtime.state_memory import StateMemory
from streams.runtime.table import NoState, PartitionState
from streams.runtime.throttle import Throttle
from streams.runtime.timers import Timers
from streams.telemetry.health import HealthState
from streams.telemetry.metrics import Metrics


class StepperHost(Protocol):
    """The service, to a stepper.  ``withheld``: topics that only the live generation writes."""

    name: str
    settings: Settings
    metrics: Metrics
    health: HealthState
    log: Any
    publisher: Publisher
    withheld: frozenset[str]

    @property
    def reset_hint(self) -> str: ...


class SteppedLane(Protocol):
    """The lane that a stepper works for."""

    bound: BoundStage
    state: PartitionState | NoState
    timers: Timers

    @property
    def runtime(self) -> StepperHost: ...
    def upcoming(self) -> RecordBatch | None: ...


class LaneHost(StepperHost, Protocol):
    """The service, to a lane.  ``slots`` bounds what is in flight, ``throttle`` how fast sources are read."""

    slots: asyncio.Semaphore
    throttle: Throttle

    def fail(self, exc: BaseException) -> None: ...
    def discard(self, message: Any) -> None: ...
    def stalled(self) -> bool: ...
    def topic(self, source: str) -> str: ...
    def caught_up(self, bound: BoundStage, partition: int) -> bool: ...


class ConsumerHost(Protocol):
    """The service, to the consumer and its thread."""

    name: str
    settings: Settings
    log: Any
    lease: Lease

    @property
    def reset_hint(self) -> str: ...
    def fail(self, exc: BaseException) -> None: ...
    def check_end(self, tp: TP, offsets: Offsets) -> None: ...
    def on_assigned(self, assigned: Iterable[TP]) -> None: ...
    async def recover(self, epoch: Epoch, changelogs: Iterable[TP]) -> None: ...
    async def view_marks(self, epoch: Epoch, tps: Iterable[TP]) -> dict[TP, int]: ...
    def on_sought(self, epoch: Epoch) -> None: ...
    def serves_in_turn(self, topic: str) -> bool: ...
    async def drain(self, epoch: Epoch) -> None: ...


class WatchedService(Protocol):
    """The service, to its watch."""

    name: str
    settings: Settings
    metrics: Metrics
    health: HealthState
    catalog: Catalog
    lease: Lease
    slots: asyncio.Semaphore
    state_memory: StateMemory
    broker_clock: BrokerClock
    log: Any
    app: Any

    @property
    def consumer(self) -> Any: ...
    def fail(self, exc: BaseException) -> None: ...
    def stage_of(self, source: str) -> str: ...


class AppHost(ConsumerHost, Protocol):
    """The service, to its Faust app."""

    catalog: Catalog
    throttle: Throttle
    state_memory: StateMemory

    def deliver(self, bound: BoundStage, event: Any) -> None: ...
