"""The memory service is killed while a language model reads: what it answered is not asked again, and in the
end the facts are those of a service that nobody hurt.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack
from typing import Any

import msgspec
import pytest
from aiokafka import AIOKafkaProducer
from harness import Deployment
from topic_reader import read_topic, undrained
from workers import Worker, eventually, worker_command

from deploy.local.model_faults import Fault
from deploy.local.model_server import ModelServer
from models.facts import Fact
from models.windows import Window
from streams.clients.local_valkey import LocalValkey
from streams.clients.partitioner import partition_of
from tests import prompt_examples as examples

pytestmark = [pytest.mark.kafka, pytest.mark.faults, pytest.mark.long]

MEMORY = worker_command("memory")
WINDOWS, CANDIDATES, FACTS, MEMOS = (
    "memory.windows.v1",
    "memory.fact-candidates.v1",
    "memory.facts.v1",
    "models.memo.v1",
)
PEOPLE, EACH = 6, 2

#: After so many calls the model takes calls and does not answer.
ANSWERS = 4


def windows(group: str) -> list[Window]:
    """Return windows of people of a group; each says where they live, and something of its own."""
    found = []
    for number in range(PEOPLE * EACH):
        user, base = f"{group}-{number // EACH}", examples.window()
        told = [msgspec.structs.replace(each, user_id=user) for each in base.messages]
        told[-1] = msgspec.structs.replace(told[-1], content=f"I own {number + 100} cats.")
        name = f"{group}-window-{number}"
        found.append(
            msgspec.structs.replace(
                base, window_id=name, conversation_id=name, user_id=user, messages=tuple(told)
            )
        )
    return found


class Stream(Deployment):
    services = ("memory",)


class Told:
    """Windows that are told to a memory service, and what it knows of them."""

    def __init__(self, stream: Deployment) -> None:
        self._stream = stream

    async def told(self, group: str) -> None:
        catalog = self._stream.catalog
        async with AIOKafkaProducer(bootstrap_servers=self._stream.servers) as producer:
            for window in windows(group):
                key = window.conversation_id.encode()
                place = partition_of(key, catalog.partitions(WINDOWS))
                await producer.send(catalog.name(WINDOWS), msgspec.json.encode(window), key, place)

    async def drained(self) -> None:
        group = f"{self._stream.prefix}switchboard-memory"
        for topic in (WINDOWS, CANDIDATES):

            async def empty(topic: str = topic) -> bool:
                return not await undrained(self._stream.servers, self._stream.catalog, group, [topic])

            await eventually(empty, f"all of {topic} is processed and committed", poll=0.2)

    async def latest(self, topic: str) -> dict[bytes, Any]:
        catalog = self._stream.catalog
        records = await read_topic(self._stream.servers, catalog.name(topic), catalog.partitions(topic))
        return {record.key: json.loads(record.value) for record in records if record.value}

    async def facts(self, group: str) -> list[tuple[Any, ...]]:
        """Return what is known of a group's people, without the group's name."""
        found = [msgspec.convert(each, Fact) for each in (await self.latest(FACTS)).values()]
        return sorted(
            (
                fact.user_id.removeprefix(group),
                fact.statement,
                fact.status,
                round(fact.confidence, 9),
                fact.evidence_count,
                sorted(each.window_id.removeprefix(group) for each in fact.provenance),
                fact.learned_at,
            )
            for fact in found
            if fact.user_id.startswith(f"{group}-")
        )


class Memory(Told):
    def __init__(self, stream: Deployment, server: ModelServer, valkey: LocalValkey) -> None:
        super().__init__(stream)
        self._valkey = valkey
        self.server = server
        server.scripts.append(self._fall_silent)
        self.worker: Worker | None = None

    def start(self) -> None:
        if self.worker is not None:
            self.worker.start()
            return
        self.worker = self._stream.start(
            MEMORY,
            "m",
            extractor="gemini",
            model_windows_per_call=1,
            model_url=self.server.url,
            # However busy the machine is: what is asked twice is asked because of the kill.
            model_timeout_seconds=600,
            step_timeout_seconds=900,
            hang_timeout_seconds=1000,
            redis_url=f"unix://{self._valkey.socket}",
        )

    async def is_killed_in_mid_call(self) -> tuple[set[int], set[int]]:
        """Kill it, and empty Redis, once all answers are in the memo and other calls are open; return which."""
        told = self.calls

        async def written() -> bool:
            return len(told()) > ANSWERS and len(await self.answered()) == ANSWERS

        await eventually(written, "what was answered is in the memo, and calls are open")
        assert self.worker is not None
        self.worker.kill()
        await self._valkey.client().flushall()
        self.server.fail_always(None)
        answered = await self.answered()
        return answered, told().keys() - answered

    async def answered(self) -> set[int]:
        """Return which windows are in the memo, by the number of cats."""
        return {
            int(memo["conversation_id"].rpartition("-")[2]) + 100
            for memo in (await self.latest(MEMOS)).values()
        }

    def calls(self, since: int = 0) -> Counter[int]:
        """Return how often the model was asked about each window, by the number of cats."""
        return Counter(_cats(call.body) for call in self.server.calls[since:])

    def _fall_silent(self, body: Mapping[str, Any]) -> str | None:
        if self.server.count() == ANSWERS:
            self.server.fail_always(Fault.SLOW)
        return None


def _cats(body: Mapping[str, Any]) -> int:
    [number] = re.findall(r"I own (\d+) cats", json.dumps(body))
    return int(number)


@pytest.fixture
async def memory(stream: Deployment, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Memory]:
    monkeypatch.setenv("GEMINI_API_KEY", "scripted")
    async with AsyncExitStack() as resources:
        valkey = LocalValkey(stream.folder, "test")
        resources.push_async_callback(valkey.close)
        await valkey.ensure()
        yield Memory(stream, await resources.enter_async_context(ModelServer()), valkey)


async def test_killed_in_the_middle_of_an_answer(memory: Memory) -> None:
    everything = set(range(100, 100 + PEOPLE * EACH))
    await memory.told("hurt")
    memory.start()
    answered, in_flight = await memory.is_killed_in_mid_call()
    assert len(answered) == ANSWERS and in_flight
    memory.start()
    await memory.drained()
    asked = memory.calls()
    assert asked == dict.fromkeys(everything - in_flight, 1) | dict.fromkeys(in_flight, 2)
    before = memory.server.count()  # first: while the producer closes, all may be asked already
    await memory.told("calm")
    await memory.drained()
    assert memory.calls(since=before) == dict.fromkeys(everything, 1)
    calm = await memory.facts("calm")
    assert len(calm) >= PEOPLE * (EACH + 1)
    assert await memory.facts("hurt") == calm
