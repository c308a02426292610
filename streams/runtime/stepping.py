"""Calling a stage's step: retries in place, isolation of the record that fails, routing of misplaced ones."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable, Sequence

from models.errors import ConsistencyError, DependencyUnavailable
from streams.runtime.deadletters import to_output
from streams.runtime.effects import DeadLetter, Effects
from streams.runtime.partitioner import partition_of
from streams.runtime.ports import SteppedLane
from streams.runtime.publisher import OutputTooLarge, Packed
from streams.runtime.records import RecordBatch
from streams.runtime.stage import TimerContext
from streams.runtime.stamp import stamp

#: Errors that a step may not be isolated from: they say something about the worker, not about a record.
_FATAL = (ConsistencyError, MemoryError)

#: When every record of a batch of at least this size fails, the step is at fault, not the records.
_DEFECT_RECORDS = 100


class Prepared:
    """What a step wanted, ready to be carried out.  ``buried``: the record failed and was dead-lettered."""

    __slots__ = ("buried", "effects", "packed", "values")

    def __init__(self, effects: Effects, packed: Packed, values: dict[bytes, bytes]) -> None:
        self.effects = effects
        self.packed = packed
        self.values = values
        self.buried = False


class Stepper:
    """Runs the step of one lane and turns its effects into something that can be carried out."""

    def __init__(self, lane: SteppedLane) -> None:
        self._lane = lane
        self._bound = lane.bound
        self._stage = lane.bound.stage
        self._stamp = stamp(self._stage.decided_by)
        self.running = False

    async def run(self, batch: RecordBatch) -> Prepared:
        """Run the step over ``batch``; a record that fails alone is dead-lettered, the rest goes on."""
        self.running = True
        try:
            batch, misplaced = self._split_misplaced(batch)
            with self._lane.runtime.metrics.step_seconds.labels(self._stage.name).time():
                prepared = await self._attempt(batch) if batch.records else self._prepare(Effects(), batch)
            if misplaced:
                prepared.packed.extend(self._lane.runtime.publisher.pack(misplaced.outputs))
                prepared.effects.absorb(misplaced)
            return prepared
        finally:
            self.running = False

    def run_timers(self, keys: Sequence[bytes], context: TimerContext) -> Prepared:
        """Call ``on_timer``; an error here is a defect of the stage and stops the worker."""
        assert self._stage.on_timer is not None
        self._lane.state.source_index = 0
        effects = self._stage.on_timer(keys, context, self._lane.state)
        return self._prepare(effects, None)

    async def _attempt(self, batch: RecordBatch) -> Prepared:
        try:
            effects = await self._call(batch)
        except _FATAL:
            raise
        except Exception as exc:  # noqa: BLE001 - the boundary: a step may raise anything
            return await self._isolate(batch, exc)
        try:
            return self._prepare(effects, batch)
        except OutputTooLarge as exc:
            return await self._isolate(batch, exc)

    async def _isolate(self, batch: RecordBatch, exc: Exception) -> Prepared:
        """Run the step record by record, each on the state that those before it left."""
        if len(batch) == 1:
            return self._bury(batch, exc)
        self._lane.runtime.log.warning(
            "a step failed; looking for the record",
            stage=self._stage.name,
            error=repr(exc),
            topic=batch.topic,
            partition=batch.partition,
            first_offset=batch.first_offset,
            last_offset=batch.offset,
        )
        parts = [await self._attempt(single) for single in batch.singles()]
        if len(batch) >= _DEFECT_RECORDS and all(part.buried for part in parts):
            raise ConsistencyError(
                f"stage {self._stage.name} fails on every record of {batch!r} ({exc!r}): this is a defect "
                "of the stage, not of the records; nothing of the batch was dead-lettered"
            )
        whole = parts[0]
        for part in parts[1:]:
            whole.effects.absorb(part.effects)
            whole.packed.extend(part.packed)
            for key, value in part.values.items():
                whole.values.pop(key, None)
                whole.values[key] = value
        return whole

    def _bury(self, batch: RecordBatch, exc: Exception) -> Prepared:
        record = batch.records[0]
        self._lane.runtime.log.error(
            "a record fails every time and goes to the dead-letter queue",
            stage=self._stage.name,
            topic=batch.topic,
            partition=batch.partition,
            offset=batch.offset,
            error=type(exc).__name__,
        )
        reason = "output_too_large" if isinstance(exc, OutputTooLarge) else "step_failed"
        effects = Effects()
        effects.dead_letters.append(DeadLetter(record, reason, f"{type(exc).__name__}: {exc}", attempts=2))
        prepared = self._prepare(effects, batch)
        prepared.buried = True
        return prepared

    def _prepare(self, effects: Effects, batch: RecordBatch | None) -> Prepared:
        """Pack outputs and seal state; unconfirmed values become visible to the next step here."""
        lane, source = self._lane, batch.source if batch is not None else ""
        outputs = effects.outputs
        if effects.dead_letters:
            outputs = outputs + [
                to_output(letter, source=source, stage=self._stage.name) for letter in effects.dead_letters
            ]
        packed = lane.runtime.publisher.pack(outputs, self._stamp)
        values = lane.state.store(effects.changes)
        for key, at in effects.timers.items():
            lane.timers.set(key, at)
        return Prepared(effects, packed, values)

    async def _call(self, batch: RecordBatch) -> Effects:
        stage, state = self._stage, self._lane.state
        state.source_index = batch.source_index
        if stage.step is not None:
            return stage.step(batch, state)
        assert stage.async_step is not None
        step = stage.async_step
        return await self._patiently(lambda: step(batch, state))

    async def _patiently(self, call: Callable[[], Awaitable[Effects]]) -> Effects:
        """Call until the dependency answers: jittered backoff, then waiting in place, seen in metrics."""
        runtime, name = self._lane.runtime, self._stage.name
        settings, attempt = runtime.settings, 0
        while True:
            try:
                async with asyncio.timeout(settings.step_timeout_seconds):
                    return await call()
            except DependencyUnavailable as exc:
                dependency, error = exc.dependency, str(exc)
            except TimeoutError:
                dependency, error = name, f"no answer within {settings.step_timeout_seconds:g} s"
            attempt += 1
            ceiling = min(settings.retry_max_seconds, settings.retry_min_seconds * 2 ** min(attempt, 20))
            delay = ceiling * random.uniform(0.5, 1.0)
            runtime.metrics.retries_total.labels(name, dependency).inc()
            runtime.log.warning(
                "waiting for a dependency",
                stage=name,
                dependency=dependency,
                attempt=attempt,
                delay=round(delay, 2),
                error=error,
            )
            await self._wait(name, dependency, delay)

    async def _wait(self, stage: str, dependency: str, delay: float) -> None:
        runtime = self._lane.runtime
        waiting = runtime.metrics.dependency_waiting.labels(stage, dependency)
        runtime.health.waiting(dependency)
        waiting.inc()
        started = time.monotonic()
        try:
            await asyncio.sleep(delay)
        finally:
            waiting.dec()
            runtime.health.arrived(dependency)
            runtime.metrics.dependency_wait_seconds_total.labels(stage, dependency).inc(
                time.monotonic() - started
            )

    def _split_misplaced(self, batch: RecordBatch) -> tuple[RecordBatch, Effects | None]:
        """Take out records that lie in a partition their key does not hash to (rule 10)."""
        partitions = self._bound.hashed.get(batch.source, 0)
        if not partitions:
            return batch, None
        here, records = batch.partition, batch.records
        wrong = [r for r in records if r.key is not None and partition_of(r.key, partitions) != here]
        if not wrong:
            return batch, None
        effects = Effects()
        for record in wrong:
            came_from = f"{record.topic}-{record.partition}-{record.offset}".encode()
            effects.forward(
                batch.source, record.key, record.value, [*record.headers, ("rerouted_from", came_from)]
            )
        effects.count("misrouted_records_total", self._stage.name, batch.source, by=len(wrong))
        taken = {record.offset for record in wrong}
        rest = RecordBatch(
            records,
            position=batch.position,
            epoch=batch.epoch,
            source=batch.source,
            source_index=batch.source_index,
        )
        rest.records = [record for record in records if record.offset not in taken]
        return rest, effects
