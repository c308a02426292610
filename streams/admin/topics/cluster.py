"""Topic requests to the broker: metadata, configuration, creation, changes.

Every request happens inside :func:`connected`, which turns what the client library raises into
:class:`DependencyUnavailable`; what the broker refuses is a :class:`ConfigurationError`.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager

from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType
from aiokafka.errors import (
    ClusterAuthorizationFailedError,
    KafkaError,
    TopicAlreadyExistsError,
    TopicAuthorizationFailedError,
    for_code,
)

from models.errors import ConfigurationError, DependencyUnavailable
from streams.admin.topics.differences import FoundTopic, topic_config
from streams.clients import kafka
from streams.clients.topic_spec import TopicSpec
from streams.config.settings import Settings

_POLL_SECONDS = 0.1
_DENIED = (TopicAuthorizationFailedError, ClusterAuthorizationFailedError)

#: ``config_source`` of an entry that was set on the topic itself (Kafka protocol, DescribeConfigs).
_SET_ON_TOPIC = 1

#: ``{topic: {setting: (value, config_source)}}``
Configs = dict[str, dict[str, tuple[str, int]]]


@asynccontextmanager
async def connected(settings: Settings, timeout_seconds: float) -> AsyncIterator[AIOKafkaAdminClient]:
    """Yield a client of a broker that knows its cluster; the timeout covers the whole block."""
    client = kafka.make_admin(settings, "switchboard-topics", request_timeout_ms=int(timeout_seconds * 1000))
    async with kafka.connected(client, settings, timeout_seconds) as admin:
        try:
            async with asyncio.timeout(timeout_seconds):
                # aiokafka has no public way to ask whether a broker that has just started knows its cluster
                # yet; without a controller `create_topics` fails with an AttributeError.
                while not admin._client.cluster.brokers() or admin._client.cluster.controller is None:
                    await admin._client.force_metadata_update()
                    await asyncio.sleep(_POLL_SECONDS)
                yield admin
        except (KafkaError, OSError, TimeoutError) as error:
            raise kafka.refusal(error, settings) or _unavailable(settings, timeout_seconds, error) from error


def _unavailable(settings: Settings, seconds: float, error: Exception) -> DependencyUnavailable:
    servers = settings.bootstrap_servers
    if isinstance(error, TimeoutError):
        return DependencyUnavailable(
            "kafka",
            f"the broker at {servers} accepts connections but was not done within {seconds:g} s: it is "
            "overloaded or still starting, or its advertised.listeners cannot be reached from here",
        )
    return DependencyUnavailable("kafka", f"the broker at {servers} failed: {error!r}")


async def cluster_id(settings: Settings, timeout_seconds: float) -> str:
    """Return the id of the cluster at ``settings.bootstrap_servers``, whatever address it is reached by."""
    async with connected(settings, timeout_seconds) as admin:
        return str((await admin.describe_cluster())["cluster_id"])


async def describe(admin: AIOKafkaAdminClient, names: Iterable[str]) -> dict[str, FoundTopic]:
    """Describe those of ``names`` that exist; a :class:`ConfigurationError` names those that we may not see."""
    topics, hidden = await kafka.described(admin, set(names))
    if hidden:
        raise kafka.denied("describe the topic", hidden)
    found = {}
    for name, topic in topics.items():
        partitions = topic["partitions"]
        found[name] = FoundTopic(
            partitions=len(partitions),
            replicas=min((len(partition["replicas"]) for partition in partitions), default=0),
            ready=topic["error_code"] == 0 and all(partition["leader"] >= 0 for partition in partitions),
        )
    return found


async def create_missing(
    admin: AIOKafkaAdminClient, specs: Sequence[TopicSpec], replication_factor: int
) -> list[str]:
    """Create until all are there and have leaders; return the names that this call created.

    Nothing is created if the broker would refuse one of them.
    """
    created: list[str] = []
    while True:
        found = await describe(admin, [spec.name for spec in specs])
        missing = [spec for spec in specs if spec.name not in found]
        if missing:
            await _create(admin, missing, replication_factor, validate_only=True)
            created += await _create(admin, missing, replication_factor)
        elif all(found[spec.name].ready for spec in specs):
            return created
        await asyncio.sleep(_POLL_SECONDS)


async def _create(
    admin: AIOKafkaAdminClient,
    specs: Sequence[TopicSpec],
    replication_factor: int,
    *,
    validate_only: bool = False,
) -> list[str]:
    topics = [
        NewTopic(
            spec.name,
            spec.partitions,
            replication_factor,
            topic_configs=topic_config(spec, replication_factor),
        )
        for spec in specs
    ]
    response = await admin.create_topics(topics, validate_only=validate_only)
    created: list[str] = []
    denied: list[str] = []
    for name, code, *message in response.topic_errors:
        error = for_code(code)
        if code == 0:
            created.append(name)
        elif error is TopicAlreadyExistsError:
            continue  # somebody else was faster, or our own metadata lags: the next look shows it
        elif error in _DENIED:
            denied.append(name)
        elif error.retriable:
            await admin._client.force_metadata_update()  # the controller may have moved
        else:
            detail = message[0] if message and message[0] else error.description
            raise ConfigurationError(f"the broker refuses to create {name}: {error.__name__}: {detail}")
    if denied:
        raise kafka.denied("create the topic", denied)
    return created


async def read_configs(admin: AIOKafkaAdminClient, specs: Sequence[TopicSpec]) -> Configs:
    """Return the configuration of topics that exist, the broker's defaults included."""
    if not specs:
        return {}
    resources = [ConfigResource(ConfigResourceType.TOPIC, spec.name) for spec in specs]
    configs = {}
    for response in await admin.describe_configs(resources):
        for code, message, _type, name, entries in response.resources:
            if for_code(code) in _DENIED:
                raise kafka.denied("read the configuration (DescribeConfigs) of the topic", [name])
            if code:
                raise for_code(code)(f"cannot read the configuration of {name}: {message}")
            configs[name] = {entry[0]: (entry[1], entry[3]) for entry in entries}
    return configs


async def alter(admin: AIOKafkaAdminClient, configs: Configs, changes: Mapping[str, Mapping[str, str]]) -> None:
    """Set ``changes`` (``{topic: {setting: value}}``) and keep what is set beside them.

    Kafka's AlterConfigs replaces all of a topic's own settings at once, so what ``configs`` says is sent again.
    """
    resources = []
    for topic, wanted in changes.items():
        own = {name: value for name, (value, source) in configs[topic].items() if source == _SET_ON_TOPIC}
        resources.append(ConfigResource(ConfigResourceType.TOPIC, topic, own | dict(wanted)))
    for response in await admin.alter_configs(resources):
        for code, message, _type, name in response.resources:
            if for_code(code) in _DENIED:
                raise kafka.denied("change the configuration (AlterConfigs) of the topic", [name])
            if code:
                error = for_code(code)
                raise ConfigurationError(
                    f"the broker refuses the configuration of {name}: {message or error!r}"
                )
