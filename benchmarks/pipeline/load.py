"""Fills ``chat.messages.v1`` with a load, packed, before anything is timed."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any

from aiokafka import AIOKafkaProducer

from benchmarks.pipeline.workload import chat_message
from streams.clients.partitioner import partition_of

PARTITIONS = 8


async def fill(
    servers: str, topic: str, count: int, conversations: int, first: int = 0, partitions: int = PARTITIONS
) -> None:
    """Send ``count`` messages over ``conversations``, from the ``first`` on, each where its key belongs."""
    await send(servers, topic, range(first, first + count), conversations, partitions)


async def send(
    servers: str, topic: str, numbers: Iterable[int], conversations: int, partitions: int = PARTITIONS
) -> None:
    """Send the messages of these numbers, each where its key belongs."""
    producer = AIOKafkaProducer(bootstrap_servers=servers, acks="all", max_batch_size=500_000)
    await producer.start()
    builders: dict[int, Any] = {}
    try:
        for n in numbers:
            key, value = chat_message(n, conversations)
            partition = partition_of(key, partitions)
            builder = builders.get(partition)
            if builder is None or builder.append(timestamp=None, key=key, value=value) is None:
                if builder is not None:
                    await producer.send_batch(builder, topic, partition=partition)
                builder = builders[partition] = producer.create_batch()
                builder.append(timestamp=None, key=key, value=value)
        sent = [
            await producer.send_batch(builder, topic, partition=partition)
            for partition, builder in builders.items()
        ]
        await asyncio.gather(*sent)
    finally:
        await producer.stop()
