"""The service: how its Faust app is set up, what it checks, what it gives up, what it publishes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from models.errors import ConsistencyError, DependencyUnavailable
from streams.clients.catalog import load_catalog
from streams.clients.records import Record, RecordBatch
from streams.config.settings import Settings
from streams.runtime.effects import Effects
from streams.runtime.epoch import Epoch, EpochOver, Offsets, Progress
from streams.runtime.faust_internals import TP
from streams.runtime.faust_recovery import SeekingRecovery
from streams.runtime.marks import Layout
from streams.runtime.service import ServiceRuntime
from streams.runtime.stage import Stage
from streams.telemetry.health import HealthState
from streams.telemetry.metrics import Metrics

MESSAGES, SUMMARIES = "chat.messages.v1", "memory.summaries.v1"
LAYOUT = Layout((MESSAGES, SUMMARIES))


def step(batch: RecordBatch, state: Any) -> Effects:
    return Effects()


STAGE = Stage(
    name="conversations",
    sources=(MESSAGES, SUMMARIES),
    step=step,
    table="conversations",
    batch_records=7,
    timer_at=lambda key, payload: 2e12,
    on_timer=lambda keys, context, state: Effects(),
)


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(
        data_dir=tmp_path, instance_id="one", session_timeout_seconds=6, topic_prefix="x-", log_format="json"
    )


@pytest.fixture
async def service(settings: Settings) -> AsyncIterator[ServiceRuntime]:
    runtime = ServiceRuntime(
        "ingest",
        [STAGE],
        settings=settings,
        catalog=load_catalog("x-"),
        metrics=Metrics(),
        health=HealthState(60),
    )
    yield runtime
    runtime.consumer.epoch.drop()


def at(source: str, partition: int = 3) -> TP:
    return TP(f"x-{source}", partition)


def sought(service: ServiceRuntime, *tps: TP) -> Epoch:
    epoch = service.consumer.epoch = Epoch()
    epoch.partitions.update({tp: Progress.at(10, 100, 10) for tp in tps})
    return epoch


FACTS = "memory.facts.v1"


class TestViewMarks:
    """Of a stage that keeps views: how far they were filled."""

    def runtime(self, settings: Settings, view_marks: Any) -> ServiceRuntime:
        async def store(batch: RecordBatch, state: Any) -> Effects:
            return Effects()

        stages = [
            Stage(name="embedding", sources=("memory.embedding-requests.v1",), async_step=store),
            Stage(name="index", sources=(FACTS,), async_step=store, view_marks=view_marks),
            Stage(name="turns", sources=(MESSAGES,), async_step=store, view_marks=view_marks),
        ]
        return ServiceRuntime(
            "recall",
            stages,
            settings=settings,
            catalog=load_catalog("x-"),
            metrics=Metrics(),
            health=HealthState(60),
        )

    async def test_a_view_that_is_down_is_waited_for_and_it_is_seen(self, settings: Settings) -> None:
        """To begin at the commit instead might leave a hole in it."""
        seen: list[dict[str, float]] = []

        async def marks(places: Any) -> dict[tuple[str, int], int]:
            seen.append(dict(runtime.health.waited_for()))
            if len(seen) < 3:
                raise DependencyUnavailable("qdrant", "refused")
            return dict.fromkeys(places, 5)

        runtime = self.runtime(settings.model_copy(update={"retry_min_seconds": 0.001}), marks)
        assert await runtime.view_marks(Epoch(), [at(FACTS)]) == {at(FACTS): 5}
        assert [[*waited] for waited in seen] == [[], ["qdrant"], ["qdrant"]]
        assert runtime.health.waited_for() == {}


class TestDelivery:
    def event(self, epoch: Epoch) -> SimpleNamespace:
        record = Record(b"v", b"k", 10, at(MESSAGES).topic, 3)
        batch = RecordBatch([record], epoch=epoch, source=MESSAGES, position=10)
        return SimpleNamespace(value=batch, message=SimpleNamespace(offset=10))

    async def test_a_batch_of_an_epoch_that_is_over_is_dropped_and_makes_no_lane(
        self, service: ServiceRuntime
    ) -> None:
        old = sought(service, at(MESSAGES))
        old.stop()
        current = sought(service, at(MESSAGES))
        event = self.event(old)
        service.consumer._unacked_messages = {1, event.message.offset}  # type: ignore[assignment]  # a set will do
        event.message = 10
        service.deliver(service._bound[0], event)
        assert service.consumer._unacked_messages == {1}
        assert service.metrics.epoch_drops_total.labels("conversations")._value.get() == 1
        for epoch in (old, current):
            assert epoch._lanes == {}


class TestChecks:
    async def test_a_commit_beyond_the_end_is_refused(self, service: ServiceRuntime) -> None:
        service.check_end(at(MESSAGES), Offsets(0, 10, 10))
        service.check_end(at(MESSAGES), Offsets(0, 10, None))
        with pytest.raises(ConsistencyError, match=r"the committed offset of x-chat\.messages\.v1-3 is 11"):
            service.check_end(at(MESSAGES), Offsets(0, 10, 11))

    async def test_a_mark_beyond_the_end_is_refused_for_its_own_source_alone(
        self, service: ServiceRuntime
    ) -> None:
        value = LAYOUT.seal(LAYOUT.seal(None, b"", 0, 11), b"", 1, 5)
        service._tables["conversations"].partition(3).fold([Record(value, b"k")])
        service.check_end(at(SUMMARIES), Offsets(0, 10, None))
        service.check_end(at(MESSAGES, 4), Offsets(0, 10, None))
        with pytest.raises(ConsistencyError, match=r"high-water mark .* is 11.*state reset ingest"):
            service.check_end(at(MESSAGES), Offsets(0, 10, None))

    async def test_caught_up_is_everything_read_and_acked_of_every_source(
        self, service: ServiceRuntime, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        ends: dict[TP, int | None] = {at(MESSAGES): 20, at(SUMMARIES): 10}
        monkeypatch.setattr(service.consumer, "end_of", ends.get)
        (bound,) = service._bound
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
    async def test_what_the_producer_may_still_write_for_others_stops_the_worker(
        self, service: ServiceRuntime, unconfirmed: bool, fails: bool
    ) -> None:
        """A step that hangs has written nothing; it is given up, and its records are read again."""
        epoch = sought(service)
        epoch.lane("conversations", 3, lambda: StubLane(unconfirmed=unconfirmed))
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


class Rebalances:
    """A Faust app around the recovery service, as it is asked for one assignment after the other."""

    def __init__(self) -> None:
        self.happened: list[str] = []
        self.seeks: list[Callable[[], Any]] = []
        note = self.happened.append

        async def noted(what: str) -> None:
            note(what)

        async def perform_seek() -> None:
            note("seek")
            await self.seeks.pop(0)()

        async def at_once() -> None: ...

        self.at_once = at_once
        self.consumer = SimpleNamespace(
            assignment=lambda: {TP("messages", 0), TP("changelog", 0)},
            resume_partitions=lambda tps: note(f"active {sorted(tp.topic for tp in tps)}"),
            perform_seek=perform_seek,
            resume_flow=lambda: note("resume flow"),
        )
        self.app: Any = SimpleNamespace(
            conf=SimpleNamespace(stream_recovery_delay=0),
            consumer=self.consumer,
            on_rebalance_complete=SimpleNamespace(send=lambda: noted("complete")),
            flow_control=SimpleNamespace(resume=lambda: note("resume queues")),
            _fetcher=SimpleNamespace(maybe_start=lambda: noted("fetcher")),
            on_rebalance_end=lambda: note("end"),
        )
        self.tables: Any = SimpleNamespace(
            changelog_topics={"changelog"},
            on_actives_ready=lambda: note("actives"),
            on_standbys_ready=lambda: note("standbys"),
        )


class TestSeekingRecovery:
    WHOLE = (
        "complete",
        "active ['messages']",
        "seek",
        "resume queues",
        "resume flow",
        "fetcher",
        "actives",
        "standbys",
        "end",
    )

    @pytest.fixture
    async def faust(self) -> Rebalances:
        return Rebalances()

    @pytest.fixture
    async def recovery(self, faust: Rebalances) -> AsyncIterator[SeekingRecovery]:
        recovery = SeekingRecovery(faust.app, faust.tables)
        await recovery.start()
        yield recovery
        await recovery.stop()

    async def until(self, condition: Callable[[], bool]) -> None:
        async with asyncio.timeout(60):
            while not condition():
                await asyncio.sleep(0.001)

    async def test_an_assignment_is_sought_and_then_flows(
        self, faust: Rebalances, recovery: SeekingRecovery
    ) -> None:
        faust.seeks = [faust.at_once, faust.at_once]
        for _ in range(2):
            faust.happened.clear()
            recovery.signal_recovery_start.set()
            await self.until(lambda: "end" in faust.happened)
            assert tuple(faust.happened) == self.WHOLE
        assert recovery.completed.is_set()

    async def test_after_a_revoke_it_waits_for_the_next_assignment_and_nothing_flows(
        self, faust: Rebalances, recovery: SeekingRecovery
    ) -> None:
        async def overtaken() -> None:
            raise EpochOver

        faust.seeks = [overtaken, faust.at_once]
        recovery.signal_recovery_start.set()
        await self.until(lambda: "seek" in faust.happened)
        await asyncio.sleep(0.01)
        assert faust.happened[-1] == "seek"
        assert not recovery.completed.is_set()
        recovery.signal_recovery_start.set()
        await self.until(lambda: "end" in faust.happened)
        assert not recovery.crashed
