"""A lane: one stage at work on one partition number, from a batch to its ack.

Everything that must happen in order happens here (rule 3).  Per batch: the step runs; its outputs are
packed and submitted; when they and those of every earlier batch are confirmed, its state changes are
submitted; when those are confirmed they enter the table and the batch is acked.  The next batch's step
does not wait for any of that: it reads unconfirmed state through the overlay.

What a step decides is decided again, in the same way, when its batch is read again.  What timers decide is not:
so the outputs of batches that follow them also wait until the timers' state changes are confirmed.
"""

from __future__ import annotations

import asyncio
import time
from typing import Any

from models.errors import ConsistencyError
from streams.clients.records import RecordBatch
from streams.runtime import accounting
from streams.runtime.effects import Effects
from streams.runtime.epoch import Epoch
from streams.runtime.faust_internals import TP
from streams.runtime.ports import LaneHost
from streams.runtime.stage import BoundStage, TimerContext
from streams.runtime.stepping import Prepared, Stepper
from streams.runtime.table import NoState, PartitionState
from streams.runtime.timers import Timers

#: Asks a lane to purge removed keys.
PURGE_TOMBSTONES = object()

#: How often it does, and of how many at a time.
_PURGE_SECONDS = 60.0
_PURGE_KEYS = 1000

#: Stored values whose timers are set before the event loop has its turn.
_ROWS_AT_ONCE = 500

#: Timers that are carried out in one go: the event loop has its turn before the next ones.
_TIMERS_AT_ONCE = 500


class _Link:
    """Where a batch stands, so that the next one of the lane can follow it.

    ``barrier``: no outputs of the next one leave before the state changes of this one are stored.
    """

    __slots__ = ("barrier", "confirmed", "done", "stored", "submitted")

    def __init__(self, *, barrier: bool = False, reached: bool = False) -> None:
        self.barrier = barrier
        self.submitted = asyncio.Event()
        self.confirmed = asyncio.Event()
        self.stored = asyncio.Event()
        self.done = asyncio.Event()
        if reached:
            for event in (self.submitted, self.confirmed, self.stored, self.done):
                event.set()


class Lane:
    """Drives one stage on one partition number during one epoch."""

    def __init__(
        self,
        runtime: LaneHost,
        epoch: Epoch,
        bound: BoundStage,
        partition: int,
        state: PartitionState | NoState,
    ) -> None:
        self.runtime = runtime
        self.epoch = epoch
        self.bound = bound
        self.stage = bound.stage
        self.partition = partition
        self.state = state
        self.timers = Timers(self._schedule)
        self._stepper = Stepper(self)
        self._queue: asyncio.Queue[Any] = asyncio.Queue()
        self._last = _Link(reached=True)
        self._finishing: set[asyncio.Task[None]] = set()
        self._positions: dict[str, int] = {}
        self._log_times: dict[str, float] = {}
        self._purging = self._wake(_PURGE_SECONDS, PURGE_TOMBSTONES)
        self._worker = asyncio.create_task(self._work(), name=f"lane {self.stage.name}-{partition}")

    # -- life -------------------------------------------------------------------------------------------

    def put(self, event: Any) -> None:
        """Take a delivered batch (a Faust event whose value is a :class:`RecordBatch`)."""
        self._queue.put_nowait(event)

    @property
    def busy(self) -> bool:
        """True while a step runs or a batch awaits its confirmation."""
        return self._stepper.running or self.unconfirmed

    @property
    def unconfirmed(self) -> bool:
        """True while the producer may hold something of this lane."""
        return bool(self._finishing)

    def upcoming(self) -> RecordBatch | None:
        """Return the batch that waits behind the one at work, if there is one."""
        waiting = self._queue._queue  # type: ignore[attr-defined]  # a deque; there is no other way to look
        return next(
            (event.value for event in waiting if event is not None and event is not PURGE_TOMBSTONES), None
        )

    def close(self) -> None:
        """Give up everything that is not confirmed; nothing of this lane will be acked any more."""
        self.timers.close()
        self._purging.cancel()
        self._worker.cancel()
        for task in self._finishing:
            task.cancel()
        while not self._queue.empty():
            self._drop(self._queue.get_nowait())

    async def _restore_timers(self) -> None:
        timer_at = self.stage.timer_at
        if timer_at is None:
            return
        for number, (key, payload) in enumerate(self.state.items(), 1):
            at = timer_at(key, payload)
            if at is not None:
                self.timers.set(key, at)
            if not number % _ROWS_AT_ONCE:
                await asyncio.sleep(0)

    def _drop(self, event: Any) -> None:
        if event is not None and event is not PURGE_TOMBSTONES:
            self.runtime.metrics.epoch_drops_total.labels(self.stage.name).inc()
            self.runtime.discard(event.message)

    # -- the loop ---------------------------------------------------------------------------------------

    async def _work(self) -> None:
        try:
            await self._restore_timers()
            while True:
                await self._handle(await self._queue.get())
        except asyncio.CancelledError:
            raise
        except Exception as exc:  # noqa: BLE001 - the boundary: whatever it is, the worker must not go on
            self.runtime.fail(exc)

    async def _handle(self, event: Any) -> None:
        if event is None:
            await self._on_timers()
        elif event is PURGE_TOMBSTONES:
            await self._purge()
        else:
            await self._on_batch(event)

    async def _on_batch(self, event: Any) -> None:
        batch: RecordBatch = event.value
        await self._held_back(event)
        if not self.epoch.running:
            self._drop(event)
            return
        self._check_position(batch)
        self._count_records(batch)
        prepared = await self._stepper.run(batch)
        batch.release()
        self._log_times[batch.source] = batch.timestamp / 1000
        await self._launch(prepared, event)

    def _count_records(self, batch: RecordBatch) -> None:
        metrics, labels = self.runtime.metrics, (self.runtime.name, self.stage.name, batch.source)
        metrics.records_total.labels(*labels).inc(len(batch))
        metrics.record_batches_total.labels(*labels).inc()

    async def _held_back(self, event: Any) -> None:
        """Wait until the throttle lets a batch through, and memory has room for what it stores."""
        wait = self.runtime.throttle.wait(event.value.source, len(event.value))
        try:
            if wait:
                await asyncio.sleep(wait)
            await self.state.room()
        except asyncio.CancelledError:
            self._drop(event)  # nobody has seen it, and shutdown would wait for it
            raise

    def _check_position(self, batch: RecordBatch) -> None:
        expected = self._positions.get(batch.source)
        if expected is None:
            progress = self.epoch.partitions.get(TP(batch.topic, batch.partition))
            expected = None if progress is None else progress.start
        if expected != batch.position:
            raise ConsistencyError(
                f"stage {self.stage.name} stands at offset {expected} of {batch.topic}-{batch.partition} and "
                f"was handed {batch!r}, which continues from {batch.position}: a batch was lost on the way. "
                "This is a defect; the worker stops rather than skip records. Restart it."
            )
        self._positions[batch.source] = batch.next_position

    async def _on_timers(self) -> None:
        stage = self.stage
        if not self.epoch.running or stage.on_timer is None:
            return
        if self.runtime.stalled():
            # The process stood still (SIGSTOP, a suspended machine): the partition may be somebody
            # else's by now, and unlike records, timers would write without anything to replay.
            self.timers.postpone(1.0)
            return
        keys = self.timers.due(time.time(), _TIMERS_AT_ONCE)
        if keys:
            caught_up = self.runtime.caught_up(self.bound, self.partition)
            context = TimerContext(self.partition, time.time(), caught_up, self._log_time())
            prepared = self._stepper.run_timers(keys, context)
            # What a timer decided stands in no log: nothing that may follow from it leaves before it is stored.
            await self._launch(prepared, None, barrier=bool(prepared.values))
        self.timers.arm()

    def _log_time(self) -> float:
        for source in self.stage.sources:
            progress = self.epoch.partitions[TP(self.runtime.topic(source), self.partition)]
            if self._positions.get(source, -1) < progress.end:
                return 0.0
        return min(self._log_times.values())

    async def _purge(self) -> None:
        if not self.epoch.running:
            return
        values = {} if self.runtime.stalled() else self.state.purge(_PURGE_KEYS)
        if values:
            await self._launch(Prepared(Effects().account(), [], values), None)
        self._purging = self._wake(0 if len(values) == _PURGE_KEYS else _PURGE_SECONDS, PURGE_TOMBSTONES)

    def _schedule(self, delay: float) -> asyncio.TimerHandle:
        return self._wake(delay, None)

    def _wake(self, delay: float, token: object) -> asyncio.TimerHandle:
        return asyncio.get_running_loop().call_later(delay, self._queue.put_nowait, token)

    # -- confirmation, in order -------------------------------------------------------------------------

    async def _launch(self, prepared: Prepared, event: Any, *, barrier: bool = False) -> None:
        # A batch that writes nothing into the log waits for nobody who does: of a view, every one.
        has_slot = bool(prepared.packed or prepared.values)
        if has_slot:
            await self.runtime.slots.acquire()
        if not self.epoch.running:
            if has_slot:
                self.runtime.slots.release()
            self._drop(event)
            return
        previous, self._last = self._last, _Link(barrier=barrier)
        task = asyncio.create_task(self._finish(prepared, event, previous, self._last))
        self._finishing.add(task)
        task.add_done_callback(self._finished)
        if has_slot:
            task.add_done_callback(lambda _: self.runtime.slots.release())

    def _finished(self, task: asyncio.Task[None]) -> None:
        self._finishing.discard(task)
        self.epoch.settled.set()

    async def _finish(self, prepared: Prepared, event: Any, previous: _Link, link: _Link) -> None:
        try:
            started = time.perf_counter()
            publisher = self.runtime.publisher
            await previous.submitted.wait()
            outputs = await publisher.submit(prepared.packed)
            if not link.barrier:
                link.submitted.set()
            await publisher.confirm(outputs)
            await previous.confirmed.wait()
            link.confirmed.set()
            await previous.stored.wait()
            packed = publisher.pack_values(self.bound.changelog, self.partition, prepared.values)
            changes = await publisher.submit(packed)
            link.stored.set()
            first_offsets = await publisher.confirm(changes)
            await previous.done.wait()
            self.state.confirm(prepared.values)
            for (_, _, builder), first_offset in zip(packed, first_offsets, strict=True):
                self.state.wrote(first_offset, builder.record_count())
            if event is not None:
                event.ack()
            link.submitted.set()
            link.done.set()
            metrics, name = self.runtime.metrics, self.stage.name
            metrics.confirm_seconds.labels(name).observe(time.perf_counter() - started)
            accounting.count(prepared.account, metrics, name, self.bound.status.letters)
        except asyncio.CancelledError:
            raise
        except Exception as exc:  # noqa: BLE001 - the boundary: fail-stop, never ack past an error
            self.runtime.fail(exc)
