"""Summaries come back while workers are killed: ranges have no holes, counts equal a recount from scratch."""

from __future__ import annotations

import random

import pytest
from chat_load import Shape
from summarizer import Summarizer
from verdict import REQUESTS, read_topic
from workers import eventually

pytestmark = [pytest.mark.kafka, pytest.mark.faults]


async def test_killed_while_summaries_come_back(stream, seed):
    chance = random.Random(seed)
    worker = stream.worker("a")
    load = stream.load(rate=1500, records=stream.messages(Shape(conversations=60, length=200)))
    async with Summarizer(stream.servers, stream.catalog) as summarizer:
        await worker.ready()
        for _ in range(3):
            await load.reaches(load.sent + chance.randint(1000, 4000))
            worker.kill()
            worker.start()
            await worker.ready()
        await load.stop()

        async def settled() -> bool:
            await stream.drained()
            return await summarizer.has_answered_all() and not await stream.behind()

        await eventually(settled, "every request is answered and every answer is taken", poll=0.5)
    await stream.verdict()
    topic = stream.catalog.get(REQUESTS)
    requests = await read_topic(stream.servers, topic.name, topic.partitions)
    assert any(b'"roll_up":true' in record.value for record in requests)
