"""Reading the digests of a topic on the broker."""

from __future__ import annotations

from collections.abc import Callable

from aiokafka import TopicPartition

from models.errors import NotFound
from streams.admin.topics.digests import PartitionDigests, Recipe
from streams.clients.kafka import broker
from streams.config.settings import Settings


async def read_digests(
    settings: Settings,
    topic: str,
    recipe: Recipe,
    tell: Callable[[int, int], None] = lambda read, total: None,
) -> list[PartitionDigests]:
    """Return the digests of a topic (its name on the broker), by partition; ``tell`` hears how far that is.

    Raises:
        NotFound: the topic does not exist.  DependencyUnavailable: the broker does not answer.
    """
    partitions = await broker.partitions_of(settings, [topic])
    if topic not in partitions:
        raise NotFound(
            f"{topic} at {settings.bootstrap_servers} does not exist: `switchboard topics list` names those "
            "there are"
        )
    places = [TopicPartition(topic, number) for number in range(partitions[topic])]
    digests = [PartitionDigests() for _ in places]
    async with broker.reading(settings) as consumer:
        consumer.assign(places)
        ends = await broker.ends_of(consumer, places)
        beginnings = await broker.beginnings_of(consumer, places)
        total = sum(ends[each] - beginnings[each] for each in places)
        async for records in broker.batches_until(consumer, ends):
            into = digests[records[0].partition]
            for record in records:
                into.add(*recipe.digest(record), record.offset)
            tell(sum(each.records for each in digests), total)
    return digests
