"""The summaries of a conversation, read from their topic."""

from __future__ import annotations

import asyncio

import msgspec
from aiokafka import TopicPartition
from aiokafka.errors import KafkaError

from models.errors import DependencyUnavailable
from models.summaries import Summary
from streams import kafka
from streams.chat.counting import standing
from streams.chat.filtered import SUMMARIES
from streams.runtime.partitioner import partition_of
from streams.settings import Settings
from streams.topics.catalog import catalog_for

_SECONDS = 10.0

_decode = msgspec.json.Decoder(Summary).decode


async def read_summaries(settings: Settings, tenant_id: str, conversation_id: str) -> dict[str, Summary]:
    """Return the summaries of a conversation that stand, by id.

    Raises:
        DependencyUnavailable: the broker does not answer, or not in time.
    """
    spec = catalog_for(settings).get(SUMMARIES)
    key = conversation_id.encode()
    place = TopicPartition(spec.name, partition_of(key, spec.partitions))
    client = kafka.make_consumer(settings, "switchboard-summaries", group_id=None)
    found: dict[str, Summary] = {}
    try:
        async with asyncio.timeout(_SECONDS), kafka.connected(client, settings, _SECONDS) as consumer:
            consumer.assign([place])
            end = (await consumer.end_offsets([place]))[place]
            await consumer.seek_to_beginning(place)
            while await consumer.position(place) < end:
                for record in (await consumer.getmany(place, timeout_ms=500)).get(place, ()):
                    if record.key != key or record.value is None:
                        continue
                    summary = _decode(record.value)
                    if summary.tenant_id == tenant_id:
                        found[summary.summary_id] = summary
    except (KafkaError, OSError, msgspec.DecodeError) as error:
        raise DependencyUnavailable("kafka", f"{spec.name} could not be read: {error or 'too slow'}") from error
    return standing([*found.values()])
