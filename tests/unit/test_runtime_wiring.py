"""How a service is put together and watched: what Faust and clients are told, what stops it, what it shows."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import pytest

from models.errors import ConsistencyError
from streams.clients.catalog import load_catalog
from streams.clients.records import Record
from streams.config.settings import Settings
from streams.runtime import service as service_module
from streams.runtime import watch as watch_module
from streams.runtime.effects import Effects
from streams.runtime.epoch import Epoch, Progress
from streams.runtime.faust_internals import TP
from streams.runtime.service import ServiceRuntime
from streams.runtime.stage import Stage
from streams.telemetry.health import HealthState
from streams.telemetry.metrics import Metrics

MESSAGES, SUMMARIES, CANDIDATES = "chat.messages.v1", "memory.summaries.v1", "memory.fact-candidates.v1"
CHANGELOG = "switchboard-ingest-conversations-changelog"
STAGES = (
    Stage(name="facts", sources=(CANDIDATES,), step=lambda batch, state: Effects(), batch_records=3),
    Stage(
        name="windows",
        sources=(MESSAGES, SUMMARIES),
        step=lambda batch, state: Effects(),
        table="conversations",
        batch_records=7,
        timer_at=lambda key, payload: 2e12,
        on_timer=lambda keys, context, state: Effects(),
        decided_by={"idle_minutes": 15},
    ),
)


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(
        data_dir=tmp_path,
        instance_id="one",
        topic_prefix="x-",
        bootstrap_servers="a:1,b:2",
        session_timeout_seconds=12,
        heartbeat_seconds=2,
        request_timeout_seconds=44,
        commit_interval_seconds=1.5,
        step_bytes=2000,
        batches_in_flight=4,
    )


@pytest.fixture
async def service(settings: Settings) -> AsyncIterator[ServiceRuntime]:
    runtime = ServiceRuntime(
        "ingest",
        STAGES,
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


def value(service: ServiceRuntime, name: str, /, **labels: str) -> float | None:
    return service.metrics.registry.get_sample_value(f"switchboard_{name}", labels)


class Delivered(NamedTuple):
    offset: int
    acked: bool = False


class TestFaust:
    """What the Faust app of a service is told."""

    async def test_who_reads_other_topics_is_another_member(self, settings: Settings) -> None:
        """Under its old id the broker would give it what it had, and nothing of what is new."""

        def member(*stages: Stage) -> str:
            service = ServiceRuntime(
                "ingest",
                stages,
                settings=settings,
                catalog=load_catalog("x-"),
                metrics=Metrics(),
                health=HealthState(60),
            )
            return str(service.app.conf.consumer_group_instance_id)

        stateful = next(stage for stage in STAGES if stage.table)
        without = replace(stateful, table=None, on_timer=None, timer_at=None)
        assert member(*STAGES) == member(*reversed(STAGES))
        assert len({member(*STAGES), member(stateful), member(without)}) == 3
        assert member(stateful).startswith(f"{settings.static_member('ingest')}-")

    async def test_batches_are_cut_by_the_bytes_that_a_step_may_get(self, service: ServiceRuntime) -> None:
        topic = at(CANDIDATES).topic
        records = [Record(b"v" * size, b"k", n, topic, 3) for n, size in enumerate((900, 900, 900, 1, 1, 1, 1))]
        batches = [batch for _, batch in service.consumer.scheduler.iterate({at(CANDIDATES): records})]
        assert [len(batch) for batch in batches] == [2, 3, 2]
        assert {(batch.source, batch.source_index) for batch in batches} == {(CANDIDATES, 0)}


class Producer:
    """aiokafka's producer, as far as a service starts and stops it."""

    client = SimpleNamespace(send=None)

    def __init__(self) -> None:
        self.happened: list[str] = []
        self.answers = True

    async def start(self) -> None:
        if not self.answers:
            await asyncio.Event().wait()
        self.happened.append("starts")

    async def stop(self) -> None:
        self.happened.append("stops")


class TestLife:
    @pytest.fixture
    def producer(self, service: ServiceRuntime, monkeypatch: pytest.MonkeyPatch) -> Producer:
        producer = Producer()

        def make(settings: Settings, name: str) -> Producer:
            assert (settings, name) == (service.settings, "ingest")
            return producer

        async def start(app: Any) -> None:
            assert app.finalized, "Faust looks up an app's topics and tables then"
            producer.happened.append("app starts")

        async def stop(app: Any) -> None:
            producer.happened.append(f"app stops, {service.health.why_not_ready()}")

        monkeypatch.setattr(service_module, "make_producer", make)
        monkeypatch.setattr(type(service.app), "start", start)
        monkeypatch.setattr(type(service.app), "stop", stop)
        return producer

    async def test_a_worker_that_stops_is_not_ready_from_its_first_moment(
        self, service: ServiceRuntime, producer: Producer
    ) -> None:
        service.health.clear("starting")
        await service.start()
        background = list(service.watch.tasks)
        assert [task.get_name() for task in background] == ["beat", "watch"]
        await service.stop()
        await asyncio.gather(*background, return_exceptions=True)
        assert producer.happened == ["starts", "app starts", "app stops, ['stopping']", "stops"]
        assert all(task.cancelled() for task in background)
        assert service.failure is None

    async def test_a_broker_that_does_not_answer_ends_the_start(
        self, service: ServiceRuntime, producer: Producer
    ) -> None:
        service.settings = service.settings.model_copy(update={"request_timeout_seconds": 0.01})
        producer.answers = False
        async with asyncio.timeout(60):
            with pytest.raises(TimeoutError):
                await service.start()
        assert producer.happened == []

    async def test_a_watch_that_fails_stops_the_worker(
        self, service: ServiceRuntime, producer: Producer, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        async def fails() -> None:
            raise ConsistencyError("the group said no")

        monkeypatch.setattr(service.watch, "look", fails)
        await service.start()
        async with asyncio.timeout(60):
            await service.failed.wait()
        await service.stop()
        assert "the group said no" in str(service.failure)
        assert service.health.why_unhealthy() == ["ConsistencyError: the group said no"]


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
    """Once a second: what nobody else would tell of."""

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
        """Half a session is the time that is left to do something about it."""
        silence = [6.0, 7.4, 0.5]
        ready: list[list[str]] = []
        monkeypatch.setattr(service.lease, "silence", lambda: silence.pop(0))

        def look() -> None:
            ready.append(service.health.why_not_ready())

        await self.watch(service, monkeypatch, nothing, look, look)
        ready.append(service.health.why_not_ready())
        assert ready == [[], ["the broker has not answered for 7 s"], []]

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
    async def test_only_stages_with_timers_get_lanes_before_a_record_comes(
        self, service: ServiceRuntime
    ) -> None:
        epoch = sought(service, at(MESSAGES, 1), at(CANDIDATES, 1))
        service.on_sought(epoch)
        assert set(epoch._lanes) == {("windows", 1)}
        assert not service.health.is_standby
        assert service.health.why_not_ready() == []

    async def test_an_assignment_is_counted_and_keeps_the_worker_from_being_ready(
        self, service: ServiceRuntime
    ) -> None:
        service.health.clear("starting")
        service.on_assigned([at(MESSAGES)])
        assert value(service, "rebalances_total", service="ingest") == 1
        assert service.health.why_not_ready() == ["recovering state after an assignment of partitions"]
        service.on_sought(sought(service, at(CANDIDATES)))
        assert service.health.why_not_ready() == []
