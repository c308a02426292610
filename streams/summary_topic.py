"""The summaries of a conversation, read from their topic: several of one, each under its own id."""

from __future__ import annotations

import msgspec
from aiokafka import TopicPartition

from models.summaries import Summary
from streams.kafka.broker import batches_until, beginnings_of, ends_of, partitions_of, reading
from streams.runtime.partitioner import partition_of
from streams.settings import Settings
from streams.topics import catalog_for

SUMMARIES = "memory.summaries.v1"

_decode = msgspec.json.Decoder(Summary).decode


async def summaries_of(settings: Settings, tenant_id: str, conversation_id: str) -> list[Summary]:
    """Return the summaries of a conversation in the order in which they were made, without those erased.

    Raises:
        DependencyUnavailable: Kafka does not answer.
    """
    topic = catalog_for(settings).name(SUMMARIES)
    partitions = (await partitions_of(settings, [topic])).get(topic)
    if partitions is None:
        return []
    place = TopicPartition(topic, partition_of(conversation_id.encode(), partitions))
    found: dict[bytes | None, Summary] = {}
    async with reading(settings) as consumer:
        consumer.assign([place])
        ends, begins = await ends_of(consumer, [place]), await beginnings_of(consumer, [place])
        if ends[place] <= begins[place]:
            return []
        async for batch in batches_until(consumer, ends):
            for record in batch:
                if record.value is None:
                    found.pop(record.key, None)
                    continue
                try:
                    summary = _decode(record.value)
                except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
                    continue  # the stage that reads the topic dead-letters it
                if (summary.tenant_id, summary.conversation_id) == (tenant_id, conversation_id):
                    found[record.key] = summary
    return list(found.values())
