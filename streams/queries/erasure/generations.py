"""Erasure in every generation: what erases facts is written to the facts topic of each.

Commands and the answers of language models are shared, so their erasures reach every generation by themselves.
A record that erases a fact, or a person, lies in the facts topic, which each generation has of its own.  A
generation that is made later begins with what was erased before (:mod:`streams.server.replays.erased`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import NamedTuple

from streams.clients import kafka
from streams.clients.catalog import catalog_for
from streams.clients.kafka import broker
from streams.clients.partitioner import partition_of
from streams.clients.records import Headers
from streams.config.settings import Settings

FACTS = "memory.facts.v1"


class ErasureRecord(NamedTuple):
    """Key and headers of a record without a value."""

    key: bytes
    headers: Headers


async def write_everywhere(
    settings: Settings, user_id: str, record: Callable[[int], ErasureRecord], name: str, patience: float
) -> None:
    """Write a person's erasure to the facts topic of this generation, then to those of all others.

    ``record``: what is written, by the partition of the person; ``name``: what the broker knows the caller by.
    In this order a generation that is made meanwhile reads it, or is found here.

    Raises:
        DependencyUnavailable: the broker does not confirm it; asked again, nothing is done twice.
    """
    own = catalog_for(settings).get(FACTS)
    client = kafka.make_producer(settings, name)
    async with broker.answering(settings), kafka.connected(client, settings, patience) as producer:

        async def write(topic: str, partitions: int) -> None:
            partition = partition_of(user_id.encode(), partitions)
            key, headers = record(partition)
            async with asyncio.timeout(2 * patience):
                await producer.send_and_wait(topic, None, key=key, partition=partition, headers=[*headers])

        await write(own.name, own.partitions)
        for topic, partitions in (await facts_topics(settings)).items():
            if topic != own.name:
                await write(topic, partitions)


async def generations(settings: Settings) -> list[str]:
    """Return the generations on the broker, besides the live one."""
    found = (settings.namespace.generation_of(topic, FACTS) for topic in await facts_topics(settings))
    return sorted(filter(None, found))


async def facts_topics(settings: Settings) -> dict[str, int]:
    """Return the facts topics of all generations on the broker, with their partitions."""
    names = settings.namespace
    found = await broker.partitions_of(settings)
    return {
        topic: partitions
        for topic, partitions in found.items()
        if topic == names.live.topic(FACTS) or names.generation_of(topic, FACTS)
    }
