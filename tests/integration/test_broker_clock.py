"""A machine whose clock is an hour off: the broker's stamps show it, and it is told what to do."""

from __future__ import annotations

import time
from types import SimpleNamespace

import pytest
from aiokafka import AIOKafkaProducer
from aiokafka.admin import AIOKafkaAdminClient, NewTopic

from deploy.local.kafka import LocalKafka
from streams.runtime.broker_clock import TOLERATED, BrokerClock
from streams.runtime.effects import Output
from streams.runtime.publisher import Publisher, TopicLayout

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
