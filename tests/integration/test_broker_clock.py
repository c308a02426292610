"""A machine whose clock is an hour off: the broker's stamps show it, and it is told what to do."""

from __future__ import annotations

import asyncio
import time
from functools import partial
from types import SimpleNamespace

import pytest
import structlog
from aiokafka import AIOKafkaProducer
from aiokafka.admin import AIOKafkaAdminClient, NewTopic

from deploy.local.kafka import LocalKafka
from streams.admin.topics import cluster
from streams.clients.broker_clock import TOLERATED, BrokerClock
from streams.clients.catalog import catalog_for
from streams.clients.sending import Outgoing, Sender
from streams.clients.topics import MESSAGES
from streams.config.settings import Settings, load_settings
from streams.runtime.effects import Output
from streams.runtime.publisher import Publisher, TopicLayout
from streams.server.serve import clock as serve_clock
from streams.telemetry.health import CLOCK, HealthState

HOUR = 3600.0


@pytest.mark.kafka
@pytest.mark.parametrize(
    ("kind", "off", "said"),
    [
        ("LogAppendTime", HOUR, "s ahead of the broker's: set the one"),
        ("LogAppendTime", -HOUR, "s behind the broker's: set the one"),
        ("LogAppendTime", 0.0, ""),
        ("CreateTime", HOUR, ""),  # the broker stamps nothing
    ],
)
async def test_an_hour_off_clock_is_seen_by_broker_timestamps(
    kafka: LocalKafka, kind: str, off: float, said: str
) -> None:
    topic = f"clock-{kind}-{off:g}"
    client = AIOKafkaAdminClient(bootstrap_servers=kafka.bootstrap_servers)
    await client.start()
    await client.create_topics([NewTopic(topic, 1, 1, topic_configs={"message.timestamp.type": kind})])
    await client.close()
    clock = BrokerClock(lambda: time.time() + off)
    layout = TopicLayout(str, lambda _: 1, lambda _: 10_000)
    async with AIOKafkaProducer(bootstrap_servers=kafka.bootstrap_servers) as producer:
        publisher = Publisher(producer, layout, submit_timeout=60, clock=clock)
        packed = publisher.pack([Output(topic, b"key", b"value")])
        await publisher.confirm(await publisher.submit(packed))
    assert said in clock.complaint and bool(clock.complaint) == bool(said)
    assert clock.ahead == pytest.approx(off if said else 0.0, abs=60)


def stamped(at: float) -> SimpleNamespace:
    return SimpleNamespace(timestamp=at * 1000, timestamp_type=1)


def test_a_delivery_that_took_long_says_nothing_of_the_clock() -> None:
    clock = BrokerClock(lambda: 10_000.0)
    for at in (9_000.0, 9_500.0, 10_000.0, 10_000.0 + TOLERATED):
        clock.note(9_000.0, stamped(at))
        assert not clock.complaint
    clock.note(9_000.0, stamped(9_000.0 - TOLERATED - 1))
    assert clock.ahead == TOLERATED + 1
    clock.note(9_000.0, stamped(9_000.0))
    assert not clock.complaint, "it was set"


@pytest.fixture
async def settings(kafka: LocalKafka, topic_prefix: str) -> Settings:
    made = load_settings(bootstrap_servers=kafka.bootstrap_servers, topic_prefix=topic_prefix)
    async with cluster.connected(made, 60) as admin:
        await cluster.create_missing(admin, [catalog_for(made).get(MESSAGES)], 1)
    return made


async def send(settings: Settings, clock: BrokerClock) -> None:
    sender = Sender(settings, clock)
    await sender.send([Outgoing(MESSAGES, b"c", b"{}", "m")])
    await sender.close()


def _clock(off: float) -> float:
    """Return the time of a clock that is off by so many seconds."""
    return time.time() + off


@pytest.mark.kafka
async def test_serve_sees_by_what_it_writes_that_its_clock_is_off(settings: Settings) -> None:
    for off, said in ((HOUR, "ahead of"), (-HOUR, "behind"), (0.0, "")):
        clock = BrokerClock(partial(_clock, off))
        await send(settings, clock)
        assert said in clock.complaint and bool(clock.complaint) == bool(said)


@pytest.mark.kafka
async def test_serve_says_once_at_its_start_that_its_clock_is_behind(
    settings: Settings, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(serve_clock, "_TELL_SECONDS", 0.05)
    structlog.reset_defaults()  # it prints
    off = 0.0
    clock, health = BrokerClock(lambda: time.time() + off), HealthState(60)
    await serve_clock.ask(settings, clock)  # there is nothing to compare with
    await send(settings, BrokerClock())
    await serve_clock.ask(settings, clock)
    assert not clock.complaint
    off = -HOUR
    watching = asyncio.create_task(serve_clock.watch(settings, clock, health))
    try:
        async with asyncio.timeout(60):
            while "behind the broker's: set the one" not in str(health.details().get(CLOCK)):
                await asyncio.sleep(0.05)
        await asyncio.sleep(0.5)
        assert capsys.readouterr().out.count("the clocks differ") == 1
        off = 0.0
        await send(settings, clock)
        async with asyncio.timeout(60):
            while health.details().get(CLOCK):
                await asyncio.sleep(0.05)
    finally:
        watching.cancel()
