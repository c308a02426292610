"""Summaries come back while workers are killed: ranges have no holes, counts equal a recount from scratch."""

from __future__ import annotations

import random
import sys
from pathlib import Path

import pytest
from aiokafka.errors import KafkaError
from chat_load import Load, Shape
from harness import Deployment
from kills import dies, dying_command, has_processed
from summary_verdict import SummaryVerdict
from topic_reader import undrained
from verdict import REQUESTS
from workers import Worker, eventually, worker_command

from streams.llm.builtin_summarizer import BuiltinSummarizer
from streams.llm.onnx_embedder import OnnxEmbedder
from streams.llm.onnx_reader import OnnxReader
from streams.llm.tokenizer import cl100k_counter

pytestmark = [pytest.mark.kafka, pytest.mark.faults, pytest.mark.long]

SUMMARIZING = [sys.executable, str(Path(__file__).with_name("summarizing.py"))]
MEMORY = worker_command("memory")


class Stream(Deployment):
    """The ingest service, and a service that answers its requests."""

    services = ("ingest", "memory")

    def settings(self, instance: str, **changes: object) -> dict[str, object]:
        return super().settings(instance) | {"summary_retry_seconds": 2, "api_port": 0} | changes

    def ingest(self) -> Worker:
        """Start the ingest service, which can be told to die (see dying.py)."""
        return self.start(dying_command("ingest", self.control), "a")

    def summaries(self, command: list[str] = SUMMARIZING) -> Worker:
        return self.start(command, "s")

    def long_conversations(self) -> Load:
        return self.load(rate=800, records=self.messages(Shape(conversations=30, length=200)))

    async def behind(self) -> object:
        """What the groups have not committed; what one of them does may still give the other more to do."""
        try:
            unanswered = await undrained(
                self.servers, self.catalog, f"{self.prefix}switchboard-memory", [REQUESTS]
            )
        except KafkaError as error:
            return error
        return unanswered or await super().behind()

    async def check(self) -> SummaryVerdict:
        async def settled() -> bool:
            # An answer that the second look finds taken may have led to a request: look until none is left.
            return [await self.behind() for _ in range(3)] == [{}, {}, {}]

        await eventually(settled, "every request is answered, every answer is taken", poll=0.5)
        await self.verdict()
        count = cl100k_counter()
        verdict = SummaryVerdict(
            self.servers, self.catalog, BuiltinSummarizer(count, OnnxReader(), OnnxEmbedder()), count
        )
        await verdict.check()
        assert verdict.accepted
        assert verdict.roll_ups
        return verdict


async def test_killed_while_summaries_come_back(stream, seed):
    """Either side, also while nobody answers for so long that requests are repeated."""
    chance = random.Random(seed)
    load = stream.long_conversations()
    ingest, summaries = stream.ingest(), stream.summaries()
    await has_processed(ingest, chance.randint(300, 1500))
    await has_processed(summaries, chance.randint(1, 60))
    await dies(ingest, stream.control, "batch")
    summaries.kill()
    ingest.start()
    await has_repeated(ingest)
    await dies(ingest, stream.control, "timer")
    ingest.start()
    summaries.start()
    await has_processed(summaries, 50)
    await has_processed(ingest, 500)
    await load.stop()
    verdict = await stream.check()
    assert verdict.repeats


@pytest.mark.soak
async def test_killed_again_and_again_while_the_memory_service_answers(stream, seed):
    chance = random.Random(seed)
    load = stream.long_conversations()
    ingest, summaries = stream.ingest(), stream.summaries(MEMORY)
    for _ in range(15):
        await has_processed(ingest, chance.randint(300, 3000))
        away = chance.random() < 0.5
        if away:
            await has_processed(summaries, chance.randint(1, 200))
            summaries.kill()
        # Where somebody answers in time nothing is repeated, and no timer comes.
        if away and chance.random() < 0.6:
            await has_repeated(ingest)
            await dies(ingest, stream.control, "timer")
        else:
            await dies(ingest, stream.control, "batch")
        ingest.start()
        if not summaries.running:
            summaries.start()
    await load.stop()
    await stream.check()


async def has_repeated(ingest: Worker) -> None:
    await ingest.ready()

    async def repeated() -> bool:
        return await ingest.metric("summary_requests_total", kind="repeat") > 0

    await eventually(repeated, "a request is repeated")
