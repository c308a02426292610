"""Beside a running service: that its event loop goes on, what must stop it, how far it is behind."""

from __future__ import annotations

import asyncio
import time

from streams.runtime.faust_internals import TP
from streams.runtime.ports import WatchedService
from streams.telemetry.health import CLOCK

#: A pause of the event loop after which this process may have lost its partitions without knowing.
BEAT_SECONDS = 0.5


class Watch:
    """Two tasks beside a service: one beats, one looks once a second.  One that fails stops the service.

    ``tasks`` are those that run.
    """

    def __init__(self, service: WatchedService) -> None:
        self._service = service
        self._last_beat = time.monotonic()
        self._is_clock_wrong = False
        self._published_lags: set[tuple[str, str, str]] = set()
        self.tasks: list[asyncio.Task[None]] = []

    def start(self) -> None:
        """Begin to watch."""
        self.tasks = [
            asyncio.create_task(self.beat(), name="beat"),
            asyncio.create_task(self.look(), name="watch"),
        ]
        for task in self.tasks:
            task.add_done_callback(self._ended)

    def stop(self) -> None:
        """Watch no longer."""
        for task in self.tasks:
            task.cancel()

    def _ended(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled() and (exc := task.exception()) is not None:
            self._service.fail(exc)

    def stalled(self) -> bool:
        """Say whether the event loop has just stood still for so long that partitions may be lost."""
        most = max(2.0, self._service.settings.session_timeout_seconds / 4)
        return time.monotonic() - self._last_beat > most

    async def beat(self) -> None:
        """Note that the event loop goes on, as long as it does."""
        service = self._service
        while True:
            self._last_beat = time.monotonic()
            service.health.beat()
            service.metrics.batches_in_flight.labels(service.name).set(
                service.settings.batches_in_flight - service.slots._value
            )
            for place, size in zip(("memory", "file"), service.state_memory.sizes, strict=True):
                service.metrics.state_bytes.labels(service.name, place).set(size)
            await asyncio.sleep(BEAT_SECONDS)

    async def look(self) -> None:
        """Publish lag, and stop the worker when Faust, the group or another worker of our name demands it."""
        service = self._service
        while True:
            await asyncio.sleep(1.0)
            if service.app.crashed:
                service.fail(service.app.crash_reason or RuntimeError("the Faust app crashed"))
                return
            service.lease.check_name()
            silence = service.lease.silence()
            if silence > service.settings.session_timeout_seconds / 2:
                service.health.block("kafka", f"the broker has not answered for {silence:.0f} s")
            else:
                service.health.clear("kafka")
            if service.app.consumer.started:
                await service.consumer.check_errors()
            self.publish_lag()
            self._compare_clocks()

    def publish_lag(self) -> None:
        """Publish the lag of each partition of ours, in records and seconds, and remove that of all others."""
        service = self._service
        lags: dict[tuple[str, str, str], int] = {}
        ages: dict[tuple[str, str, str], float] = {}
        for tp, progress in service.consumer.epoch.partitions.items():
            end = service.consumer.end_of(tp)
            if end is not None:
                source = service.catalog.get(tp.topic).contract_name
                done = progress.start if progress.committed is None else progress.committed
                labels = service.stage_of(source), source, str(tp.partition)
                lags[labels] = max(0, end - done)
                ages[labels] = self._age(tp) if lags[labels] else 0.0
        metrics = service.metrics
        for labels, lag in lags.items():
            metrics.lag_records.labels(*labels).set(lag)
            metrics.lag_seconds.labels(*labels).set(ages[labels])
            kept_ms = service.catalog.get(labels[1]).retention_ms
            if kept_ms is not None:
                metrics.retention_used_ratio.labels(*labels).set(ages[labels] * 1000 / kept_ms)
        # Another worker publishes the lag of a partition that was given away.
        for labels in self._published_lags - lags.keys():
            for family in (metrics.lag_records, metrics.lag_seconds, metrics.retention_used_ratio):
                family.remove(*labels)
        self._published_lags = set(lags)

    def _compare_clocks(self) -> None:
        complaint = self._service.broker_clock.complaint
        if bool(complaint) != self._is_clock_wrong and complaint:
            self._service.log.warning("the clocks differ", reason=complaint)
        self._is_clock_wrong = bool(complaint)
        self._service.health.describe(CLOCK, complaint or None)

    def _age(self, tp: TP) -> float:
        """Return the age in seconds of the oldest record that was delivered and not acked.

        While there is none, what is missing is being fetched, or only its commit.
        """
        oldest = self._service.consumer.epoch.ledger.oldest(tp)
        return 0.0 if oldest is None else max(0.0, time.time() - oldest)
