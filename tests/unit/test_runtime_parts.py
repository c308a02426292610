"""The small parts of the runtime: ledger, timers, partitioner, scheduler, effects, throttle."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from itertools import pairwise

import pytest
from aiokafka.partitioner import murmur2 as reference_murmur2
from hypothesis import given
from hypothesis import strategies as st

from streams.clients.partitioner import murmur2, partition_of, partitions_of
from streams.clients.records import Origin, Record, RecordBatch, origin, rerouted
from streams.runtime.effects import Effects, StateChange
from streams.runtime.faust_internals import TP
from streams.runtime.ledger import DeliveryLedger
from streams.runtime.scheduler import BatchScheduler
from streams.runtime.throttle import Throttle
from streams.runtime.timers import Timers

TP0 = TP("t", 0)
TP1 = TP("t", 1)


@dataclass
class Message:
    offset: int
    acked: bool = False


class TestLedger:
    def test_commits_the_longest_acked_prefix_only(self) -> None:
        ledger: DeliveryLedger[TP] = DeliveryLedger()
        messages = [Message(9), Message(19), Message(29)]
        for message in messages:
            ledger.deliver(TP0, message)
        messages[1].acked = True
        assert ledger.committable() == {}
        messages[0].acked = True
        assert ledger.committable() == {TP0: 20}

    def test_the_oldest_is_the_first_that_is_not_acked(self) -> None:
        ledger: DeliveryLedger[TP] = DeliveryLedger()
        messages = [Message(9, acked=True), Message(19), Message(29)]
        for arrived, message in enumerate(messages, 100):
            ledger.deliver(TP0, message, 1, arrived)
        assert ledger.oldest(TP0) == 101
        assert ledger.oldest(TP1) is None
        ledger.deliver(TP1, Message(9))
        assert ledger.oldest(TP1) == 0
        messages[1].acked = messages[2].acked = True
        assert ledger.oldest(TP0) is None

    def test_what_was_acked_during_the_commit_stays_for_the_next(self) -> None:
        ledger: DeliveryLedger[TP] = DeliveryLedger()
        late = Message(19)
        ledger.deliver(TP0, Message(9, acked=True))
        ledger.deliver(TP0, late)
        ready = ledger.committable()
        late.acked = True
        ledger.settle(ready)
        assert ledger.committable() == {TP0: 20}

    def test_only_what_waits_for_an_ack_takes_bytes(self) -> None:
        ledger: DeliveryLedger[TP] = DeliveryLedger()
        waits = Message(2)
        ledger.deliver(TP0, Message(1))
        ledger.deliver(TP0, waits, 100)
        assert (ledger.outstanding_bytes(TP0), ledger.outstanding_bytes(TP1)) == (100, 0)
        waits.acked = True
        assert ledger.outstanding_bytes(TP0) == 0

    def test_a_commit_removes_only_offsets_below_it(self) -> None:
        ledger: DeliveryLedger[TP] = DeliveryLedger()
        for offset in (9, 10):
            ledger.deliver(TP0, Message(offset, acked=True))
        ledger.settle({TP0: 10})
        assert ledger.committable() == {TP0: 11}

    async def test_who_waits_for_room_looks_again_in_time(self) -> None:
        """Room may come without an ack: nobody notifies then."""
        ledger: DeliveryLedger[TP] = DeliveryLedger()
        await asyncio.wait_for(ledger.freed(timeout=0.01), 60)

    async def test_an_ack_wakes_who_waits_for_room(self) -> None:
        ledger: DeliveryLedger[TP] = DeliveryLedger()
        waiter = asyncio.create_task(ledger.freed(timeout=600))
        await asyncio.sleep(0)
        ledger.notify()
        await asyncio.wait_for(waiter, 60)


class TestPartitioner:
    def test_is_what_a_java_producer_computes(self) -> None:
        # org.apache.kafka.common.utils.UtilsTest.testMurmur2
        expected = {b"21": -973932308, b"foobar": -790332482, b"a-little-bit-long-string": -985981536}
        for key, hashed in expected.items():
            assert murmur2(key) == hashed & 0xFFFFFFFF
        assert partition_of(b"21", 8) == (-973932308 & 0x7FFFFFFF) % 8

    @given(st.lists(st.binary(max_size=9), max_size=30), st.integers(1, 50), st.integers(1, 200))
    def test_many_keys_go_where_each_goes_alone(self, keys: list[bytes], partitions: int, copies: int) -> None:
        many = [key + b"%03d" % n for n in range(copies) for key in keys]
        assert partitions_of(many, partitions) == [
            (reference_murmur2(key) & 0x7FFFFFFF) % partitions for key in many
        ]


class TestOrigin:
    def copy(self, came_from: bytes, timestamp: bytes | None) -> Origin | None:
        return origin([("rerouted_from", came_from), ("rerouted_timestamp", timestamp), ("own", b"1")])

    def test_a_copy_says_where_the_first_one_stands(self) -> None:
        first = Record(b"v", b"k", 7, "a-topic", 3, 1234, [("own", b"1")])
        copy = first._replace(headers=rerouted(first), offset=0, partition=5)
        assert origin(copy.headers) == ("a-topic-3", 7, 1234)
        assert origin(rerouted(copy)) == ("a-topic-3", 7, 1234)
        assert origin(first.headers) is None

    @pytest.mark.parametrize(
        ("came_from", "timestamp"),
        [
            (b"t-3-x", b"5"),
            (b"t-3-" + b"9" * 5000, b"5"),
            ("t-3-²".encode(), b"5"),
            (b"-7", b"5"),
            (b"t-3-7", None),
            (b"\xff", b"5"),
        ],
    )
    def test_what_is_no_origin_is_none(self, came_from: bytes, timestamp: bytes | None) -> None:
        assert self.copy(came_from, timestamp) is None


class TestRecordBatch:
    def batch(self) -> RecordBatch:
        return RecordBatch(records("t", 3, 10, 5), position=8, epoch=4, source="catalog.t", source_index=1)

    def test_halves_are_all_of_it_in_order(self) -> None:
        first, second = self.batch().halves()
        assert [[record.offset for record in half.records] for half in (first, second)] == [
            [10, 11],
            [12, 13, 14],
        ]
        assert {(half.epoch, half.source, half.source_index) for half in (first, second)} == {
            (4, "catalog.t", 1)
        }
        assert [len(part) for part in first.halves()] == [1, 1]

    def test_a_batch_s_rest_stands_in_its_place(self) -> None:
        """Positions do not depend on what was taken out: nothing may be taken for lost."""
        for kept in ([], records("t", 3, 11, 2)):
            rest = self.batch().only(kept)
            assert rest.records == kept
            assert (rest.position, rest.offset, rest.next_position, rest.epoch) == (8, 14, 15, 4)
            assert (rest.source, rest.source_index) == ("catalog.t", 1)


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0
        self.calls: list[tuple[float, Clock.Handle]] = []

    class Handle:
        cancelled = False

        def cancel(self) -> None:
            self.cancelled = True

    def schedule(self, delay: float) -> Handle:
        handle = Clock.Handle()
        self.calls.append((self.now + delay, handle))
        return handle

    def pending(self) -> list[float]:
        return [at for at, handle in self.calls if not handle.cancelled]


class TestTimers:
    def test_due_timers_are_handed_out_earliest_first(self) -> None:
        clock = Clock()
        timers = Timers(clock.schedule, lambda: clock.now)
        for number in range(7):
            timers.set(b"%d" % number, 1000 - number)
        timers.set(b"later", 1001)
        assert timers.due(1000, 3) == [b"6", b"5", b"4"]
        timers.set(b"5", 990)
        timers.arm()
        assert min(clock.pending()) == pytest.approx(1000.005), "at once, but not before others had their turn"
        assert timers.due(1000, 3) == [b"5", b"3", b"2"]
        assert timers.due(1000, 3) == [b"1", b"0"]
        assert timers.due(1000, 3) == []

    def test_one_wake_up_is_pending_for_the_earliest(self) -> None:
        clock = Clock()
        timers = Timers(clock.schedule, lambda: clock.now)
        for key, at in ((b"a", 1030), (b"b", 1020), (b"c", 1040)):
            timers.set(key, at)
        assert clock.pending() == [pytest.approx(1020)]
        timers.due(1020, 99)
        timers.arm()
        assert clock.pending() == [pytest.approx(1030)]
        timers.close()
        assert clock.pending() == []
        assert timers.due(2000, 99) == []
        assert len(timers) == 0

    def test_a_timer_postponed_again_and_again_takes_no_room(self) -> None:
        clock = Clock()
        timers = Timers(clock.schedule, lambda: clock.now)
        for later in range(100):
            timers.set(b"a", 1100 + later // 2)
        assert len(timers._heap) == 1
        assert timers.due(1148, 99) == []
        assert timers.due(1149, 99) == [b"a"]

    def test_timers_of_one_time_need_one_wake_up(self) -> None:
        clock = Clock()
        timers = Timers(clock.schedule, lambda: clock.now)
        for key in (b"a", b"b", b"c"):
            timers.set(key, 1010)
        assert len(clock.calls) == 1

    def test_an_earlier_timer_does_not_wait_for_what_was_postponed(self) -> None:
        clock = Clock()
        timers = Timers(clock.schedule, lambda: clock.now)
        timers.set(b"a", 1010)
        timers.postpone(5)
        timers.set(b"b", 1002)
        assert clock.pending() == [pytest.approx(1002)]

    def test_postponed_timers_ask_again_later(self) -> None:
        clock = Clock()
        timers = Timers(clock.schedule, lambda: clock.now)
        timers.set(b"a", 990)
        timers.postpone(5)
        assert clock.pending() == [pytest.approx(1005)]
        timers.set(b"b", 1010)
        assert clock.pending() == [pytest.approx(1005)], "only an earlier one is worth another wake-up"
        assert timers.due(1005, 99) == [b"a"]

    @given(st.lists(st.tuples(st.sampled_from([b"a", b"b", b"c"]), st.none() | st.integers(0, 50))))
    def test_agrees_with_a_plain_dict(self, settings: list[tuple[bytes, int | None]]) -> None:
        clock = Clock()
        timers = Timers(clock.schedule, lambda: clock.now)
        plain: dict[bytes, int] = {}
        for key, at in settings:
            timers.set(key, at)
            plain.pop(key, None)
            if at is not None:
                plain[key] = at
        for now in range(0, 51, 10):
            due = sorted(key for key, at in plain.items() if at <= now)
            assert sorted(timers.due(now, 99)) == due
            for key in due:
                del plain[key]


def records(topic: str, partition: int, first: int, count: int) -> list[Record]:
    return [Record(b"v", b"k", first + n, topic, partition) for n in range(count)]


class TestScheduler:
    def test_every_record_is_in_one_bounded_ordered_batch(self) -> None:
        scheduler = BatchScheduler(lambda topic: (4, f"catalog.{topic}", 1), 1_000_000)
        fetched = {TP0: records("t", 0, 100, 10), TP1: records("t", 1, 7, 3)}
        batches = list(scheduler.iterate(fetched))
        assert [(tp.partition, len(batch)) for tp, batch in batches] == [(0, 4), (1, 3), (0, 4), (0, 2)]
        for tp, expected in fetched.items():
            got = [record for where, batch in batches if where == tp for record in batch.records]
            assert got == expected
        assert {(batch.source, batch.source_index) for _, batch in batches} == {("catalog.t", 1)}

    @given(st.lists(st.integers(0, 30), min_size=1, max_size=60), st.integers(1, 20), st.integers(1, 60))
    def test_no_batch_could_take_one_more_record(self, sizes: list[int], most: int, most_bytes: int) -> None:
        fetched = [Record(bytes(size), b"k", offset, "t") for offset, size in enumerate(sizes)]
        scheduler = BatchScheduler(lambda topic: (most, topic, 0), most_bytes)
        batches = [batch for _, batch in scheduler.iterate({TP0: fetched})]
        assert [record for batch in batches for record in batch.records] == fetched
        for batch in batches:
            size = sum(len(record.value or b"") for record in batch.records)
            assert batch.size == size
            assert len(batch) == 1 or (len(batch) <= most and size <= most_bytes)
        for batch, after in pairwise(batches):
            grown = batch.size + len(after.records[0].value or b"")
            assert len(batch) == most or grown > most_bytes


class TestEffects:
    def test_later_events_are_appended_and_the_last_counts(self) -> None:
        first, second = Effects(), Effects()
        for effects, n in ((first, 1), (second, 2)):
            effects.emit("t", b"k", b"%d" % n)
            effects.store(b"k", b"%d" % n, n)
            effects.wake(b"both", n)
            effects.wake(b"only %d" % n, n)
            effects.count("metric", "label", by=n)
            effects.observe("size", n)
        first.absorb(second)
        assert [output.value for output in first.outputs] == [b"1", b"2"]
        assert first.changes == {b"k": StateChange(b"2", 2)}
        assert first.timers == {b"both": 2, b"only 1": 1, b"only 2": 2}
        assert first.counts == {("metric", ("label",)): 3}
        assert first.observations == [("size", (), 1), ("size", (), 2)]

    def test_changes_are_ordered_by_each_key_s_last_call(self) -> None:
        first, second = Effects(), Effects()
        first.store(b"state", b"1", 1)
        first.store(b"page", b"p", None)
        first.store(b"state", b"2", 2)
        assert list(first.changes) == [b"page", b"state"]
        second.store(b"page", b"q", None)
        second.remove(b"old")
        first.absorb(second)
        assert list(first.changes) == [b"state", b"page", b"old"]
        first.remove(b"state")
        assert list(first.changes) == [b"page", b"old", b"state"]


def test_batches_pass_one_after_the_other_at_the_rate() -> None:
    now = 100.0
    throttle = Throttle(50.0, ["messages"], lambda: now)
    assert [throttle.wait("messages", 25) for _ in range(3)] == [0.0, 0.5, 1.0]
    now = 110.0
    assert throttle.wait("messages", 25) == 0.0, "time in which nothing came is not saved up"
    assert throttle.wait("messages", 25) == 0.5


def test_batches_are_cut_so_that_no_lane_waits_long() -> None:
    throttle = Throttle(80.0, ["messages"])
    assert throttle.most("messages", 4000) == 10
    assert throttle.most("messages", 4) == 4
    assert Throttle(0.5, ["messages"]).most("messages", 4000) == 1


def test_other_topics_and_no_rate_are_not_held_up() -> None:
    for throttle in (Throttle(0.001, ["messages"]), Throttle(0.0, ["windows"])):
        assert [throttle.wait("windows", 1000) for _ in range(3)] == [0.0] * 3
        assert throttle.most("windows", 4000) == 4000
