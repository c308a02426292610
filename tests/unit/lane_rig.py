"""A lane over a fake service whose publisher's confirmations the test gives."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, ClassVar

import structlog

from streams.clients.records import Record, RecordBatch
from streams.config.settings import Settings
from streams.runtime.effects import Output
from streams.runtime.epoch import Epoch, Progress
from streams.runtime.fair_lane import FairLane
from streams.runtime.faust_internals import TP
from streams.runtime.lane import Lane
from streams.runtime.publisher import OutputTooLarge
from streams.runtime.stage import BoundStage, Stage
from streams.runtime.stamp import Stamp
from streams.runtime.stored import StoredPartition
from streams.runtime.table import PartitionState
from streams.runtime.throttle import Throttle
from streams.telemetry.health import HealthState
from streams.telemetry.metrics import Metrics

SOURCE = "chat.messages.v1"
CHANGELOG = "changelog"


class HandBatch(list[Output]):
    """A packed batch: its records."""

    def record_count(self) -> int:
        return len(self)


class HandPublisher:
    """Records what is submitted; a batch is confirmed when the test says so."""

    def __init__(self) -> None:
        self.submitted: list[tuple[list[Output], asyncio.Future[None]]] = []
        self.limit = 1000

    def largest(self, topic: str) -> int:
        return self.limit if topic == "out" else 1 << 20

    def pack(self, outputs: Any, stamp: Stamp = ()) -> list[tuple[str, int, HandBatch]]:
        packed = HandBatch(
            output if output.copy else output._replace(headers=[*output.headers, *stamp]) for output in outputs
        )
        for output in packed:
            if output.value is not None and len(output.value) > self.largest(output.topic):
                raise OutputTooLarge(output.topic, len(output.value), self.limit)
        return [("topic", 0, packed)] if packed else []

    def pack_values(
        self, topic: str, partition: int, values: dict[bytes, bytes]
    ) -> list[tuple[str, int, HandBatch]]:
        return self.pack(
            Output(topic, key, value or None, (), None, partition) for key, value in values.items()
        )

    async def submit(self, packed: list[tuple[str, int, HandBatch]]) -> list[asyncio.Future[None]]:
        futures = []
        for _, _, outputs in packed:
            future = asyncio.get_running_loop().create_future()
            self.submitted.append((outputs, future))
            futures.append(future)
        return futures

    async def confirm(self, futures: list[asyncio.Future[None]]) -> list[int]:
        for future in futures:
            await future
        return [0] * len(futures)

    def values(self, topic: str) -> list[bytes | None]:
        return [output.value for outputs, _ in self.submitted for output in outputs if output.topic == topic]

    def give(self, index: int) -> None:
        self.submitted[index][1].set_result(None)


class Rig:
    """A lane over a fake service: everything but the lane itself is in the test's hands."""

    made: ClassVar[list[Rig]] = []

    def __init__(self, stage: Stage, **settings: Any) -> None:
        self.made.append(self)
        self.publisher = HandPublisher()
        self.metrics = Metrics()
        self.acked: list[int] = []
        self.batches: list[RecordBatch] = []
        self.discarded: list[int] = []
        self.failure: BaseException | None = None
        self.is_stalled = False
        self.runtime = SimpleNamespace(
            name="ingest",
            settings=Settings(
                **{
                    "retry_min_seconds": 0.001,
                    "retry_max_seconds": 0.002,
                    "step_timeout_seconds": 0.05,
                    **settings,
                }
            ),
            metrics=self.metrics,
            health=HealthState(60),
            log=structlog.get_logger(),
            publisher=self.publisher,
            withheld=frozenset(),
            throttle=Throttle(0.0, ()),
            slots=asyncio.Semaphore(8),
            discard=lambda message: self.discarded.append(message.offset),
            fail=self._fail,
            stalled=lambda: self.is_stalled,
            caught_up=lambda bound, partition: True,
            topic=lambda source: source,
        )
        self.source = stage.sources[0]
        self.bound = BoundStage(stage, {self.source: 0}, CHANGELOG)
        self.stored = StoredPartition((self.source,))
        self.confirmed = self.stored.values
        self.state = PartitionState(self.stored)
        self.epoch = Epoch()
        self.epoch.partitions[TP(self.source, 3)] = Progress.at(0, 2, None)
        self.lane = self.another_lane()
        self.arrived = 0
        self._next = 0

    def another_lane(self) -> Lane:
        made = Lane if self.bound.stage.tenant_of is None else FairLane
        return made(self.runtime, self.epoch, self.bound, 3, self.state)  # type: ignore[arg-type]  # a fake service

    def _fail(self, exc: BaseException) -> None:
        self.failure = self.failure or exc

    def deliver(
        self,
        *values: bytes,
        position: int | None = None,
        key: Callable[[bytes], bytes] = lambda value: b"k",
    ) -> None:
        first = self._next
        batch = RecordBatch(
            [
                Record(value, key(value), first + n, self.source, 3, self.arrived)
                for n, value in enumerate(values)
            ],
            epoch=self.epoch,
            source=self.source,
            position=position if position is not None else first,
        )
        self._next = batch.next_position
        self.batches.append(batch)
        self.lane.put(
            SimpleNamespace(
                value=batch,
                message=SimpleNamespace(offset=batch.offset),
                ack=lambda: self.acked.append(batch.offset),
            )
        )

    async def until(self, condition: Callable[[], bool]) -> None:
        async with asyncio.timeout(60):
            while not condition():
                await asyncio.sleep(0.001)

    async def give_all(self, until: Callable[[], bool]) -> None:
        """Confirm whatever is submitted."""
        async with asyncio.timeout(60):
            while not until():
                for _, future in self.publisher.submitted:
                    if not future.done():
                        future.set_result(None)
                await asyncio.sleep(0)

    async def settle(self) -> None:
        for _ in range(50):
            await asyncio.sleep(0)
