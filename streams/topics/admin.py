"""Make the broker's topics as the catalog says, and explain where they differ.

``apply`` creates what is missing and sets what differs in configuration; it never changes a partition
count, which would send a key's next records to another partition than its earlier ones.  It may run
several times and in several processes at once.  ``check`` and ``list_topics`` only read.

All functions raise :class:`DependencyUnavailable` when no broker answers in time, and
:class:`ConfigurationError` when the broker refuses what is asked for.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from typing import NamedTuple

from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType
from aiokafka.errors import KafkaError, TopicAlreadyExistsError, for_code

from models.errors import ConfigurationError, DependencyUnavailable
from streams.topics.catalog import Catalog, TopicSpec
from streams.topics.differences import Difference, FoundTopic, config_differences, count_differences

_POLL_SECONDS = 0.1
_CLOSE_SECONDS = 5.0

#: ``config_source`` of an entry that was set on the topic itself (Kafka protocol, DescribeConfigs).
_SET_ON_TOPIC = 1


class Applied(NamedTuple):
    """What ``apply`` did: topics created, settings changed, and the differences that it leaves alone."""

    created: list[str]
    altered: list[Difference]
    remaining: list[Difference]


class TopicState(NamedTuple):
    """A topic of the catalog as the broker has it; a missing one has 0 partitions and an empty ``config``."""

    spec: TopicSpec
    partitions: int
    replicas: int
    config: Mapping[str, str]


async def apply(
    catalog: Catalog, bootstrap_servers: str, *, replication_factor: int = 1, timeout_seconds: float = 60.0
) -> Applied:
    """Create missing topics, wait until they have leaders, and set configurations that differ."""
    async with connected(bootstrap_servers, timeout_seconds) as admin:
        created = await create_missing(admin, catalog.all(), replication_factor)
        altered: dict[tuple[str, str], Difference] = {}
        while differing := config_differences(catalog.all(), await _configs(admin, catalog.all())):
            altered |= {(difference.topic, difference.what): difference for difference in differing}
            await _alter(admin, [catalog.get(name) for name in {difference.topic for difference in differing}])
            await asyncio.sleep(_POLL_SECONDS)
        remaining = count_differences(catalog, await describe(admin))
    return Applied(created, list(altered.values()), remaining)


async def check(catalog: Catalog, bootstrap_servers: str, *, timeout_seconds: float = 30.0) -> list[Difference]:
    """Return where the broker differs from the catalog, blocking differences first."""
    async with connected(bootstrap_servers, timeout_seconds) as admin:
        found = await describe(admin)
        present = [spec for spec in catalog.all() if spec.name in found]
        differences = count_differences(catalog, found)
        differences += config_differences(present, await _configs(admin, present))
    return sorted(differences, key=lambda difference: not difference.blocking)


async def list_topics(
    catalog: Catalog, bootstrap_servers: str, *, timeout_seconds: float = 30.0
) -> list[TopicState]:
    """Return every topic of the catalog with what the broker has of it."""
    async with connected(bootstrap_servers, timeout_seconds) as admin:
        found = await describe(admin)
        configs = await _configs(admin, [spec for spec in catalog.all() if spec.name in found])
    missing = FoundTopic(0, 0, ready=False)
    return [
        TopicState(
            spec,
            found.get(spec.name, missing).partitions,
            found.get(spec.name, missing).replicas,
            {name: value for name, (value, _) in configs.get(spec.name, {}).items() if name in spec.config},
        )
        for spec in catalog.all()
    ]


@asynccontextmanager
async def connected(bootstrap_servers: str, timeout_seconds: float) -> AsyncIterator[AIOKafkaAdminClient]:
    """Yield a client of a broker that knows its cluster; the timeout covers the whole block."""
    admin = AIOKafkaAdminClient(
        bootstrap_servers=bootstrap_servers,
        client_id="switchboard-topics",
        request_timeout_ms=int(timeout_seconds * 1000),
    )
    answered = False
    try:
        async with asyncio.timeout(timeout_seconds):
            await admin.start()
            answered = True
            # aiokafka has no public way to ask whether a broker that has just started knows its cluster yet;
            # without a controller `create_topics` fails with an AttributeError.
            while not admin._client.cluster.brokers() or admin._client.cluster.controller is None:
                await admin._client.force_metadata_update()
                await asyncio.sleep(_POLL_SECONDS)
            yield admin
    except (KafkaError, OSError, TimeoutError) as error:
        raise _unavailable(bootstrap_servers, timeout_seconds, answered, error) from error
    finally:
        # A broker that hangs must not keep us from leaving; the sockets go with the client.
        with suppress(TimeoutError):
            await asyncio.wait_for(admin.close(), _CLOSE_SECONDS)


def _unavailable(servers: str, seconds: float, answered: bool, error: Exception) -> DependencyUnavailable:
    if not answered:
        # A refused connection is known at once: only who waited may say so.
        waited = f" within {seconds:g} s" if isinstance(error, TimeoutError) else ""
        return DependencyUnavailable(
            "kafka",
            f"no broker answers at {servers}{waited}: start one, or set "
            "SWITCHBOARD_BOOTSTRAP_SERVERS to the host:port of one that runs",
        )
    if isinstance(error, TimeoutError):
        return DependencyUnavailable(
            "kafka",
            f"the broker at {servers} accepts connections but was not done within {seconds:g} s: it is "
            "overloaded or still starting, or its advertised.listeners cannot be reached from here",
        )
    return DependencyUnavailable("kafka", f"the broker at {servers} failed: {error!r}")


async def describe(admin: AIOKafkaAdminClient) -> dict[str, FoundTopic]:
    """Describe all topics: asking for one by name would make the broker create it."""
    found = {}
    for topic in await admin.describe_topics(None):
        partitions = topic["partitions"]
        found[topic["topic"]] = FoundTopic(
            partitions=len(partitions),
            replicas=min((len(partition["replicas"]) for partition in partitions), default=0),
            ready=topic["error_code"] == 0 and all(partition["leader"] >= 0 for partition in partitions),
        )
    return found


async def create_missing(
    admin: AIOKafkaAdminClient, specs: Sequence[TopicSpec], replication_factor: int
) -> list[str]:
    """Create until all are there and have leaders; return the names that this call created."""
    created: list[str] = []
    while True:
        found = await describe(admin)
        missing = [spec for spec in specs if spec.name not in found]
        if missing:
            created += await _create(admin, missing, replication_factor)
        elif all(found[spec.name].ready for spec in specs):
            return created
        await asyncio.sleep(_POLL_SECONDS)


async def _create(admin: AIOKafkaAdminClient, specs: Sequence[TopicSpec], replication_factor: int) -> list[str]:
    topics = [
        NewTopic(spec.name, spec.partitions, replication_factor, topic_configs=spec.config) for spec in specs
    ]
    response = await admin.create_topics(topics)
    created = []
    for name, code, *message in response.topic_errors:
        error = for_code(code)
        if code == 0:
            created.append(name)
        elif error is TopicAlreadyExistsError:
            continue  # somebody else was faster, or our own metadata lags: the next look shows it
        elif error.retriable:
            await admin._client.force_metadata_update()  # the controller may have moved
        else:
            detail = message[0] if message and message[0] else error.description
            raise ConfigurationError(f"the broker refuses to create {name}: {error.__name__}: {detail}")
    return created


async def _configs(
    admin: AIOKafkaAdminClient, specs: Sequence[TopicSpec]
) -> dict[str, dict[str, tuple[str, int]]]:
    """Return ``{topic: {setting: (value, config_source)}}``."""
    if not specs:
        return {}
    resources = [ConfigResource(ConfigResourceType.TOPIC, spec.name) for spec in specs]
    configs = {}
    for response in await admin.describe_configs(resources):
        for code, message, _type, name, entries in response.resources:
            if code:
                raise for_code(code)(f"cannot read the configuration of {name}: {message}")
            configs[name] = {entry[0]: (entry[1], entry[3]) for entry in entries}
    return configs


async def _alter(admin: AIOKafkaAdminClient, specs: Sequence[TopicSpec]) -> None:
    """Set what the contract says and keep what an operator set beside it.

    Kafka's AlterConfigs replaces all of a topic's own settings at once, so they are read and sent again.
    """
    current = await _configs(admin, specs)
    resources = []
    for spec in specs:
        own = {key: value for key, (value, source) in current[spec.name].items() if source == _SET_ON_TOPIC}
        resources.append(ConfigResource(ConfigResourceType.TOPIC, spec.name, own | spec.config))
    for response in await admin.alter_configs(resources):
        for code, message, _type, name in response.resources:
            if code:
                error = for_code(code)
                raise ConfigurationError(
                    f"the broker refuses the configuration of {name}: {message or error!r}"
                )
