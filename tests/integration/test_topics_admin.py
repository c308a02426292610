"""``streams.topics.admin`` against a real broker."""

from __future__ import annotations

import asyncio
import itertools
import socket
from collections.abc import AsyncIterator, Callable, Iterator

import msgspec
import pytest
from aiokafka import AIOKafkaProducer
from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType

from models.errors import ConfigurationError, DependencyUnavailable
from streams.topics import Catalog, load_catalog
from streams.topics.admin import apply, check, list_topics

pytestmark = pytest.mark.kafka

_numbers = itertools.count()


@pytest.fixture
def prefix() -> str:
    """A prefix of its own for each test, so that they can share the broker."""
    return f"admin-{next(_numbers)}-"


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


async def own_config(broker: AIOKafkaAdminClient, topic: str) -> dict[str, str]:
    [response] = await broker.describe_configs([ConfigResource(ConfigResourceType.TOPIC, topic)])
    return {entry[0]: entry[1] for entry in response.resources[0][4] if entry[3] == 1}


async def test_apply_creates_every_topic_of_the_contract_and_a_second_run_changes_nothing(kafka, prefix):
    catalog = load_catalog(prefix)
    before = await check(catalog, kafka.bootstrap_servers)
    assert {difference.what for difference in before} == {"missing"}
    assert all(difference.blocking for difference in before)

    first = await apply(catalog, kafka.bootstrap_servers)
    assert sorted(first.created) == sorted(spec.name for spec in catalog)
    assert (first.altered, first.remaining) == ([], [])
    assert await check(catalog, kafka.bootstrap_servers) == []
    assert await apply(catalog, kafka.bootstrap_servers) == ([], [], [])


async def test_topics_are_usable_as_soon_as_apply_returns(kafka, small):
    await apply(small, kafka.bootstrap_servers)
    async with AIOKafkaProducer(bootstrap_servers=kafka.bootstrap_servers) as producer:
        for partition in range(8):
            await producer.send_and_wait(small.name("chat.messages.v1"), b"x", partition=partition)


async def test_records_carry_the_time_of_their_arrival(kafka, small):
    await apply(small, kafka.bootstrap_servers)
    async with AIOKafkaProducer(bootstrap_servers=kafka.bootstrap_servers) as producer:
        sent = await producer.send_and_wait(small.name("chat.messages.v1"), b"x", timestamp_ms=1_000)
    assert sent.timestamp_type == 1  # LogAppendTime
    assert sent.timestamp > 1_000_000_000_000


async def test_a_dead_letter_topic_takes_the_largest_record_of_its_source_with_headers(kafka, small):
    await apply(small, kafka.bootstrap_servers)
    limit = small.get("chat.messages.v1").max_message_bytes
    async with AIOKafkaProducer(
        bootstrap_servers=kafka.bootstrap_servers, max_request_size=4 * limit, max_batch_size=4 * limit
    ) as producer:
        value, headers = b"x" * (limit - 200), [("why", b"y" * 10_000)]
        await producer.send_and_wait(small.name("chat.messages.v1"), value)
        await producer.send_and_wait(small.dead_letter_name("chat.messages.v1"), value, headers=headers)


async def test_two_at_once_create_each_topic_once(kafka, small):
    results = await asyncio.gather(*(apply(small, kafka.bootstrap_servers) for _ in range(4)))
    created = [name for result in results for name in result.created]
    assert sorted(created) == sorted(spec.name for spec in small)
    assert all(result.remaining == [] for result in results)
    assert await check(small, kafka.bootstrap_servers) == []


async def test_apply_sets_what_differs_and_keeps_what_an_operator_added(kafka, broker, small):
    name = small.name("switchboard-ingest-conversations-changelog")
    wrong = {"cleanup.policy": "delete", "segment.bytes": "104857600", "min.cleanable.dirty.ratio": "0.1"}
    await broker.create_topics([NewTopic(name, 8, 1, topic_configs=wrong)])
    await apply(Catalog([s for s in small if s.name != name]), kafka.bootstrap_servers)

    differences = {d.what: d for d in await check(small, kafka.bootstrap_servers)}
    assert (differences["cleanup.policy"].expected, differences["cleanup.policy"].found) == (
        "compact",
        "delete",
    )
    assert differences["cleanup.policy"].blocking
    assert "topics apply" in differences["cleanup.policy"].advice
    assert not differences["segment.bytes"].blocking

    result = await apply(small, kafka.bootstrap_servers)
    assert {d.what for d in result.altered} == differences.keys()
    assert result.created == []
    assert await check(small, kafka.bootstrap_servers) == []
    config = await own_config(broker, name)
    assert config["min.cleanable.dirty.ratio"] == "0.1"
    assert config["cleanup.policy"] == "compact"


async def test_a_wrong_partition_count_is_explained_and_never_changed(kafka, broker, small):
    changelog = small.name("switchboard-ingest-conversations-changelog")
    messages = small.name("chat.messages.v1")
    await broker.create_topics([NewTopic(changelog, 4, 1)])

    result = await apply(small, kafka.bootstrap_servers)
    [difference] = result.remaining
    assert difference.topic == changelog
    assert (difference.what, difference.expected, difference.found) == ("partitions", "8", "4")
    assert difference.blocking
    assert f"{messages} (8)" in difference.advice  # what it must line up with, and what that has
    assert await check(small, kafka.bootstrap_servers) == [difference]
    states = {state.spec.name: state for state in await list_topics(small, kafka.bootstrap_servers)}
    assert states[changelog].partitions == 4


async def test_looking_creates_nothing(kafka, broker, small):
    await check(small, kafka.bootstrap_servers)
    states = await list_topics(small, kafka.bootstrap_servers)
    assert [(state.partitions, state.config) for state in states] == [(0, {})] * 3
    assert not {spec.name for spec in small} & set(await broker.list_topics())


async def test_list_shows_what_the_broker_has(kafka, small):
    await apply(small, kafka.bootstrap_servers)
    for state in await list_topics(small, kafka.bootstrap_servers):
        assert (state.partitions, state.replicas) == (8, 1)
        assert state.config == state.spec.config


async def test_a_refused_topic_is_a_configuration_error_that_names_it(kafka, small):
    with pytest.raises(ConfigurationError, match=r"refuses to create .*chat\.messages\.v1.*ReplicationFactor"):
        await apply(small, kafka.bootstrap_servers, replication_factor=3)


async def test_a_refused_setting_is_a_configuration_error_that_names_the_topic(kafka, small):
    await apply(small, kafka.bootstrap_servers)
    wrong = [msgspec.structs.replace(spec, segment_bytes=1) for spec in small]
    with pytest.raises(ConfigurationError, match=r"refuses the configuration of "):
        await apply(Catalog(wrong), kafka.bootstrap_servers)


@pytest.fixture
def silent_port() -> Iterator[int]:
    """A port that accepts connections and never says a word."""
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        yield server.getsockname()[1]


@pytest.mark.parametrize("call", [apply, check, list_topics])
async def test_a_broker_that_is_down_or_silent_is_named(call: Callable, small, silent_port):
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        closed_port = unused.getsockname()[1]
    for port in (closed_port, silent_port):
        with pytest.raises(DependencyUnavailable) as caught:
            await call(small, f"127.0.0.1:{port}", timeout_seconds=1)
        assert caught.value.dependency == "kafka"
        assert f"127.0.0.1:{port}" in str(caught.value)
        assert "SWITCHBOARD_BOOTSTRAP_SERVERS" in str(caught.value)


async def test_a_broker_that_hangs_midway_times_out(kafka, small, monkeypatch):
    async def never(*_: object) -> None:
        await asyncio.Event().wait()

    monkeypatch.setattr(AIOKafkaAdminClient, "describe_topics", never)
    with pytest.raises(DependencyUnavailable, match=r"advertised\.listeners"):
        await check(small, kafka.bootstrap_servers, timeout_seconds=1)
