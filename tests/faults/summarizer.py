"""Answers summary requests as the memory service would: each one that it finds, repeats too, in a moment."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Self

import msgspec
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from verdict import REQUESTS, SUMMARIES

from models.summaries import SummaryRequest
from streams.clients.catalog import Catalog
from tests import samples

#: What each summary counts: a few fill their share of the threshold, so that they are rolled up.
TOKENS = 40

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(SummaryRequest).decode


class Summarizer:
    """``async with`` it: reads the requests' topic from its beginning and publishes a summary for each."""

    def __init__(self, servers: str, catalog: Catalog) -> None:
        topic = catalog.get(REQUESTS)
        self._partitions = [TopicPartition(topic.name, number) for number in range(topic.partitions)]
        self._summaries = catalog.name(SUMMARIES)
        self._consumer = AIOKafkaConsumer(bootstrap_servers=servers, auto_offset_reset="earliest")
        self._producer = AIOKafkaProducer(bootstrap_servers=servers, acks="all", enable_idempotence=True)
        self._task: asyncio.Task[None]
        self.answered = 0

    async def __aenter__(self) -> Self:
        await self._consumer.start()
        await self._producer.start()
        self._consumer.assign(self._partitions)
        self._task = asyncio.create_task(self._run())
        return self

    async def __aexit__(self, *_: object) -> None:
        self._task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self._task
        await self._consumer.stop()
        await self._producer.stop()

    async def has_answered_all(self) -> bool:
        if self._task.done():
            self._task.result()
        ends = await self._consumer.end_offsets(self._partitions)
        return sum(ends.values()) == self.answered

    async def _run(self) -> None:
        while True:
            for records in (await self._consumer.getmany(timeout_ms=100)).values():
                for record in records:
                    request = _decode(record.value)
                    said = f"what was said in {request.from_index}..{request.to_index}"
                    summary = samples.answer(request, said, tokens=TOKENS, at=request.arrived_at)
                    key = summary.summary_id.encode()
                    await self._producer.send(
                        self._summaries, _encode(summary), key, partition=record.partition
                    )
                await self._producer.flush()
                self.answered += len(records)
