"""The service: what it tells Faust, watches, checks, gives up and publishes."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import pytest

from models.errors import ConsistencyError, DependencyUnavailable
from streams.clients.catalog import load_catalog
from streams.clients.records import Record, RecordBatch
from streams.config.settings import Settings
from streams.runtime import watch as watch_module
from streams.runtime.effects import Effects
from streams.runtime.epoch import Epoch, EpochOver, Offsets, Progress
from streams.runtime.fair_lane import FairLane
from streams.runtime.faust_internals import TP
from streams.runtime.faust_recovery import SeekingRecovery
from streams.runtime.lane import Lane
from streams.runtime.marks import Layout
from streams.runtime.service import ServiceRuntime
from streams.runtime.stage import Stage, StateReader
from streams.telemetry.health import CLOCK, HealthState
from streams.telemetry.metrics import Metrics

MESSAGES, SUMMARIES, CANDIDATES = "chat.messages.v1", "memory.summaries.v1", "memory.fact-candidates.v1"
FACTS = "memory.facts.v1"
LAYOUT = Layout((MESSAGES, SUMMARIES))
STAGES = (
    Stage(name="facts", sources=(CANDIDATES,), step=lambda batch, state: Effects(), batch_records=3),
    Stage(
        name="windows",
        sources=(MESSAGES, SUMMARIES),
        step=lambda batch, state: Effects(),
        table="conversations",
        timer_at=lambda key, payload: 2e12,
        on_timer=lambda keys, context, state: Effects(),
    ),
)


def runtime(settings: Settings, *stages: Stage) -> ServiceRuntime:
    parts = {"settings": settings, "catalog": load_catalog("x-"), "metrics": Metrics()}
    return ServiceRuntime("ingest", stages, health=HealthState(60), **parts)  # type: ignore[arg-type]


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(data_dir=tmp_path, instance_id="one", topic_prefix="x-", session_timeout_seconds=12)


@pytest.fixture
async def service(settings: Settings) -> AsyncIterator[ServiceRuntime]:
    made = runtime(settings, *STAGES)
    yield made
    made.consumer.epoch.drop()


def at(source: str, partition: int = 3) -> TP:
    return TP(f"x-{source}", partition)


def sought(service: ServiceRuntime, *tps: TP) -> Epoch:
    epoch = service.consumer.epoch = Epoch()
    epoch.partitions.update({tp: Progress.at(10, 100, 10) for tp in tps})
    return epoch


def value(service: ServiceRuntime, name: str, /, **labels: str) -> float | None:
    return service.metrics.registry.get_sample_value(f"switchboard_{name}", labels)


class Delivered(NamedTuple):
    offset: int
    acked: bool = False


class TestFaust:
    async def test_who_reads_other_topics_is_another_member(self, settings: Settings) -> None:
        def member(*stages: Stage) -> str:
            return str(runtime(settings, *stages).app.conf.consumer_group_instance_id)

        stateful = next(stage for stage in STAGES if stage.table)
        without = replace(stateful, table=None, on_timer=None, timer_at=None)
        assert member(*STAGES) == member(*reversed(STAGES))
        assert len({member(*STAGES), member(stateful), member(without)}) == 3
        assert member(stateful).startswith(f"{settings.static_member('ingest')}-")


class TestTenants:
    async def test_a_stage_says_whether_it_serves_tenants_in_turn(self, settings: Settings) -> None:
        async def calls(batch: RecordBatch, state: StateReader) -> Effects:
            return Effects()

        in_turn = Stage(name="calls", sources=(FACTS,), async_step=calls, tenant_of=lambda record: "")
        service = runtime(settings, in_turn, *STAGES)
        assert service.serves_in_turn(f"x-{FACTS}")
        assert not service.serves_in_turn(f"x-{MESSAGES}")
        epoch = sought(service, at(FACTS), at(CANDIDATES))
        lanes = [service._lane(epoch, bound, 3) for bound in service._bound[:2]]
        assert [type(lane) for lane in lanes] == [FairLane, Lane]
        epoch.drop()


class Ended(Exception):
    """The fake clock has run out."""


class Clock:
    """``asyncio`` to the service's background tasks: each sleep does one of the ``turns``."""

    def __init__(self, *turns: Callable[[], None]) -> None:
        self.turns = list(turns)
        self.slept: list[float] = []

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        if not self.turns:
            raise Ended
        self.turns.pop(0)()


def nothing() -> None: ...


class TestWatch:
    async def watch(
        self, service: ServiceRuntime, monkeypatch: pytest.MonkeyPatch, *turns: Callable[[], None]
    ) -> Clock:
        clock = Clock(*turns)
        monkeypatch.setattr(watch_module, "asyncio", clock)
        with pytest.raises(Ended):
            await service.watch.look()
        assert max(clock.slept) <= 5, "what it publishes is scraped every few seconds"
        return clock

    @pytest.fixture(autouse=True)
    def _ready(self, service: ServiceRuntime) -> None:
        service.health.clear("starting")

    async def test_a_crash_of_faust_stops_the_worker(
        self, service: ServiceRuntime, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        reason = ValueError("in the conductor")
        service.app._crashed.set()
        service.app._crash_reason = reason
        monkeypatch.setattr(watch_module, "asyncio", Clock(nothing))
        await service.watch.look()
        assert service.failure is reason

    async def test_a_watch_that_fails_stops_the_worker(
        self, service: ServiceRuntime, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        async def fails() -> None:
            raise ConsistencyError("the group said no")

        monkeypatch.setattr(service.watch, "look", fails)
        service.watch.start()
        async with asyncio.timeout(60):
            await service.failed.wait()
        service.watch.stop()
        assert service.health.why_unhealthy() == ["ConsistencyError: the group said no"]

    async def test_a_broker_that_does_not_answer_ends_the_start(
        self, service: ServiceRuntime, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        silent = SimpleNamespace(start=asyncio.Event().wait)
        monkeypatch.setattr("streams.runtime.service.make_producer", lambda *_: silent)
        service.settings = service.settings.model_copy(update={"request_timeout_seconds": 0.01})
        async with asyncio.timeout(60):
            with pytest.raises(TimeoutError):
                await service.start()

    async def test_a_worker_whose_name_was_taken_does_not_go_on(
        self, service: ServiceRuntime, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        service.lease.fenced = True
        monkeypatch.setattr(watch_module, "asyncio", Clock(nothing))
        with pytest.raises(
            Exception, match=f"runs under the name '{service.settings.static_member('ingest')}'"
        ):
            await service.watch.look()

    async def test_a_broker_that_is_silent_is_said_until_it_answers(
        self, service: ServiceRuntime, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        silence = [6.0, 7.4, 0.5]
        ready: list[list[str]] = []
        monkeypatch.setattr(service.lease, "silence", lambda: silence.pop(0))

        def look() -> None:
            ready.append(service.health.why_not_ready())

        await self.watch(service, monkeypatch, nothing, look, look)
        ready.append(service.health.why_not_ready())
        assert ready == [[], ["the broker has not answered for 7 s"], []]

    async def test_a_wrong_clock_is_reported_until_it_is_set(
        self, service: ServiceRuntime, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        told: list[object] = []

        def look() -> None:
            told.append(service.health.details()[CLOCK])
            service.broker_clock.ahead = 0.0

        service.broker_clock.ahead = 3600.0
        await self.watch(service, monkeypatch, nothing, look, nothing)
        told.append(service.health.details()[CLOCK])
        assert "3,600 s ahead of the broker's: set the one" in str(told[0]) and told[1] is None
        assert service.health.why_not_ready() == []

    async def test_lag_is_published(self, service: ServiceRuntime, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(service.consumer, "end_of", {at(CANDIDATES): 25}.get)
        sought(service, at(SUMMARIES), at(CANDIDATES))
        await self.watch(service, monkeypatch, nothing)
        assert value(service, "lag_records", stage="facts", topic=CANDIDATES, partition="3") == 15
        assert value(service, "lag_seconds", stage="facts", topic=CANDIDATES, partition="3") == 0
        service.consumer.epoch.ledger.deliver(at(CANDIDATES), Delivered(24), 1, time.time() - 3600)
        service.watch.publish_lag()
        behind = value(service, "lag_seconds", stage="facts", topic=CANDIDATES, partition="3")
        used = value(service, "retention_used_ratio", stage="facts", topic=CANDIDATES, partition="3")
        kept_ms = service.catalog.get(CANDIDATES).retention_ms
        assert behind is not None and used is not None and kept_ms is not None
        assert behind == pytest.approx(3600, abs=60)
        assert used == pytest.approx(behind * 1000 / kept_ms, rel=0.01)
        missing = value(service, "lag_records", stage="windows", topic=SUMMARIES, partition="3")
        assert missing is None, "nobody knows it yet"


class TestStalled:
    @pytest.mark.parametrize(
        ("session", "pause", "stalled"), [(6, 1.5, 0), (6, 2.5, 1), (40, 9, 0), (40, 11, 1)]
    )
    async def test_it_is_a_quarter_of_a_session_or_two_seconds(
        self, service: ServiceRuntime, monkeypatch: pytest.MonkeyPatch, session: int, pause: float, stalled: int
    ) -> None:
        service.settings = service.settings.model_copy(update={"session_timeout_seconds": session})
        service.watch._last_beat = 1000.0
        monkeypatch.setattr(watch_module, "time", SimpleNamespace(monotonic=lambda: 1000.0 + pause))
        assert service.stalled() is bool(stalled)


class TestEpochs:
    async def test_only_stages_with_timers_get_lanes_at_once(self, service: ServiceRuntime) -> None:
        epoch = sought(service, at(MESSAGES, 1), at(CANDIDATES, 1))
        service.on_sought(epoch)
        assert set(epoch._lanes) == {("windows", 1)}
        assert not service.health.is_standby
        assert service.health.why_not_ready() == []

    async def test_an_assignment_is_counted_and_not_ready_until_sought(self, service: ServiceRuntime) -> None:
        service.health.clear("starting")
        service.on_assigned([at(MESSAGES)])
        assert value(service, "rebalances_total", service="ingest") == 1
        assert service.health.why_not_ready() == ["recovering state after an assignment of partitions"]
        service.on_sought(sought(service, at(CANDIDATES)))
        assert service.health.why_not_ready() == []


class TestViewMarks:
    async def test_a_view_that_is_down_is_waited_for_visibly(self, settings: Settings) -> None:
        """To begin at the commit instead might leave a hole in it."""
        seen: list[dict[str, float]] = []

        async def marks(places: Any) -> dict[tuple[str, int], int]:
            seen.append(dict(recall.health.waited_for()))
            if len(seen) < 3:
                raise DependencyUnavailable("qdrant", "refused")
            return dict.fromkeys(places, 5)

        async def store(batch: RecordBatch, state: Any) -> Effects:
            return Effects()

        index = Stage(name="index", sources=(FACTS,), async_step=store, view_marks=marks)
        recall = runtime(settings.model_copy(update={"retry_min_seconds": 0.001}), index)
        assert await recall.view_marks(Epoch(), [at(FACTS)]) == {at(FACTS): 5}
        assert [[*waited] for waited in seen] == [[], ["qdrant"], ["qdrant"]]
        assert recall.health.waited_for() == {}


class TestDelivery:
    def event(self, epoch: Epoch) -> SimpleNamespace:
        record = Record(b"v", b"k", 10, at(MESSAGES).topic, 3)
        batch = RecordBatch([record], epoch=epoch, source=MESSAGES, position=10)
        return SimpleNamespace(value=batch, message=SimpleNamespace(offset=10))

    async def test_a_batch_of_an_old_epoch_is_dropped(self, service: ServiceRuntime) -> None:
        old = sought(service, at(MESSAGES))
        old.stop()
        current = sought(service, at(MESSAGES))
        event = self.event(old)
        service.consumer._unacked_messages = {1, event.message.offset}  # type: ignore[assignment]  # a set will do
        event.message = 10
        service.deliver(service._bound[1], event)
        assert service.consumer._unacked_messages == {1}
        assert service.metrics.epoch_drops_total.labels("windows")._value.get() == 1
        for epoch in (old, current):
            assert epoch._lanes == {}


class TestChecks:
    async def test_a_commit_beyond_the_end_is_refused(self, service: ServiceRuntime) -> None:
        service.check_end(at(MESSAGES), Offsets(0, 10, 10))
        service.check_end(at(MESSAGES), Offsets(0, 10, None))
        with pytest.raises(ConsistencyError, match=r"the committed offset of x-chat\.messages\.v1-3 is 11"):
            service.check_end(at(MESSAGES), Offsets(0, 10, 11))

    async def test_a_mark_beyond_the_end_of_its_source_is_refused(self, service: ServiceRuntime) -> None:
        value = LAYOUT.seal(LAYOUT.seal(None, b"", 0, 11), b"", 1, 5)
        service._tables["windows"].partition(3).fold([Record(value, b"k")])
        service.check_end(at(SUMMARIES), Offsets(0, 10, None))
        service.check_end(at(MESSAGES, 4), Offsets(0, 10, None))
        with pytest.raises(ConsistencyError, match=r"high-water mark .* is 11.*state reset ingest"):
            service.check_end(at(MESSAGES), Offsets(0, 10, None))

    async def test_caught_up_is_everything_read_and_acked_of_every_source(
        self, service: ServiceRuntime, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        ends: dict[TP, int | None] = {at(MESSAGES): 20, at(SUMMARIES): 10}
        monkeypatch.setattr(service.consumer, "end_of", ends.get)
        bound = service._bound[1]
        epoch = sought(service, at(MESSAGES), at(SUMMARIES))
        assert not service.caught_up(bound, 3)
        epoch.partitions[at(MESSAGES)].fetched = 20
        assert service.caught_up(bound, 3)
        assert not service.caught_up(bound, 4)
        message = SimpleNamespace(offset=19, acked=False)
        epoch.ledger.deliver(at(MESSAGES), message)
        assert not service.caught_up(bound, 3)
        message.acked = True
        assert service.caught_up(bound, 3)
        ends[at(SUMMARIES)] = None
        assert not service.caught_up(bound, 3), "nothing is known of it yet"


class StubLane:
    busy = True

    def __init__(self, *, unconfirmed: bool) -> None:
        self.unconfirmed = unconfirmed

    def put(self, event: Any) -> None: ...
    def close(self) -> None: ...


class TestDrain:
    @pytest.fixture(autouse=True)
    def _short(self, service: ServiceRuntime) -> None:
        service.settings = service.settings.model_copy(update={"session_timeout_seconds": 0.02})

    @pytest.mark.parametrize(("unconfirmed", "fails"), [(True, True), (False, False)])
    async def test_a_producer_s_foreign_rights_stop_the_worker(
        self, service: ServiceRuntime, unconfirmed: bool, fails: bool
    ) -> None:
        """A step that hangs has written nothing; it is given up, and its records are read again."""
        epoch = sought(service)
        epoch.lane("windows", 3, lambda: StubLane(unconfirmed=unconfirmed))
        await service.drain(epoch)
        assert (service.failure is not None) is fails
        assert service.failed.is_set() is fails


class TestLag:
    def lags(self, service: ServiceRuntime) -> dict[tuple[str, str], float]:
        return {
            (sample.labels["topic"], sample.labels["partition"]): sample.value
            for metric in service.metrics.registry.collect()
            for sample in metric.samples
            if sample.name == "switchboard_lag_records"
        }

    async def test_a_partition_that_was_given_away_is_off_the_page(
        self, service: ServiceRuntime, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        ends = {at(MESSAGES, 1): 25, at(MESSAGES, 2): 10, at(SUMMARIES, 1): None}
        monkeypatch.setattr(service.consumer, "end_of", ends.get)
        epoch = sought(service, *ends)
        epoch.partitions[at(MESSAGES, 1)].committed = None
        service.watch.publish_lag()
        assert self.lags(service) == {(MESSAGES, "1"): 15, (MESSAGES, "2"): 0}
        epoch.partitions[at(MESSAGES, 1)].committed = 24
        service.watch.publish_lag()
        assert self.lags(service)[MESSAGES, "1"] == 1
        epoch = sought(service, at(MESSAGES, 2))
        service.watch.publish_lag()
        assert self.lags(service) == {(MESSAGES, "2"): 0}
        epoch.drop()
        service.watch.publish_lag()
        assert self.lags(service) == {}


async def test_after_a_revoke_nothing_flows_before_the_next_assignment() -> None:
    happened: list[str] = []
    seeks: list[Callable[[], Awaitable[None]]] = []
    note = happened.append

    async def noted(what: str) -> None:
        note(what)

    async def overtaken() -> None:
        raise EpochOver

    async def perform_seek() -> None:
        note("seek")
        await seeks.pop(0)()

    async def until(what: str) -> None:
        async with asyncio.timeout(60):
            while what not in happened:
                await asyncio.sleep(0.001)

    consumer = SimpleNamespace(
        assignment=lambda: {TP("messages", 0), TP("changelog", 0)},
        resume_partitions=lambda tps: note(f"active {sorted(tp.topic for tp in tps)}"),
        perform_seek=perform_seek,
        resume_flow=lambda: note("resume flow"),
    )
    app: Any = SimpleNamespace(
        conf=SimpleNamespace(stream_recovery_delay=0),
        consumer=consumer,
        on_rebalance_complete=SimpleNamespace(send=lambda: noted("complete")),
        flow_control=SimpleNamespace(resume=lambda: note("resume queues")),
        _fetcher=SimpleNamespace(maybe_start=lambda: noted("fetcher")),
        on_rebalance_end=lambda: note("end"),
    )
    tables: Any = SimpleNamespace(
        changelog_topics={"changelog"}, on_actives_ready=lambda: None, on_standbys_ready=lambda: None
    )
    recovery = SeekingRecovery(app, tables)
    await recovery.start()
    seeks += [overtaken, lambda: noted("sought")]
    recovery.signal_recovery_start.set()
    await until("seek")
    await asyncio.sleep(0.01)
    assert happened[-1] == "seek" and not recovery.completed.is_set()
    happened.clear()
    recovery.signal_recovery_start.set()
    await until("end")
    assert [*happened[1:4], happened[-1]] == ["active ['messages']", "seek", "sought", "end"]
    assert recovery.completed.is_set() and not recovery.crashed
    await recovery.stop()
