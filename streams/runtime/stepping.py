"""Calling a stage's step: retries in place, isolation of the record that fails.

A batch whose step raises is cut in halves, and these again, until what fails stands alone: a pure step decides
the same however its records are cut.  What fails alone goes to the dead-letter queue.  Two
kinds of records that failed are told from two kinds of failures that are not theirs:

* *A defective step.*  :data:`MOST_FAILED` records that failed one after the other, over all batches and
  partitions of the stage, stop the worker; nothing of the batch in which that happens is published or acked.
  A record that the step gets done begins the count anew.  One that the step itself dead-letters counts neither
  way: it was judged, not failed on, so a topic with 10,000 invalid records in a row is dead-lettered as it
  should be.
* *Something outside is down*, not just silent on one record.  What says that it is down is waited for without
  end.  A call that is not answered in time is made again, then for fewer records; a single record is
  dead-lettered (``no_answer``) only if others of the stage are answered before and after its last attempts.
* *State that cannot be decoded* is the worker's matter, never the record's, and stops it.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import msgspec

from models.errors import ConsistencyError
from streams.clients.records import RecordBatch
from streams.runtime.deadletters import DLQ_SUFFIX, is_cut, to_outputs
from streams.runtime.effects import Account, DeadLetter, Effects, StateChange
from streams.runtime.ports import SteppedLane
from streams.runtime.progress import run_in_thread
from streams.runtime.publisher import OutputTooLarge, Packed, record_bytes
from streams.runtime.quarantine import quarantine
from streams.runtime.retry_policy import NoAnswer, RetryPolicy
from streams.runtime.stage import StateReader, TimerContext
from streams.runtime.stamp import stamp
from streams.runtime.table import NoState

#: Errors that a step may not be isolated from: they say something about the worker, not about a record.
_FATAL = (ConsistencyError, MemoryError)

#: After so many records that failed one after the other, the step is at fault, not the records.
MOST_FAILED = 100

#: What a stored value has beyond its payload, at most: its marks, and what says how it is laid out.
_SEAL_BYTES = 64

#: How often a call for several records, and one for a single record, goes unanswered before something is done
#: about it: it is made for fewer records, or another record must show whether anything is answered at all.
_ATTEMPTS = 2


#: Effects that were accepted, how many outputs they had, and these, packed.
_NOTHING: tuple[Effects | None, int, Packed] = (None, 0, [])


class Prepared(NamedTuple):
    """Packed effects of a step."""

    account: Account
    packed: Packed
    values: dict[bytes, bytes]


class Stepper:
    """Runs the step of one lane and turns its effects into something that can be carried out."""

    def __init__(self, lane: SteppedLane) -> None:
        self._lane = lane
        self._bound = lane.bound
        self._stage = lane.bound.stage
        self._status = lane.bound.status
        self._stamp = stamp(self._stage.decided_by)
        self._retry = RetryPolicy(lane.runtime, self._status)
        self._values: dict[bytes, bytes] = {}
        self._packed = _NOTHING
        self.running = False

    async def run(self, batch: RecordBatch) -> Prepared:
        """Run the step over ``batch``; a record that fails alone is dead-lettered, the rest goes on."""
        self.running = True
        self._values = {}
        try:
            batch, quarantined = quarantine(batch, self._bound, self._lane.runtime.publisher.largest)
            with self._lane.runtime.metrics.step_seconds.labels(self._stage.name).time():
                effects = await self._attempt(batch, batch) if batch.records else Effects()
            effects.absorb(quarantined)
            return self._prepared(effects, batch.source)
        finally:
            self._retry.settle()
            self.running = False

    def run_timers(self, keys: Sequence[bytes], context: TimerContext) -> Prepared:
        """Call ``on_timer``; an error here is a defect of the stage and stops the worker."""
        assert self._stage.on_timer is not None
        self._lane.state.source_index = 0
        self._values = {}
        effects = self._stage.on_timer(keys, context, self._lane.state)
        self._accept(effects)
        return self._prepared(effects, "")

    # -- one attempt, and what follows when it fails --------------------------------------------------------

    async def _attempt(self, batch: RecordBatch, whole: RecordBatch, attempts: int = 1) -> Effects:
        """Run the step over ``batch``, a part of ``whole`` that was tried ``attempts`` times with this one."""
        failure: Exception
        try:
            effects = await self._call(batch, whole)
        except _FATAL:
            raise
        except Exception as exc:  # noqa: BLE001 - the boundary: a step may raise anything
            failure = exc
        else:
            try:
                self._accept(effects)
            except OutputTooLarge as exc:
                failure = exc
            else:
                if len(effects.dead_letters) < len(batch):
                    self._status.failed_in_row = 0
                return effects
        if len(batch) > 1:
            return await self._halve(batch, whole, attempts, failure)
        if isinstance(failure, msgspec.DecodeError):
            await self._check_state(batch, failure)
        return self._dead_letter(batch, failure, attempts)

    async def _halve(self, batch: RecordBatch, whole: RecordBatch, attempts: int, exc: Exception) -> Effects:
        """Run the step over each half, the second on the state that the first one left."""
        if batch is whole:
            self._lane.runtime.log.warning(
                "a step failed; looking for the record",
                stage=self._stage.name,
                error=repr(exc),
                topic=batch.topic,
                partition=batch.partition,
                first_offset=batch.first_offset,
                last_offset=batch.offset,
            )
        first, second = batch.halves()
        effects = await self._attempt(first, whole, attempts + 1)
        effects.absorb(await self._attempt(second, whole, attempts + 1))
        return effects

    def _dead_letter(self, batch: RecordBatch, exc: Exception, attempts: int) -> Effects:
        record = batch.records[0]
        self._status.failed_in_row += 1
        if self._status.failed_in_row >= MOST_FAILED:
            raise ConsistencyError(
                f"stage {self._stage.name} failed on {MOST_FAILED} records one after the other, the last "
                f"of them in {batch!r} ({exc!r}): this is a defect of the stage, not of the records; nothing "
                "of the batch in hand was dead-lettered"
            ) from exc
        self._lane.runtime.log.error(
            "a record fails every time and goes to the dead-letter queue",
            stage=self._stage.name,
            topic=batch.topic,
            partition=batch.partition,
            offset=batch.offset,
            error=type(exc).__name__,
        )
        reason, text = "step_failed", f"{type(exc).__name__}: {exc}"
        if isinstance(exc, OutputTooLarge):
            reason = "output_too_large"
        elif isinstance(exc, NoAnswer):
            reason, text, attempts = "no_answer", f"{exc}; others are answered", exc.attempts
        effects = Effects()
        effects.dead_letters.append(DeadLetter(record, reason, text, attempts))
        return effects

    async def _check_state(self, batch: RecordBatch, exc: Exception) -> None:
        """Stop the worker if the step only fails to decode something because of what is stored."""
        if not self._bound.changelog:
            return
        try:
            await self._probe(batch)
        except Exception:  # noqa: BLE001 - it fails on the record itself, with or without state
            return
        raise ConsistencyError(
            f"stage {self._stage.name} cannot decode its state of {batch.topic}-{batch.partition} ({exc!r}): "
            f"it was written by another version, or is damaged. {self._lane.runtime.reset_hint}"
        ) from exc

    # -- calls ----------------------------------------------------------------------------------------------

    async def _call(self, batch: RecordBatch, whole: RecordBatch) -> Effects:
        stage, state = self._stage, self._lane.state
        state.source_index = batch.source_index
        if stage.step is not None:
            if batch.source in stage.in_thread:
                working = self._lane.runtime.health.working(f"step of {stage.name}")
                return await asyncio.to_thread(run_in_thread, stage.step, batch, state, working)
            return stage.step(batch, state)
        since, answers = time.monotonic(), 0

        async def give_up(unanswered: int) -> bool:
            nonlocal since, answers
            if len(batch) > 1:
                return unanswered >= (_ATTEMPTS if batch is whole else 1)
            if unanswered % _ATTEMPTS == 0:
                # Twice: if what was down has just come back, the record was not tried since.
                answers = answers + 1 if await self._others_are_answered(batch, whole, since) else 0
                since = time.monotonic()
            return answers > 1

        async def call() -> Effects:
            return await self._call_out(batch, state)

        return await self._retry.call(call, give_up)

    async def _call_out(self, batch: RecordBatch, state: StateReader) -> Effects:
        """Make one call, and remember it as answered if it did something or had to wait for something."""
        assert self._stage.async_step is not None
        began, waited = time.monotonic(), asyncio.Event()
        handle = asyncio.get_running_loop().call_soon(waited.set)
        effects = await self._stage.async_step(batch, state)
        handle.cancel()
        if waited.is_set() or effects.outputs or effects.changes:
            self._status.answered = began
            self._status.witness = batch.single(-1)
        return effects

    async def _others_are_answered(self, alone: RecordBatch, whole: RecordBatch, since: float) -> bool:
        """Say whether a call that began after ``since`` was answered, or one for another record is now."""
        if self._status.answered > since:
            return True
        number = next(n for n, record in enumerate(whole.records) if record is alone.records[0])
        others = [whole.single(n) for n in (number + 1, number - 1) if 0 <= n < len(whole)]
        upcoming = self._lane.upcoming()
        others += [upcoming.single(0)] if upcoming is not None else []
        others += [self._status.witness] if self._status.witness is not None else []
        for other in others:
            try:
                await self._probe(other)
            except Exception as exc:  # noqa: BLE001 - whatever it is, it is no answer
                self._lane.runtime.log.info("another record has no answer either", error=repr(exc))
            if self._status.answered > since:
                return True
        return False

    async def _probe(self, batch: RecordBatch) -> None:
        """Run the step as if nothing were stored, for what it tells; what it returns is thrown away."""
        state = NoState()
        state.source_index = batch.source_index
        if self._stage.step is not None:
            self._stage.step(batch, state)
            return
        async with asyncio.timeout(self._lane.runtime.settings.step_timeout_seconds):
            await self._call_out(batch, state)

    # -- effects --------------------------------------------------------------------------------------------

    def _accept(self, effects: Effects) -> None:
        """Store what the step stored, where the next step sees it.

        Raises:
            OutputTooLarge: an output or a value is larger than its topic takes; nothing was stored.
        """
        lane = self._lane
        effects.withhold(lane.runtime.withheld)
        packed = lane.runtime.publisher.pack(effects.outputs, self._stamp)
        if effects.changes and self._bound.changelog:
            self._check_changes(effects.changes)
        for key, value in lane.state.store(effects.changes).items():
            # In the order of the last write of each key.
            self._values.pop(key, None)
            self._values[key] = value
        for key, at in effects.timers.items():
            lane.timers.set(key, at)
        self._packed = effects, len(effects.outputs), packed

    def _check_changes(self, changes: Mapping[bytes, StateChange]) -> None:
        changelog = self._bound.changelog
        limit = self._lane.runtime.publisher.largest(changelog) - _SEAL_BYTES
        for key, change in changes.items():
            size = record_bytes(key, change.payload, ())
            if size > limit:
                raise OutputTooLarge(changelog, size, limit)

    def _prepared(self, effects: Effects, source: str) -> Prepared:
        """Return the effects packed at acceptance or, if there are more now, pack everything at once."""
        effects.withhold(self._lane.runtime.withheld)
        publisher, outputs = self._lane.runtime.publisher, effects.outputs
        accepted, count, packed = self._packed
        if effects.dead_letters:
            limit = publisher.largest(source + DLQ_SUFFIX)
            outputs = [*outputs]
            for letter in effects.dead_letters:
                outputs += to_outputs(letter, source=source, stage=self._stage.name, limit=limit)
                if is_cut(letter):
                    effects.count("dead_letters_truncated_total", self._stage.name, letter.record.topic)
        if accepted is not effects or count != len(outputs):
            packed = publisher.pack(outputs, self._stamp)
        self._packed = _NOTHING
        return Prepared(effects.account(), packed, self._values)
