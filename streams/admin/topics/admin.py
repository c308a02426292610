"""Make the broker's topics as the catalog says, and explain where they differ.

``apply`` creates what is missing.  What exists it changes only when told to, and what would lose records only
when told that too; it never changes a partition count, which would send a key's next records to another
partition than its earlier ones, nor where copies lie.  It may run several times and in several processes at
once.  ``check`` and ``list_topics`` only read.

All functions raise :class:`DependencyUnavailable` when no broker answers in time, and
:class:`ConfigurationError` when the broker refuses what is asked for.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import NamedTuple

from aiokafka.admin import AIOKafkaAdminClient

from streams.admin.topics import cluster
from streams.admin.topics.differences import (
    Difference,
    FoundTopic,
    config_differences,
    count_differences,
    topic_config,
)
from streams.clients.catalog import Catalog
from streams.clients.topic_spec import TopicSpec
from streams.config.settings import Settings

_POLL_SECONDS = 0.1


class Applied(NamedTuple):
    """Result of ``apply``: topics created, settings changed, and the differences that it leaves."""

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
    catalog: Catalog,
    settings: Settings,
    *,
    execute: bool = False,
    accept_loss: bool = False,
    dry_run: bool = False,
    timeout_seconds: float = 60.0,
) -> Applied:
    """Create missing topics and wait until they have leaders; correct the settings of others if told to.

    ``execute`` corrects what loses nothing, ``accept_loss`` with it also what does.  Nothing at all is done
    with ``dry_run``, nor while a topic has a number of partitions that does not fit: ``remaining`` says so.
    """
    async with cluster.connected(settings, timeout_seconds) as admin:
        before = await _differences(admin, catalog, settings.replication_factor)
        if dry_run or any(difference.what == "partitions" for difference in before):
            return Applied([], [], before)
        created = await cluster.create_missing(admin, catalog.all(), settings.replication_factor)
        chosen = [
            difference
            for difference in before
            if difference.is_setting and execute and (accept_loss or not difference.loses)
        ]
        await _correct(admin, catalog, chosen)
        remaining = await _differences(admin, catalog, settings.replication_factor)
    return Applied(created, chosen, remaining)


async def check(catalog: Catalog, settings: Settings, *, timeout_seconds: float = 30.0) -> list[Difference]:
    """Return where the broker differs from the catalog, blocking differences first."""
    async with cluster.connected(settings, timeout_seconds) as admin:
        return await _differences(admin, catalog, settings.replication_factor)


async def list_topics(
    catalog: Catalog, settings: Settings, *, timeout_seconds: float = 30.0
) -> list[TopicState]:
    """Return every topic of the catalog with what the broker has of it."""
    async with cluster.connected(settings, timeout_seconds) as admin:
        found = await cluster.describe(admin, [spec.name for spec in catalog.all()])
        configs = await cluster.read_configs(admin, [spec for spec in catalog.all() if spec.name in found])
    missing = FoundTopic(0, 0, ready=False)
    return [
        TopicState(
            spec,
            found.get(spec.name, missing).partitions,
            found.get(spec.name, missing).replicas,
            {
                name: value
                for name, (value, _) in configs.get(spec.name, {}).items()
                if name in topic_config(spec, 1)
            },
        )
        for spec in catalog.all()
    ]


async def _differences(
    admin: AIOKafkaAdminClient, catalog: Catalog, replication_factor: int
) -> list[Difference]:
    found = await cluster.describe(admin, [spec.name for spec in catalog.all()])
    present = [spec for spec in catalog.all() if spec.name in found]
    differences = count_differences(catalog, found, replication_factor)
    differences += config_differences(present, found, await cluster.read_configs(admin, present))
    return sorted(differences, key=lambda difference: not difference.blocking)


async def _correct(admin: AIOKafkaAdminClient, catalog: Catalog, chosen: list[Difference]) -> None:
    """Set what ``chosen`` expects, until the broker says so itself."""
    changes: dict[str, dict[str, str]] = {}
    for difference in chosen:
        changes.setdefault(difference.topic, {})[difference.what] = difference.expected
    specs = [catalog.get(name) for name in changes]
    while changes:
        configs = await cluster.read_configs(admin, specs)
        changes = {
            topic: wanted
            for topic, wanted in changes.items()
            if any(configs[topic].get(name, ("", 0))[0] != value for name, value in wanted.items())
        }
        if changes:
            await cluster.alter(admin, configs, changes)
            await asyncio.sleep(_POLL_SECONDS)
