"""A lane, driven by hand: what is confirmed before what, what is isolated, what waits in place.

The publisher is replaced by one whose confirmations the test gives, because the order of confirmations is
what these tests are about; the real producer and broker are in tests/faults.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest
from lane_rig import CHANGELOG, SOURCE, Rig
from structlog.testing import capture_logs

from models.errors import ConsistencyError, InvalidRecord
from streams.clients.records import Record, RecordBatch
from streams.runtime import lane as lane_module
from streams.runtime.effects import Effects
from streams.runtime.marks import Layout
from streams.runtime.stage import BoundStage, Stage, StateReader, TimerContext
from streams.runtime.table import LATE_WRITES_SECONDS
from streams.runtime.throttle import Throttle

LAYOUT = Layout((SOURCE,))


def copy_step(batch: RecordBatch, state: StateReader) -> Effects:
    """Emit every value not folded in yet, and count them in the state."""
    effects = Effects()
    for record in batch.records:
        folded_to, payload = state.read(b"count")
        staged = effects.changes.get(b"count")
        count = int(staged.payload) if staged else int(payload or b"0")
        if record.offset < folded_to:
            continue
        if record.value == b"poison":
            raise ValueError("poison")
        effects.emit("out", record.key, record.value)
        effects.store(b"count", b"%d" % (count + 1), record.offset + 1)
    return effects


@pytest.fixture(autouse=True)
async def _closed() -> AsyncIterator[None]:
    yield
    while Rig.made:
        Rig.made.pop().lane.close()


@pytest.fixture
async def rig() -> Rig:
    return Rig(Stage(name="copy", sources=(SOURCE,), step=copy_step, table="copies"))


async def test_outputs_then_state_then_ack(rig: Rig) -> None:
    rig.deliver(b"a")
    await rig.until(lambda: len(rig.publisher.submitted) == 1)
    await rig.settle()
    assert rig.publisher.values(CHANGELOG) == []
    rig.publisher.give(0)
    await rig.until(lambda: len(rig.publisher.submitted) == 2)
    await rig.settle()
    assert (rig.acked, rig.confirmed) == ([], {})
    rig.publisher.give(1)
    await rig.until(lambda: rig.acked == [0])
    assert LAYOUT.payload(rig.confirmed[b"count"]) == b"1"
    [change] = rig.publisher.submitted[1][0]
    assert (change.topic, change.key, change.partition) == (CHANGELOG, b"count", 3), (
        "where recovery looks for it"
    )
    assert change.value == rig.confirmed[b"count"]
    assert rig.stored.read_to == 1, "what we wrote ourselves need not be read"


async def test_state_waits_for_the_outputs_of_every_earlier_batch(rig: Rig) -> None:
    rig.deliver(b"a")
    rig.deliver(b"b")
    await rig.until(lambda: len(rig.publisher.submitted) == 2)
    rig.publisher.give(1)
    await rig.settle()
    assert rig.publisher.values(CHANGELOG) == [], "the first batch's outputs are not confirmed yet"
    rig.publisher.give(0)
    await rig.until(lambda: len(rig.publisher.submitted) == 4)
    rig.publisher.give(3)
    await rig.settle()
    assert rig.acked == [], "a later batch is not acked before an earlier one"
    rig.publisher.give(2)
    await rig.until(lambda: rig.acked == [0, 1])
    assert LAYOUT.next_offset(rig.confirmed[b"count"], 0) == 2


async def test_the_next_step_sees_unconfirmed_state(rig: Rig) -> None:
    rig.deliver(b"a")
    rig.deliver(b"b")
    await rig.until(lambda: len(rig.publisher.submitted) == 2)
    assert rig.confirmed == {}
    assert rig.state.read(b"count") == (2, b"2")


async def test_a_failed_confirmation_stops_the_worker_and_acks_nothing(rig: Rig) -> None:
    rig.deliver(b"a")
    rig.deliver(b"b")
    await rig.until(lambda: len(rig.publisher.submitted) == 2)
    rig.publisher.submitted[0][1].set_exception(ConsistencyError("gone"))
    rig.publisher.give(1)
    await rig.until(lambda: rig.failure is not None)
    await rig.settle()
    assert (rig.acked, rig.confirmed) == ([], {})


async def test_a_batch_of_an_older_epoch_is_dropped_and_discarded(rig: Rig) -> None:
    rig.deliver(b"old")
    rig.epoch.stop()
    await rig.until(lambda: rig.discarded == [0])
    assert rig.publisher.submitted == []
    assert rig.state.read(b"count") == (0, None), "no step may have seen it"


async def test_a_new_epoch_drops_what_was_not_submitted(rig: Rig) -> None:
    for _ in range(8):
        await rig.runtime.slots.acquire()
    rig.deliver(b"a")
    await rig.settle()
    rig.epoch.stop()
    rig.runtime.slots.release()
    await rig.until(lambda: rig.discarded == [0])
    assert rig.publisher.submitted == []


async def test_a_batch_that_writes_nothing_waits_for_no_slot() -> None:
    def step(batch: RecordBatch, state: StateReader) -> Effects:
        return copy_step(batch, state) if batch.records[0].value == b"a" else Effects()

    rig = Rig(Stage(name="view", sources=(SOURCE,), step=step, table="views"))
    slots = rig.runtime.slots = asyncio.Semaphore(1)
    await slots.acquire()
    rig.deliver(b"nothing")
    await rig.until(lambda: rig.acked == [0])
    rig.deliver(b"a")
    await rig.settle()
    assert rig.publisher.submitted == [], "what writes something does wait"
    slots.release()
    await rig.give_all(lambda: rig.acked == [0, 1])
    await rig.until(lambda: not rig.lane.busy)
    await slots.acquire()
    assert slots.locked(), "what had none gave none back"


async def test_a_lost_batch_stops_the_worker(rig: Rig) -> None:
    rig.deliver(b"a")
    rig.deliver(b"c", position=7)
    await rig.until(lambda: rig.failure is not None)
    assert isinstance(rig.failure, ConsistencyError)
    assert "a batch was lost" in str(rig.failure)


async def test_offsets_may_skip_when_the_position_fits(rig: Rig) -> None:
    rig.deliver(b"a")
    rig._next = 100
    rig.deliver(b"b", position=1)
    await rig.until(lambda: len(rig.publisher.submitted) == 2)
    assert rig.failure is None


async def test_replayed_records_change_nothing(rig: Rig) -> None:
    rig.confirmed[b"count"] = LAYOUT.seal(None, b"5", 0, 10)
    rig.deliver(b"a", b"b")
    await rig.until(lambda: rig.acked == [1])
    assert rig.publisher.submitted == []


async def test_a_removed_key_is_gone_with_its_mark_logged() -> None:
    def step(batch: RecordBatch, state: StateReader) -> Effects:
        effects = Effects()
        effects.remove(b"old")
        return effects

    rig = Rig(Stage(name="drop", sources=(SOURCE,), step=step, table="t"))
    rig.confirmed[b"old"] = LAYOUT.seal(None, b"1", 0, 5)
    rig.deliver(b"a")
    await rig.until(lambda: len(rig.publisher.submitted) == 1)
    removal = LAYOUT.seal(rig.confirmed[b"old"], None, 0, None)
    assert rig.publisher.values(CHANGELOG) == [removal]
    assert rig.state.read(b"old") == (5, None)
    rig.publisher.give(0)
    await rig.until(lambda: rig.acked == [0])
    assert rig.confirmed == {b"old": removal}


async def test_removed_keys_leave_when_nobody_can_write_them_late(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lane_module, "_PURGE_SECONDS", 0.01)
    monkeypatch.setattr(lane_module, "_PURGE_KEYS", 2)
    rig = Rig(Stage(name="copy", sources=(SOURCE,), step=copy_step, table="copies"))
    keys = [b"a", b"b", b"c"]
    rig.stored.fold(Record(LAYOUT.seal(None, None, 0, 5), key) for key in keys)
    rig.stored.ours_since -= LATE_WRITES_SECONDS
    rig.is_stalled = True
    rig.deliver(b"a")
    await rig.until(lambda: len(rig.publisher.submitted) == 1)
    await asyncio.sleep(0.03)
    assert len(rig.publisher.submitted) == 1, "the partition may be somebody else's by now"
    rig.is_stalled = False
    await rig.give_all(lambda: not rig.stored.removed)
    written = [output for outputs, _ in rig.publisher.submitted for output in outputs]
    assert sorted(output.key for output in written if output.value is None) == keys
    assert not rig.confirmed.keys() & set(keys)
    assert rig.failure is None


async def test_a_lane_that_is_over_purges_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lane_module, "_PURGE_SECONDS", 0.001)
    rig = Rig(Stage(name="copy", sources=(SOURCE,), step=copy_step, table="copies"))
    rig.stored.fold([Record(LAYOUT.seal(None, None, 0, 5), b"a")])
    rig.stored.ours_since -= LATE_WRITES_SECONDS
    rig.epoch.stop()
    await asyncio.sleep(0.02)
    assert rig.publisher.submitted == []


def timer_stage(fired: list[tuple[bytes, float]]) -> Stage:
    def on_timer(keys: Any, context: TimerContext, state: StateReader) -> Effects:
        effects = Effects()
        for key in keys:
            fired.append((key, context.now))
            effects.emit("out", key, b"timer")
            effects.store(key, b"fired")
        return effects

    return Stage(
        name="timed",
        sources=(SOURCE,),
        step=copy_step,
        table="timed",
        on_timer=on_timer,
        timer_at=lambda key, payload: 1.0 if (key, payload) == (b"key", b"due") else None,
    )


async def test_timers_are_restored_from_state_and_leave_marks_alone() -> None:
    fired: list[tuple[bytes, float]] = []
    rig = Rig(timer_stage(fired))
    rig.lane.close()
    rig.confirmed[b"key"] = LAYOUT.seal(None, b"due", 0, 77)
    rig.confirmed[b"other"] = LAYOUT.seal(None, b"not", 0, 78)
    rig.lane = rig.another_lane()
    await rig.until(lambda: len(rig.publisher.submitted) == 1)
    rig.publisher.give(0)
    await rig.until(lambda: len(rig.publisher.submitted) == 2)
    rig.publisher.give(1)
    await rig.until(lambda: LAYOUT.payload(rig.confirmed[b"key"]) == b"fired")
    assert [key for key, _ in fired] == [b"key"]
    assert LAYOUT.next_offset(rig.confirmed[b"key"], 0) == 77


async def test_many_due_timers_let_a_batch_through(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lane_module, "_TIMERS_AT_ONCE", 10)
    fired: list[tuple[bytes, float]] = []
    rig = Rig(timer_stage(fired))
    for number in range(35):
        rig.lane.timers.set(b"%d" % number, 1.0)
    await rig.until(lambda: len(fired) == 10)
    rig.deliver(b"a")
    await rig.until(lambda: rig.state.read(b"count") == (1, b"1"))
    assert len(fired) < 35
    await rig.until(lambda: len(fired) == 35)
    assert len({key for key, _ in fired}) == 35


async def test_nothing_leaves_before_a_timer_s_decision_is_stored() -> None:
    """A batch that is read again decides the same again; a timer need not fire again."""
    rig = Rig(timer_stage([]))
    rig.lane.timers.set(b"key", 1.0)
    await rig.until(lambda: len(rig.publisher.submitted) == 1)
    rig.deliver(b"a")
    await rig.until(lambda: rig.state.read(b"count") == (1, b"1"))
    rig.publisher.give(0)
    await rig.until(lambda: rig.publisher.values(CHANGELOG) != [])
    await rig.settle()
    assert rig.publisher.values("out") == [b"timer"]
    rig.publisher.give(1)
    await rig.until(lambda: rig.publisher.values("out") == [b"timer", b"a"])


async def test_timers_learn_log_positions_after_rereading() -> None:
    """Up to offset 2, an earlier epoch may have published what no timer preceded."""
    seen: list[float] = []

    def on_timer(keys: Any, context: TimerContext, state: StateReader) -> Effects:
        seen.append(context.log_time)
        return Effects()

    rig = Rig(Stage(name="timed", sources=(SOURCE,), step=copy_step, table="timed", on_timer=on_timer))
    for number in range(3):
        rig.arrived = 5000 + number
        rig.deliver(b"a")
        await rig.until(lambda number=number: rig.state.read(b"count")[0] == number + 1)
        rig.lane.timers.set(b"key", 1.0)
        await rig.until(lambda number=number: len(seen) == number + 1)
    assert seen == [0.0, 5.001, 5.002]


async def test_a_timer_knows_partition_and_time_and_reads_state() -> None:
    seen: list[tuple[TimerContext, Any]] = []

    def on_timer(keys: Any, context: TimerContext, state: StateReader) -> Effects:
        seen.append((context, state.read(b"count")))
        return Effects()

    rig = Rig(Stage(name="timed", sources=(SOURCE,), step=copy_step, table="timed", on_timer=on_timer))
    caught_up = {(id(rig.bound), 3): False}
    rig.runtime.caught_up = lambda bound, partition: caught_up[id(bound), partition]
    rig.deliver(b"a")
    await rig.until(lambda: rig.state.read(b"count") == (1, b"1"))
    before = time.time()
    for answer in (False, True):
        caught_up[id(rig.bound), 3] = answer
        rig.lane.timers.set(b"key", 1.0)
        await rig.until(lambda: bool(seen) or rig.failure is not None)
        context, count = seen.pop()
        assert (context.partition, context.caught_up, count) == (3, answer, (1, b"1"))
        assert before <= context.now <= time.time()


async def test_when_the_epoch_is_over_no_timer_fires() -> None:
    fired: list[tuple[bytes, float]] = []
    rig = Rig(timer_stage(fired))
    rig.epoch.stop()
    rig.lane.timers.set(b"key", 1.0)
    rig.lane._queue.put_nowait(None)  # it is due
    await rig.settle()
    assert (fired, rig.failure) == ([], None)


async def test_a_process_that_stood_still_fires_no_timers() -> None:
    fired: list[tuple[bytes, float]] = []
    rig = Rig(timer_stage(fired))
    rig.is_stalled = True
    rig.lane.timers.set(b"key", 1.0)
    await asyncio.sleep(0.05)
    assert fired == []
    rig.is_stalled = False
    await rig.until(lambda: bool(fired))


class TestWhatIsCounted:
    def value(self, rig: Rig, name: str, **labels: str) -> float | None:
        return rig.metrics.registry.get_sample_value(f"switchboard_{name}", labels)

    @pytest.fixture
    async def rig(self) -> Rig:
        def step(batch: RecordBatch, state: StateReader) -> Effects:
            effects = Effects()
            for record in batch.records:
                if record.value == b"bad":
                    effects.dead_letter(record, InvalidRecord("bad", "it says so"))
                    continue
                effects.emit("out", record.key, record.value)
                effects.store(record.value or b"", b"1", record.offset + 1)
                effects.count("skipped_records_total", "copy", "duplicate", by=2)
                effects.observe("response_hold_seconds", 0.5)
            effects.emit("other", b"k", b"end")
            return effects

        return Rig(Stage(name="copy", sources=(SOURCE,), step=step, table="copies"))

    async def test_effects_are_counted_once_they_are_confirmed(self, rig: Rig) -> None:
        rig.deliver(b"a", b"bad", b"b")
        await rig.until(lambda: len(rig.publisher.submitted) == 1)
        of_source = {"service": "ingest", "stage": "copy", "topic": SOURCE}
        assert self.value(rig, "records_total", **of_source) == 3
        assert self.value(rig, "record_batches_total", **of_source) == 1
        assert rig.lane.busy
        assert self.value(rig, "outputs_total", stage="copy", topic="out") is None
        with capture_logs() as logs:
            await rig.give_all(lambda: rig.acked == [2] and not rig.lane.busy)
        assert self.value(rig, "outputs_total", stage="copy", topic="out") == 2
        assert self.value(rig, "outputs_total", stage="copy", topic="other") == 1
        counted = [
            self.value(rig, "effects_total", stage="copy", kind=kind)
            for kind in ("output", "state", "dead_letter")
        ]
        assert counted == [3, 2, 1]
        assert self.value(rig, "dead_letters_total", stage="copy", topic=SOURCE, reason="bad") == 1
        assert self.value(rig, "skipped_records_total", stage="copy", reason="duplicate") == 4
        assert self.value(rig, "response_hold_seconds_sum") == 1.0
        assert self.value(rig, "confirm_seconds_count", stage="copy") == 1
        assert 0 <= (self.value(rig, "confirm_seconds_sum", stage="copy") or 0) < 60
        (letter,) = [line for line in logs if line["log_level"] == "warning"]
        wanted = {"stage": "copy", "topic": SOURCE, "partition": 3, "offset": 1, "reason": "bad"}
        assert wanted.items() <= letter.items()
        assert letter["why"] == "it says so"

    async def test_what_is_dropped_is_counted_as_that(self, rig: Rig) -> None:
        rig.deliver(b"a")
        rig.lane.close()
        assert self.value(rig, "epoch_drops_total", stage="copy") == 1
        assert rig.discarded == [0]


async def test_a_throttled_batch_waits_and_is_dropped_with_its_epoch(rig: Rig) -> None:
    rig.runtime.throttle = Throttle(0.1, [SOURCE])
    rig.deliver(b"a")
    await rig.until(lambda: len(rig.publisher.submitted) == 1)
    rig.deliver(b"b")
    await rig.settle()
    assert len(rig.publisher.submitted) == 1, "its time has not come"
    rig.lane.close()
    await rig.until(lambda: rig.discarded == [1])
    assert not rig.publisher.values("out")[1:]


async def test_timers_of_a_large_state_yield_to_the_loop(rig: Rig) -> None:
    """They are set before a batch is looked at."""
    for number in range(2000):
        rig.stored.confirm(b"%d" % number, LAYOUT.seal(None, b"1", 0, 1))
    seen: list[int] = []
    rig.bound = BoundStage(replace(rig.bound.stage, timer_at=lambda key, payload: 4e9), {SOURCE: 0}, CHANGELOG)
    lane = rig.another_lane()
    while len(lane.timers) < 2000:
        seen.append(len(lane.timers))
        await asyncio.sleep(0)
    assert len(seen) > 3
    lane.close()


async def test_a_batch_waits_until_memory_has_room_for_its_state(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    has_room = asyncio.Event()
    monkeypatch.setattr(rig.state, "room", has_room.wait)
    rig.deliver(b"a")
    await rig.settle()
    assert rig.publisher.submitted == []
    has_room.set()
    await rig.until(lambda: len(rig.publisher.submitted) == 1)
