"""What a turn tells besides its answer: the summaries that came since the last one, whenever they came, and
what of the answer was said already.
"""

from __future__ import annotations

import asyncio
import json
import uuid
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import AsyncExitStack
from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest
from serve_rig import ServeRig

from models.answers import Answer, AnswerKind, PromptLaid, Spoken
from models.summaries import SessionSummary, Summary
from models.turns import Turn
from models.understanding import QueryUnderstanding
from models.windows import WindowSource
from streams.chat.chats import Chats
from streams.chat.turn_limiter import TurnLimiter
from streams.clients import kafka
from streams.clients.partitioner import partition_of
from streams.llm.tokenizer import open_counter
from streams.server.serve.opening import open_parts
from streams.telemetry.metrics import Metrics

pytestmark = pytest.mark.kafka

USER = "nele"

LONG = "In the first year we planted beans, in the second year peas, and in the third year nothing at all. " * 4


class Held:
    """Answers a turn as soon as it may: a model that takes its time."""

    def __init__(self) -> None:
        self.asked = asyncio.Event()
        self.may_end = asyncio.Event()
        self.says = ""

    def look(self, turn: Turn) -> asyncio.Task[None]:
        return asyncio.create_task(asyncio.sleep(0))

    async def answer(self, turn: Turn, looking: Any) -> AsyncGenerator[Any]:
        self.asked.set()
        await self.may_end.wait()
        yield Spoken(self.says or f"Noted: {turn.text[:20]}")
        prompt = PromptLaid(round=0, version="held", budget=0, tokens=0, tiers=(), items=())
        understanding = QueryUnderstanding(query=turn.text, is_ambiguous=False, score=0.0)
        yield Answer(
            kind=AnswerKind.NOTED, by="held", understanding=understanding, prompt=prompt, text="Noted."
        )


class Talk:
    """One conversation with a chat in this process."""

    def __init__(self, rig: ServeRig, chats: Chats, held: Held) -> None:
        self.rig, self._chats, self._held = rig, chats, held
        self.conversation = f"c-{uuid.uuid4().hex[:8]}"

    async def say(self, text: str, *meanwhile: Summary, answered: str = "") -> list[tuple[str, Any]]:
        """Return the events of a turn, while whose answer some summaries come."""
        self._held.says = answered
        self._held.asked.clear()
        self._held.may_end.clear()
        turn = await self._chats.begin("default", USER, self.conversation, text)
        await self._held.asked.wait()
        await self.publish(*meanwhile)
        self._held.may_end.set()
        return [(event.name, json.loads(event.data)) async for event in turn.events()]

    async def publish(self, *summaries: Summary) -> None:
        spec = self.rig.catalog.get("memory.summaries.v1")
        partition = partition_of(self.conversation.encode(), spec.partitions)
        producer = kafka.make_producer(self.rig.settings, "test")
        async with kafka.connected(producer, self.rig.settings, 30.0):
            for each in summaries:
                await producer.send_and_wait(
                    spec.name,
                    msgspec.json.encode(each),
                    key=each.summary_id.encode(),
                    partition=partition,
                )

    def summary(self, first: int, last: int, **more: Any) -> Summary:
        name = uuid.uuid4().hex
        return Summary(
            summary_id=name,
            request_id=name,
            conversation_id=self.conversation,
            user_id=USER,
            from_index=first,
            to_index=last,
            summary=SessionSummary(key_facts=("They planted beans.",)),
            tokens=7,
            source=WindowSource(topic="chat.messages.v1", partition=0, first_offset=0, last_offset=1),
            summarizer="test",
            created_at=datetime.now(UTC),
            **more,
        )


@pytest.fixture
async def talk(deployment: ServeRig) -> AsyncIterator[Talk]:
    deployment.need("ingest", "recall")
    async with AsyncExitStack() as resources:
        parts = await open_parts(deployment.settings, Metrics(), resources)
        held = Held()
        count = open_counter(deployment.settings.tokenizer)
        held_by = parts.part("lookup"), parts.part("leases"), TurnLimiter(100, Metrics())
        chats = Chats(deployment.settings, held, parts.part("log"), count, *held_by)  # type: ignore[arg-type]
        resources.push_async_callback(chats.close)
        yield Talk(deployment, chats, held)


def told(events: list[tuple[str, Any]], name: str) -> list[Any]:
    return [data for each, data in events if each == name]


async def test_a_summary_is_told_whether_it_comes_in_a_turn_or_between_two(talk: Talk) -> None:
    events = await talk.say(LONG, talk.summary(0, 0), talk.summary(0, 0, tenant_id="another"))
    [summary], counts = told(events, "summary"), told(events, "tokens")
    assert (summary["from_index"], summary["to_index"]) == (0, 0)
    assert summary["tokens_before"] == counts[0]["total"] > 60 > summary["tokens_after"] == counts[-1]["total"]
    assert counts[-1]["summaries"] == 7

    assert told(await talk.say("And what else is there?"), "summary") == [], "it is told once"

    await talk.publish(talk.summary(1, 1), talk.summary(2, 2))
    summaries = told(await talk.say("Thank you."), "summary")
    assert [each["from_index"] for each in summaries] == [1, 2]
    assert summaries[0]["tokens_after"] == summaries[1]["tokens_before"]
