"""``streams.admin.topics.admin`` against a real broker."""

from __future__ import annotations

import asyncio
import itertools
import socket
from collections.abc import AsyncIterator, Callable, Iterator

import msgspec
import pytest
from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType

from models.errors import ConfigurationError, DependencyUnavailable
from streams.admin.topics.admin import apply, check, list_topics
from streams.clients.catalog import Catalog, load_catalog
from streams.config.settings import Settings

pytestmark = pytest.mark.kafka

_numbers = itertools.count()


@pytest.fixture
def prefix() -> str:
    """A prefix of its own for each test, so that they can share the broker."""
    return f"admin-{next(_numbers)}-"


@pytest.fixture
def settings(kafka) -> Settings:
    return Settings(bootstrap_servers=kafka.bootstrap_servers)


@pytest.fixture
def small(prefix: str) -> Catalog:
    """Three topics that line up: one kept by time with dead letters, one compacted."""
    contracts = {"chat.messages.v1", "chat.messages.v1.dlq", "switchboard-ingest-conversations-changelog"}
    return Catalog([spec for spec in load_catalog(prefix) if spec.contract_name in contracts], prefix)


@pytest.fixture
async def broker(kafka) -> AsyncIterator[AIOKafkaAdminClient]:
    admin = AIOKafkaAdminClient(bootstrap_servers=kafka.bootstrap_servers)
    await admin.start()
    yield admin
    await admin.close()


async def make(broker: AIOKafkaAdminClient, *topics: NewTopic) -> None:
    """Create topics as somebody else would have, and wait until everybody can see them."""
    await broker.create_topics([*topics])
    while not {topic.name for topic in topics} <= set(await broker.list_topics()):
        await asyncio.sleep(0.05)


async def own_config(broker: AIOKafkaAdminClient, topic: str) -> dict[str, str]:
    [response] = await broker.describe_configs([ConfigResource(ConfigResourceType.TOPIC, topic)])
    return {entry[0]: entry[1] for entry in response.resources[0][4] if entry[3] == 1}


async def test_apply_creates_all_topics_and_is_idempotent(prefix, settings):
    catalog = load_catalog(prefix)
    before = await check(catalog, settings)
    assert {difference.what for difference in before} == {"missing"}
    assert all(difference.blocking for difference in before)

    first = await apply(catalog, settings)
    assert sorted(first.created) == sorted(spec.name for spec in catalog)
    assert (first.altered, first.remaining) == ([], [])
    assert await check(catalog, settings) == []
    assert await apply(catalog, settings) == ([], [], [])


async def test_apply_keeps_what_exists_and_names_losses(broker, small, settings):
    name = small.name("chat.messages.v1")
    await make(broker, NewTopic(name, 8, 1, topic_configs={"retention.ms": "-1", "cleanup.policy": "compact"}))
    before = await own_config(broker, name)

    result = await apply(small, settings)
    assert name not in result.created and len(result.created) == 2
    assert result.altered == []
    loses = {d.what: d.loses for d in result.remaining}
    assert loses["retention.ms"] == "records older than 30 days"
    assert "whether or not they are the latest of their key" in loses["cleanup.policy"]
    assert loses["segment.ms"] == ""
    assert await own_config(broker, name) == before

    # Told to change what exists, it does so where nothing is lost.
    result = await apply(small, settings, execute=True)
    assert "segment.ms" in {d.what for d in result.altered}
    assert {d.what for d in result.remaining} == {"retention.ms", "cleanup.policy"}
    config = await own_config(broker, name)
    assert (config["retention.ms"], config["cleanup.policy"]) == ("-1", "compact")

    result = await apply(small, settings, execute=True, accept_loss=True)
    assert {d.what for d in result.altered} == {"retention.ms", "cleanup.policy"}
    assert await check(small, settings) == []


async def test_what_makes_the_promises_hold_is_compared(broker, small, settings):
    await apply(small, settings)
    changelog = small.get("switchboard-ingest-conversations-changelog")
    messages = small.get("chat.messages.v1")
    for spec, setting, value in (
        (messages, "segment.ms", "604800000"),
        (messages, "min.insync.replicas", "2"),
        (changelog, "max.compaction.lag.ms", "9223372036854775807"),
        (changelog, "min.compaction.lag.ms", "0"),
    ):
        own = await own_config(broker, spec.name)
        [response] = await broker.alter_configs(
            [ConfigResource(ConfigResourceType.TOPIC, spec.name, own | {setting: value})]
        )
        assert response.resources[0][0] == 0

        async def seen(setting: str = setting) -> set[str]:
            return {d.what for d in await check(small, settings)}

        while setting not in await seen():
            await asyncio.sleep(0.05)
    result = await apply(small, settings, execute=True, accept_loss=True)
    assert len(result.altered) == 4
    assert result.remaining == []


async def test_a_wrong_partition_count_stops_before_anything_begins(broker, small, settings):
    messages, changelog = (
        small.name(name) for name in ("chat.messages.v1", "switchboard-ingest-conversations-changelog")
    )
    await make(broker, NewTopic(messages, 12, 1))

    result = await apply(small, settings)
    assert (result.created, result.altered) == ([], [])
    [difference] = [d for d in result.remaining if d.what == "partitions"]
    assert (difference.topic, difference.expected, difference.found) == (messages, "8", "12")
    assert difference.blocking
    assert f"{changelog} (missing)" in difference.advice  # what it must line up with
    assert set(await broker.list_topics()) & {spec.name for spec in small} == {messages}
    states = {state.spec.name: state for state in await list_topics(small, settings)}
    assert states[messages].partitions == 12


async def test_if_one_topic_is_refused_none_is_created(broker, small, settings):
    changelog = "switchboard-ingest-conversations-changelog"
    wrong = Catalog(
        [msgspec.structs.replace(s, segment_bytes=1) if s.contract_name == changelog else s for s in small]
    )
    with pytest.raises(ConfigurationError, match=f"refuses to create .*{changelog}"):
        await apply(wrong, settings)
    assert not {spec.name for spec in small} & set(await broker.list_topics())


@pytest.fixture
def silent_port() -> Iterator[int]:
    """A port that accepts connections and never says a word."""
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        yield server.getsockname()[1]


@pytest.mark.parametrize("call", [apply, check, list_topics])
async def test_a_broker_that_is_down_or_silent_is_named(call: Callable, small, silent_port):
    with socket.socket() as closed:  # nobody listens there, and nobody else gets the port
        closed.bind(("127.0.0.1", 0))
        for port in (closed.getsockname()[1], silent_port):
            with pytest.raises(DependencyUnavailable) as caught:
                await call(small, Settings(bootstrap_servers=f"127.0.0.1:{port}"), timeout_seconds=1)
            assert caught.value.dependency == "kafka"
            assert f"127.0.0.1:{port}" in str(caught.value)
            assert "SWITCHBOARD_BOOTSTRAP_SERVERS" in str(caught.value)
