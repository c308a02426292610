"""Making a generation: its topics, and what it knows before it reads anything."""

from __future__ import annotations

import msgspec
from aiokafka import TopicPartition

from models.errors import ConfigurationError
from streams.admin.topics import cluster
from streams.admin.topics.groups import begin_group
from streams.clients.catalog import catalog_for
from streams.config.settings import Settings
from streams.config.settings.services import REPLAYED
from streams.server.replays import erased, record
from streams.server.replays.log import Beginnings
from streams.server.replays.record import Replay


async def refuse_existing(replayed: Settings) -> None:
    """Refuse to make a generation that exists, here or on the broker.

    Raises:
        ConfigurationError: it says which, and what to do.
    """
    name = replayed.generation
    if record.read(replayed) is not None:
        raise ConfigurationError(
            f"replay {name} exists: `switchboard replay resume {name}` goes on with it, `switchboard replay "
            f"drop {name}` throws it away; or choose another name"
        )
    async with cluster.connected(replayed, replayed.request_timeout_seconds) as admin:
        found = await cluster.describe(admin, [spec.name for spec in catalog_for(replayed).derived()])
    if found:
        raise ConfigurationError(
            f"{len(found)} topics of generation {name} exist at {replayed.bootstrap_servers}, and no record of "
            f"it is in {replayed.folder}: it was started elsewhere, or a drop was interrupted. `switchboard "
            f"replay drop {name}` removes it; or choose another name"
        )


async def prepare(live: Settings, replay: Replay) -> Replay:
    """Create the topics of a generation and write into its tables what was erased; safe to repeat.

    Its groups begin where the log was seen to begin.  What retention takes before they have read it stops
    them; a group without a commit would read on behind it and say nothing.

    Raises:
        ConfigurationError: the broker refuses.  DependencyUnavailable: it does not answer.
    """
    replayed = replay.load()
    if replay.prepared:
        return replay
    async with cluster.connected(replayed, 2 * replayed.request_timeout_seconds) as admin:
        await cluster.create_missing(admin, catalog_for(replayed).derived(), replayed.replication_factor)
    await erased.carry_over(live, replayed)
    for service in REPLAYED:
        await begin_group(replayed, service, _places(replayed, service, replay.beginnings))
    ready = msgspec.structs.replace(replay, prepared=True)
    record.write(replayed, ready)
    return ready


def _places(replayed: Settings, service: str, beginnings: Beginnings) -> dict[TopicPartition, int]:
    catalog = catalog_for(replayed)
    return {
        TopicPartition(catalog.name(topic), partition): offset
        for topic, offsets in beginnings.items()
        if service in catalog.get(topic).readers
        for partition, offset in offsets.items()
    }
