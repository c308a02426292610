"""A stepper, driven by hand: what is isolated, dead-lettered, waited for, and what stops the worker.

The publisher packs into the producer's own batches; nothing is sent, and what was packed is read back as a
consumer would read it.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Iterable
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest
import structlog
from aiokafka import AIOKafkaProducer
from structlog.testing import capture_logs

from models.errors import ConsistencyError, DependencyUnavailable, InvalidRecord, Unanswered
from streams.clients.aiokafka_internals import MemoryRecords
from streams.clients.partitioner import partition_of
from streams.clients.records import Record, RecordBatch, UnreadBatch, rerouted
from streams.config.settings import Settings
from streams.runtime.effects import Effects
from streams.runtime.marks import Layout
from streams.runtime.publisher import Publisher, TopicLayout, record_bytes
from streams.runtime.stage import BoundStage, Stage, StateReader
from streams.runtime.stamp import stamp
from streams.runtime.stepping import MOST_FAILED, Prepared, Stepper
from streams.runtime.stored import StoredPartition
from streams.runtime.table import NoState, PartitionState
from streams.telemetry.health import HealthState
from streams.telemetry.metrics import Metrics

SOURCE, OUT, CHANGELOG = "chat.messages.v1", "out", "changelog"
LIMITS = {OUT: 1000, CHANGELOG: 500}


class Service:
    """What a stepper asks of the service; ``now`` is the clock of its health."""

    def __init__(self, publisher: Publisher) -> None:
        self.now = 0.0
        self.name = "ingest"
        self.settings = Settings(retry_min_seconds=0.001, retry_max_seconds=0.002, step_timeout_seconds=0.03)
        self.metrics = Metrics()
        self.health = HealthState(60, lambda: self.now)
        self.health.clear("starting")
        self.log = structlog.get_logger()
        self.publisher = publisher
        self.withheld: frozenset[str] = frozenset()
        self.reset_hint = "switchboard state reset ingest"

    def value(self, metric: str, *labels: str) -> float:
        found: float = getattr(self.metrics, metric).labels(*labels)._value.get()
        return found


class Bench:
    """A stage, its steppers by partition, and all that was ready to be published."""

    def __init__(self, service: Service, stage: Stage, hashed: int = 0) -> None:
        self.service = service
        self.bound = BoundStage(stage, {SOURCE: hashed}, CHANGELOG if stage.table else "")
        self.timers: dict[bytes, float | None] = {}
        self.states: dict[int, Any] = {}
        self.steppers: dict[int, Stepper] = {}
        self.offset = 0
        self.upcoming: RecordBatch | None = None
        self.ready: list[Prepared] = []

    def stepper(self, partition: int = 0) -> Stepper:
        if partition not in self.steppers:
            state = PartitionState(StoredPartition((SOURCE,))) if self.bound.changelog else NoState()
            self.states[partition] = state
            lane: Any = SimpleNamespace(
                runtime=self.service,
                bound=self.bound,
                partition=partition,
                state=state,
                timers=SimpleNamespace(set=self.timers.__setitem__),
                upcoming=lambda: self.upcoming,
            )
            self.steppers[partition] = Stepper(lane)
        return self.steppers[partition]

    async def run(self, *values: bytes | None, partition: int = 0) -> Prepared:
        first, self.offset = self.offset, self.offset + len(values)
        found = [Record(value, b"k", first + n, SOURCE, partition) for n, value in enumerate(values)]
        return await self.take(*found)

    async def take(self, *records: Record | UnreadBatch) -> Prepared:
        prepared = await self.stepper(records[0].partition).run(RecordBatch([*records], source=SOURCE))
        self.ready.append(prepared)
        return prepared

    def letter(self) -> dict[str, bytes]:
        [headers] = [headers for each in self.ready for topic, _, _, headers in read(each) if topic != OUT]
        return dict(headers)

    def values(self, topic: str) -> list[bytes | None]:
        return [value for prepared in self.ready for where, _, value, _ in read(prepared) if where == topic]

    def letters(self) -> list[tuple[bytes | None, str]]:
        return [
            (value, dict(headers)["dlq_reason"].decode())
            for prepared in self.ready
            for where, _, value, headers in read(prepared)
            if where == SOURCE + ".dlq"
        ]

    async def until(self, condition: Callable[[], object]) -> None:
        async with asyncio.timeout(60):
            while not condition():
                await asyncio.sleep(0.001)


def read(prepared: Prepared) -> Iterable[tuple[str, int, bytes | None, Any]]:
    """Yield ``(topic, partition, value, headers)`` of everything that is packed, as a consumer reads it."""
    for topic, partition, builder in prepared.packed:
        for record in MemoryRecords(bytes(builder._build())).next_batch():
            yield topic, partition, record.value, record.headers


@pytest.fixture
async def service() -> AsyncIterator[Service]:
    producer = AIOKafkaProducer(max_batch_size=16_384)
    layout = TopicLayout(lambda topic: topic, lambda topic: 8, lambda topic: LIMITS.get(topic, 1 << 20))
    yield Service(Publisher(producer, layout, submit_timeout=1))
    await producer.stop()


def count_step(batch: RecordBatch, state: StateReader) -> Effects:
    """Copy each value, with how many there were before it; raise on some, refuse some."""
    effects = Effects()
    for record in batch.records:
        value = record.value or b""
        if value == b"invalid":
            effects.dead_letter(record, InvalidRecord("invalid_json", "the step said so"))
            continue
        if value.startswith(b"poison"):
            raise ValueError("poison")
        staged = effects.changes.get(b"n")
        stored = staged.payload if staged else state.read(b"n")[1]
        n = int(stored or b"0")
        effects.emit(OUT, record.key, b"%s %d" % (value, n))
        effects.store(b"n", b"%d" % (n + 1), record.offset + 1)
    return effects


def stage(step: Any = count_step, **changes: Any) -> Stage:
    kind = {"async_step" if asyncio.iscoroutinefunction(step) else "step": step}
    return Stage(**{"name": "stage", "sources": (SOURCE,), "table": "t"} | kind | changes)


def stored_in(state: PartitionState, value: bytes, offset: int) -> Any:
    effects = Effects()
    effects.store(b"k", value, offset)
    return state.store(effects.changes)


class TestInAThread:
    async def test_the_event_loop_survives_a_visible_hanging_step(self, service: Service) -> None:
        go_on, threads = threading.Event(), []

        def slow(batch: RecordBatch, state: StateReader) -> Effects:
            threads.append(threading.current_thread())
            assert go_on.wait(60), "the event loop stood still"
            return count_step(batch, state)

        bench = Bench(service, stage(slow, in_thread=(SOURCE,)))
        running = asyncio.create_task(bench.run(b"a", b"poison", b"b"))
        await bench.until(lambda: threads)
        assert bench.steppers[0].running
        service.now += 61
        service.health.beat()
        assert service.health.why_unhealthy() == ["the step of stage has not answered for 61 s"]
        go_on.set()
        await running
        assert service.health.why_unhealthy() == []
        assert bench.values(OUT) == [b"a 0", b"b 1"]
        assert bench.letters() == [(b"poison", "step_failed")]
        assert threading.main_thread() not in threads

    async def test_a_step_that_reaches_the_next_record_returns(self, service: Service) -> None:
        seen: list[list[str]] = []

        def slow(batch: RecordBatch, state: StateReader) -> Effects:
            for _ in batch.records:
                service.now += 50
                service.health.beat()
                seen.append(service.health.why_unhealthy())
            return count_step(batch, state)

        bench = Bench(service, stage(slow, in_thread=(SOURCE,)))
        await bench.run(b"a", b"b", b"c")
        assert seen == [[], [], []]
        assert bench.values(OUT) == [b"a 0", b"b 1", b"c 2"]

    async def test_a_step_that_ends_an_iterator_early_returns(self, service: Service) -> None:
        def step(batch: RecordBatch, state: StateReader) -> Effects:
            next(record for record in batch.records if record.value == b"good")
            return count_step(batch, state)

        bench = Bench(service, stage(step, in_thread=(SOURCE,)))
        async with asyncio.timeout(60):
            await bench.run(b"bad")
        assert bench.letters() == [(b"bad", "step_failed")]

    def test_a_value_that_is_confirmed_meanwhile_is_read_as_before(self) -> None:
        """Confirming moves it from the overlay to the table, while a step in a thread may look for it."""
        state, seen = PartitionState(StoredPartition((SOURCE,))), []
        state.confirm(stored_in(state, b"old", 1))
        values = stored_in(state, b"new", 2)

        class Watched(dict[bytes, bytes]):
            def __delitem__(self, key: bytes) -> None:
                super().__delitem__(key)
                seen.append(state.read(key))

        state._overlay = Watched(state._overlay)
        state.confirm(values)
        assert seen == [(2, b"new")]

    def test_a_value_confirmed_during_a_listing_is_listed(self) -> None:
        stored = StoredPartition((SOURCE,))
        state = PartitionState(stored)
        values = stored_in(state, b"new", 1)

        class Watched(dict[bytes, bytes]):
            def copy(self) -> dict[bytes, bytes]:
                found = super().copy()
                state.confirm(values)
                return found

        stored.values._latest = Watched()
        assert [*state.items()] == [(b"k", b"new")]


class TestIsolation:
    async def test_one_record_that_fails_changes_nothing_for_the_others(self, service: Service) -> None:
        good = [b"m%d" % n for n in range(200)]
        undisturbed = Bench(service, stage())
        await undisturbed.run(*good)
        bench = Bench(service, stage())
        with capture_logs() as lines:
            await bench.run(*good[:77], b"poison", *good[77:])
        assert bench.letters() == [(b"poison", "step_failed")]
        told = [(line["log_level"], line.get("offset"), line.get("first_offset")) for line in lines]
        assert told == [("warning", None, 0), ("error", 77, None)], "said once, however often it is halved"
        assert bench.values(OUT) == undisturbed.values(OUT)
        assert bench.states[0].read(b"n") == (201, b"200")
        assert [Layout((SOURCE,)).payload(value) for value in bench.ready[0].values.values()] == [b"200"]

    async def test_outputs_say_what_made_them_and_dead_letters_are_copies(self, service: Service) -> None:
        bench = Bench(service, stage(decided_by={"setting": 1}))
        prepared = await bench.run(b"a", b"poison", b"b")
        made_by = list(stamp({"setting": 1}))
        assert [headers for topic, _, _, headers in read(prepared) if topic == OUT] == [made_by, made_by]
        assert bench.letter()["dlq_message"] == b"ValueError: poison"
        assert not bench.letter().keys() & dict(made_by).keys()

    async def test_an_output_that_is_too_large_costs_its_record_only(self, service: Service) -> None:
        bench = Bench(service, stage())
        await bench.run(b"a", b"x" * 2000, b"b")
        assert bench.values(OUT) == [b"a 0", b"b 1"]
        assert bench.letters() == [(b"x" * 2000, "output_too_large")]

    async def test_so_does_a_value_that_the_changelog_does_not_take(self, service: Service) -> None:
        def step(batch: RecordBatch, state: StateReader) -> Effects:
            effects = Effects()
            for record in batch.records:
                effects.store(record.value or b"", bytes(len(record.value or b"") * 10), record.offset + 1)
            return effects

        bench = Bench(service, stage(step))
        # 500 bytes, less what a record needs, and its marks; eleven times each letter.
        await bench.run(b"small", b"x" * 30, b"y" * 31, b"x" * 3)
        assert bench.letters() == [(b"y" * 31, "output_too_large")]
        assert list(bench.ready[0].values) == [b"small", b"x" * 30, b"x" * 3]
        assert bench.states[0].read(b"y" * 31) == (0, None)

    async def test_effects_of_a_failing_batch_count_once(self, service: Service) -> None:
        def step(batch: RecordBatch, state: StateReader) -> Effects:
            effects = count_step(batch, state)
            effects.count("skipped_records_total", "stage", "replayed", by=len(batch))
            effects.wake(b"k", float(batch.offset))
            return effects

        bench = Bench(service, stage(step))
        prepared = await bench.run(b"a", b"poison", b"b", b"c")
        assert prepared.account.counts == {("skipped_records_total", ("stage", "replayed")): 3}
        assert bench.timers == {b"k": 3.0}

    @pytest.mark.parametrize("error", [ConsistencyError("state"), MemoryError()])
    @pytest.mark.parametrize("size", [1, 20])
    async def test_errors_of_no_record_are_raised(self, service: Service, error: Exception, size: int) -> None:
        calls = []

        def step(batch: RecordBatch, state: StateReader) -> Effects:
            calls.append(len(batch))
            raise error

        bench = Bench(service, stage(step))
        with pytest.raises(type(error)):
            await bench.run(*[b"m"] * size)
        assert calls == [size]
        assert not bench.stepper().running


class TestDefects:
    @pytest.mark.parametrize(("size", "partitions"), [(1, 1), (32, 1), (1000, 1), (10, 8)])
    async def test_a_step_that_fails_on_everything_stops_the_worker(
        self, service: Service, size: int, partitions: int
    ) -> None:
        bench = Bench(service, stage())
        with pytest.raises(ConsistencyError, match="defect of the stage"):
            for n in range(200):
                await bench.run(*[b"poison"] * size, partition=n % partitions)
        # Nothing of the batch in which it was noticed.
        assert len(bench.letters()) == (MOST_FAILED - 1) // size * size

    async def test_a_record_that_gets_done_begins_the_count_anew(self, service: Service) -> None:
        bench = Bench(service, stage())
        for n in range(5):
            await bench.run(*[b"poison"] * 60, b"good", *[b"poison"] * 39, partition=n)
            await bench.run(b"good")
        assert len(bench.letters()) == 5 * 99
        for n in range(2):
            await bench.run(*[b"poison"] * (MOST_FAILED - 1), partition=n)
            await bench.run(b"good")
        assert len(bench.letters()) == 7 * 99

    async def test_a_topic_of_invalid_records_is_dead_lettered_without_stopping(self, service: Service) -> None:
        bench = Bench(service, stage())
        for _ in range(5):
            await bench.run(*[b"invalid"] * 2000)
        assert len(bench.letters()) == 10_000

    async def test_invalid_records_do_not_hide_a_defect(self, service: Service) -> None:
        bench = Bench(service, stage())
        with pytest.raises(ConsistencyError, match="defect of the stage"):
            for _ in range(200):
                await bench.run(b"poison", b"invalid")
        assert len(bench.letters()) == 2 * (MOST_FAILED - 1)


class Stored(msgspec.Struct):
    n: int


def decoding_step(batch: RecordBatch, state: StateReader) -> Effects:
    """Decode state, and records, without a care."""
    effects = Effects()
    for record in batch.records:
        payload = state.read(b"n")[1]
        if payload:
            msgspec.json.decode(payload, type=Stored)
        msgspec.json.decode(record.value or b"", type=Stored)
        effects.emit(OUT, record.key, record.value)
    return effects


class TestState:
    @pytest.mark.parametrize("size", [1, 2, 20])
    @pytest.mark.parametrize("stored", [b"no json", b'{"n": "of another type"}'])
    @pytest.mark.parametrize("calls_out", [False, True])
    async def test_state_that_cannot_be_decoded_stops_the_worker(
        self, service: Service, size: int, stored: bytes, calls_out: bool
    ) -> None:
        async def async_step(batch: RecordBatch, state: StateReader) -> Effects:
            return decoding_step(batch, state)

        bench = Bench(service, stage(async_step if calls_out else decoding_step))
        bench.stepper()
        bench.states[0].store({b"n": SimpleNamespace(payload=stored, next_offset=0)})
        with pytest.raises(ConsistencyError, match=r"cannot decode its state.*switchboard state reset ingest"):
            await bench.run(*[b'{"n": 1}'] * size)

    @pytest.mark.parametrize("table", ["t", None])
    async def test_an_undecodable_record_is_dead_lettered(self, service: Service, table: str | None) -> None:
        bench = Bench(service, stage(decoding_step, table=table))
        await bench.run(b'{"n": 1}', b"no json", b'{"n": 2}')
        assert bench.letters() == [(b"no json", "step_failed")]
        assert bench.values(OUT) == [b'{"n": 1}', b'{"n": 2}']


class Outside:
    """Something outside, as a step sees it: what it does not answer, and whether it is there at all."""

    def __init__(self, *silent: bytes) -> None:
        self.silent = set(silent)
        self.hangs = False
        self.down: set[bytes] = set()
        self.calls: list[list[bytes]] = []
        self.on_call: Callable[[list[bytes]], None] = lambda values: None

    async def step(self, batch: RecordBatch, state: StateReader) -> Effects:
        values = [record.value or b"" for record in batch.records if record.offset >= state.read(b"n")[0]]
        effects = Effects()
        if not values:
            return effects
        self.calls.append(values)
        self.on_call(values)
        await asyncio.sleep(0)
        if self.down.intersection(values):
            raise DependencyUnavailable("qdrant", "it says that it is down")
        if self.hangs or self.silent.intersection(values):
            await asyncio.Event().wait()
        for value in values:
            effects.emit(OUT, b"k", value)
        effects.store(b"n", b"", batch.offset + 1)
        return effects


class TestSilence:
    async def test_a_record_not_answered_while_others_are_is_dead_lettered(self, service: Service) -> None:
        outside = Outside(b"silent")
        bench = Bench(service, stage(outside.step))
        await bench.run(b"a", b"b", b"silent", b"c", b"d")
        assert bench.values(OUT) == [b"a", b"b", b"c", b"d"]
        assert bench.letters() == [(b"silent", "no_answer")]
        assert bench.letter()["dlq_attempts"] == b"4"
        assert b"no answer within 0.03 s" in bench.letter()["dlq_message"]
        assert outside.calls.count([b"silent"]) == 4
        # The whole twice, then ever fewer.
        assert outside.calls[:2] == [[b"a", b"b", b"silent", b"c", b"d"]] * 2
        assert outside.calls[2] == [b"a", b"b"]

    async def test_one_that_is_alone_is_compared_with_an_earlier_one(self, service: Service) -> None:
        outside = Outside(b"silent")
        bench = Bench(service, stage(outside.step))
        await bench.run(b"early")
        await bench.run(b"silent")
        assert bench.letters() == [(b"silent", "no_answer")]
        assert bench.values(OUT) == [b"early"], "what was asked for to see an answer is not published again"

    async def test_or_with_one_that_waits_behind_it(self, service: Service) -> None:
        bench = Bench(service, stage(Outside(b"silent").step))
        waiting = asyncio.create_task(bench.run(b"silent"))
        await bench.until(lambda: service.value("retries_total", "stage", "stage") >= 6)
        bench.upcoming = RecordBatch([Record(b"later", b"k", 1, SOURCE), Record(b"silent", b"k", 2, SOURCE)])
        await waiting
        assert bench.letters() == [(b"silent", "no_answer")]
        assert bench.values(OUT) == [], "its turn comes"

    async def test_a_batch_that_takes_too_long_is_split(self, service: Service) -> None:
        async def slow(batch: RecordBatch, state: StateReader) -> Effects:
            if len(batch) > 3:
                await asyncio.Event().wait()
            return count_step(batch, state)

        bench = Bench(service, stage(slow))
        await bench.run(*[b"m"] * 10)
        assert bench.letters() == []
        assert bench.values(OUT) == [b"m %d" % n for n in range(10)]

    async def test_what_is_silent_on_all_is_waited_for(self, service: Service) -> None:
        outside = Outside()
        bench = Bench(service, stage(outside.step))
        await bench.run(b"before")
        outside.hangs = True
        waiting = asyncio.create_task(bench.run(b"a", b"b", b"c"))
        await bench.until(lambda: outside.calls.count([b"a"]) >= 10)
        outside.hangs = False
        await waiting
        assert bench.letters() == []
        assert bench.values(OUT) == [b"before", b"a", b"b", b"c"]

    async def test_what_has_just_come_back_is_asked_again(self, service: Service) -> None:
        outside = Outside()
        outside.hangs = True

        def come_back(values: list[bytes]) -> None:
            if values == [b"b"] and outside.calls.count([b"a"]) >= 2:
                outside.hangs = False

        outside.on_call = come_back
        bench = Bench(service, stage(outside.step))
        await bench.run(b"a", b"b")
        assert not outside.hangs
        assert bench.letters() == []
        assert bench.values(OUT) == [b"a", b"b"]

    async def test_an_old_answer_says_nothing_of_now(self, service: Service) -> None:
        outside = Outside(b"silent")
        bench = Bench(service, stage(outside.step))
        waiting = asyncio.create_task(bench.run(b"silent", partition=1))
        await bench.until(lambda: outside.calls)
        await bench.run(b"other", partition=2)
        outside.hangs = True
        await bench.until(lambda: outside.calls.count([b"silent"]) >= 12)
        assert not waiting.done()
        outside.hangs, outside.silent = False, set()
        await waiting
        assert bench.letters() == []

    async def test_a_record_without_call_mentions_no_call(self, service: Service) -> None:
        async def step(batch: RecordBatch, state: StateReader) -> Effects:
            effects = Effects()
            for record in batch.records:
                if record.value == b"invalid":
                    effects.dead_letter(record, InvalidRecord("invalid_json", "no"))
                elif record.value != b"skipped":
                    await outside.step(RecordBatch([record]), state)
            return effects

        outside = Outside()
        outside.hangs = True
        bench = Bench(service, stage(step))
        waiting = asyncio.create_task(bench.run(b"skipped", b"invalid", b"needs it", b"skipped", b"invalid"))
        await bench.until(lambda: outside.calls.count([b"needs it"]) >= 12)
        outside.hangs = False
        await waiting
        assert [value for value, _ in bench.letters()] == [b"invalid", b"invalid"]

    async def test_a_reported_outage_is_waited_for_with_one_record(self, service: Service) -> None:
        outside = Outside()
        outside.down = {b"unlucky"}
        bench = Bench(service, stage(outside.step))
        await bench.run(b"early")
        waiting = asyncio.create_task(bench.run(b"unlucky", b"other"))
        await bench.until(lambda: service.value("retries_total", "stage", "qdrant") >= 12)
        assert outside.calls[1:] == [[b"unlucky", b"other"]] * len(outside.calls[1:]), "and never cut"
        outside.down = set()
        await waiting
        assert (bench.letters(), bench.values(OUT)) == ([], [b"early", b"unlucky", b"other"])

    async def test_an_adapter_s_no_answer_is_no_other_silence(self, service: Service) -> None:
        async def step(batch: RecordBatch, state: StateReader) -> Effects:
            await asyncio.sleep(0)
            if any(record.value == b"silent" for record in batch.records):
                raise Unanswered("qdrant", "no answer within 5 s")
            return count_step(batch, state)

        bench = Bench(service, stage(step))
        await bench.run(b"a", b"silent", b"b")
        assert bench.letters() == [(b"silent", "no_answer")]
        assert bench.values(OUT) == [b"a 0", b"b 1"]
        assert b"qdrant: no answer within 5 s" in bench.letter()["dlq_message"]
        assert service.value("retries_total", "stage", "qdrant") > 0


class TestWaiting:
    def waits(self, service: Service, dependency: str) -> bool:
        return service.value("dependency_waiting", "stage", dependency) == 1

    async def test_a_call_that_hangs_is_waited_for_while_it_hangs(self, service: Service) -> None:
        outside = Outside()
        outside.hangs = True
        bench = Bench(service, stage(outside.step))
        waiting = asyncio.create_task(bench.run(b"a"))
        await bench.until(lambda: outside.calls)
        assert not self.waits(service, "stage"), "the first attempt may still be answered"
        await bench.until(lambda: len(outside.calls) >= 2)
        for number in range(3, 7):
            # In the middle of an attempt.
            assert self.waits(service, "stage")
            service.now = number * 10.0
            assert service.health.why_not_ready() == [f"waiting for stage for {service.now:.0f} s"]
            counted = service.value("dependency_wait_seconds_total", "stage", "stage")
            await bench.until(lambda number=number: len(outside.calls) >= number)
            assert service.value("dependency_wait_seconds_total", "stage", "stage") > counted
        outside.hangs = False
        await waiting
        assert not self.waits(service, "stage")
        assert service.health.why_not_ready() == []

    async def test_a_lane_that_is_closed_waits_no_longer(self, service: Service) -> None:
        outside = Outside()
        outside.down = {b"a"}
        bench = Bench(service, stage(outside.step))
        task = asyncio.create_task(bench.run(b"a"))
        await bench.until(lambda: self.waits(service, "qdrant"))
        assert bench.stepper().running
        task.cancel()
        await asyncio.wait([task])
        assert not self.waits(service, "qdrant")
        assert service.health.why_not_ready() == []
        assert not bench.stepper().running


#: Where key ``k`` does not belong, and a key that does.
WRONG = (partition_of(b"k", 8) + 1) % 8
RIGHT = next(key for n in range(99) if partition_of(key := b"key%d" % n, 8) == WRONG)


def unread(partition: int) -> UnreadBatch:
    return UnreadBatch(SOURCE, partition, 1, 4, 0, "zstd", 4, b"as it lies there", "batch_too_large", "600 MB")


class TestAside:
    async def test_a_batch_that_was_not_unpacked_is_a_letter(self, service: Service) -> None:
        bench = Bench(service, stage(), hashed=8)
        await bench.take(Record(b"a", None, 0, SOURCE, 1), unread(1), Record(b"b", None, 5, SOURCE, 1))
        assert bench.values(OUT) == [b"a 0", b"b 1"]
        assert bench.letters() == [(b"as it lies there", "batch_too_large")]
        assert bench.ready[0].account.dead_letters[0].message == "600 MB"

    async def test_a_misplaced_record_is_rerouted_or_dead_lettered(
        self, service: Service, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        limit = 4000
        monkeypatch.setitem(LIMITS, SOURCE, limit)
        monkeypatch.setitem(LIMITS, SOURCE + ".dlq", limit)
        came_from = rerouted(Record(None, None, 0, SOURCE, WRONG, headers=[("own", b"1")]))
        assert came_from[:2] == [("own", b"1"), ("rerouted_from", f"{SOURCE}-{WRONG}-0".encode())]
        spare = limit - record_bytes(b"k", b"", came_from)
        values = [b"f" * spare, b"t" * (spare + 1), b"here", b"no key"]
        keys = [b"k", b"k", RIGHT, None]
        records = [
            Record(value, key, n, SOURCE, WRONG, headers=[("own", b"1")])
            for n, (key, value) in enumerate(zip(keys, values, strict=True))
        ]
        bench = Bench(service, stage(), hashed=8)
        await bench.take(*records)
        assert bench.values(OUT) == [b"here 0", b"no key 1"]
        [moved] = [found for found in read(bench.ready[0]) if found[0] == SOURCE]
        assert moved == (SOURCE, partition_of(b"k", 8), values[0], came_from)
        [letter] = bench.ready[0].account.dead_letters
        assert (letter.record.value, letter.reason) == (values[1], "misplaced_too_large")
        assert {why for _, why in bench.letters()} == {"misplaced_too_large"}
        counted = {("misrouted_records_total", ("stage", SOURCE)): 2}
        assert bench.ready[0].account.counts == counted

    async def test_what_the_live_generation_writes_is_withheld(self, service: Service) -> None:
        service.withheld = frozenset({SOURCE})
        records = [Record(b"stray", b"k", 0, SOURCE, WRONG), Record(b"here", RIGHT, 1, SOURCE, WRONG)]
        bench = Bench(service, stage(), hashed=8)
        await bench.take(*records)
        assert [found[0] for found in read(bench.ready[0])] == [OUT], "the live one has moved the stray"
        assert bench.ready[0].account.outputs == {OUT: 1}
        service.withheld = frozenset({OUT})
        assert not list(read(await bench.run(b"more")))

    async def test_a_bystander_passes_over_what_is_wrong_with_the_log(self, service: Service) -> None:
        misplaced, here = Record(b"misplaced", b"k", 0, SOURCE, WRONG), Record(b"here", RIGHT, 5, SOURCE, WRONG)
        bench = Bench(service, stage(observes_only=True), hashed=8)
        await bench.take(misplaced, unread(WRONG), here)
        assert bench.values(OUT) == [b"here 0"]
        assert {found[0] for found in read(bench.ready[0])} == {OUT}
        assert not bench.letters()
        assert not bench.ready[0].account.counts
