"""How a service is put together and watched: what Faust and clients are told, what stops it, what it shows."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from models.errors import ConsistencyError
from streams.runtime import service as service_module
from streams.runtime import watch as watch_module
from streams.runtime.effects import Effects
from streams.runtime.epoch import Epoch
from streams.runtime.faust_internals import TP
from streams.runtime.service import ServiceRuntime
from streams.runtime.stage import Stage
from streams.settings import Settings
from streams.telemetry.health import HealthState
from streams.telemetry.metrics import Metrics
from streams.topics.catalog import load_catalog

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


def value(service: ServiceRuntime, name: str, /, **labels: str) -> float | None:
    return service.metrics.registry.get_sample_value(f"switchboard_{name}", labels)


class TestFaust:
    """What the Faust app of a service is told."""

    async def test_a_rate_cuts_batches_of_shared_topics_small(self, settings: Settings) -> None:
        service = ServiceRuntime(
            "ingest",
            STAGES,
            settings=settings.model_copy(update={"max_rate": 16.0}),
            catalog=load_catalog("x-"),
            metrics=Metrics(),
            health=HealthState(60),
        )
        bound_of = service.app.conf.ConsumerScheduler()._bound
        assert bound_of(f"x-{MESSAGES}")[0] == 2
        assert bound_of(f"x-{SUMMARIES}")[0] == 7, "as the stage says"


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


class TestEpochs:
    async def test_state_is_read_and_repaired_before_anything_else_and_counted(
        self, service: ServiceRuntime, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        told: list[Any] = []
        epoch, mine = Epoch(), at(CHANGELOG)
        publisher: Any = object()
        service.publisher = publisher
        clock = [100.0]

        async def recover(parts: Any, *rest: Any) -> int:
            told.append(("recover", [*parts], *rest))
            clock[0] = 107.0
            return 1234

        async def repair(parts: Any, *rest: Any) -> int:
            told.append(("repair", [*parts], *rest))
            return 0

        monkeypatch.setattr(service_module, "recover", recover)
        monkeypatch.setattr(service_module, "repair", repair)
        monkeypatch.setattr(service_module, "time", SimpleNamespace(monotonic=lambda: clock[0]))
        await service.recover(epoch, [mine])
        assert told == [
            ("recover", [mine], epoch, service.settings, "switchboard-ingest-recovery", service.reset_hint),
            ("repair", [mine], epoch, CHANGELOG, publisher),
        ]
        assert "switchboard state reset ingest" in service.reset_hint
        assert value(service, "recovery_seconds", table="conversations") == 7
        assert value(service, "recovery_records_total", table="conversations") == 1234

    async def test_a_drain_has_half_a_session_and_none_once_the_worker_has_failed(
        self, service: ServiceRuntime
    ) -> None:
        asked: list[float] = []

        class Draining(Epoch):
            async def drain(self, seconds: float, hopeless: Callable[[], bool]) -> bool:
                assert not hopeless()
                service.fail(ConsistencyError("first"))
                assert hopeless()
                asked.append(seconds)
                return False

            def busy_lanes(self) -> Any:
                return pytest.fail("a worker that has failed gives nothing up: it ends")

        await service.drain(Draining())
        assert asked == [6.0]
        assert str(service.failure) == "first"
