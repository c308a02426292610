"""Vectors for those who cannot wait, with an embedder that is told when to answer."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence

import numpy as np
import pytest

from models.errors import DependencyUnavailable
from models.index import Vectors
from streams.agents.vectors.queue import VectorQueue

LONG = 600.0


class Held:
    """Answers one call for each ``release``."""

    model, dimensions = "held", 2

    def __init__(self) -> None:
        self.calls: list[list[str]] = []
        self.down = False
        self._answers = asyncio.Semaphore(0)
        self._called = asyncio.Condition()

    def release(self, calls: int = 1) -> None:
        for _ in range(calls):
            self._answers.release()

    async def called(self, times: int) -> None:
        async with self._called:
            await self._called.wait_for(lambda: len(self.calls) >= times)

    async def embed(self, texts: Sequence[str]) -> Vectors:
        async with self._called:
            self.calls.append(list(texts))
            self._called.notify_all()
        await self._answers.acquire()
        if self.down:
            raise DependencyUnavailable("embedder", "down")
        return np.array([[len(text), 0] for text in texts], dtype=np.float32)


@pytest.fixture
async def held() -> Held:
    return Held()


@pytest.fixture
async def queue(held: Held) -> AsyncIterator[VectorQueue]:
    made = VectorQueue(held)
    yield made
    await made.close()


async def test_each_text_is_embedded_once_for_all_who_ask(held: Held, queue: VectorQueue) -> None:
    held.release(3)
    one, other = await asyncio.gather(queue.get(["a", "bb", "a"], LONG), queue.get(["bb"], LONG))
    assert {text: vector[0] for text, vector in one.items()} == {"a": 1, "bb": 2}
    assert [*other] == ["bb"]
    assert sorted(text for call in held.calls for text in call) == ["a", "bb"]


async def test_who_runs_out_of_time_gets_the_vector_later(held: Held, queue: VectorQueue) -> None:
    assert await queue.get(["a"], 0) == {}
    await held.called(1)
    held.release()
    assert [*await queue.get(["a"], LONG)] == ["a"]
    assert held.calls == [["a"]]


async def test_the_oldest_of_a_backlog_are_dropped_and_counted(held: Held) -> None:
    told: list[int] = []
    queue = VectorQueue(held, told.append)
    await queue.get(["busy"], 0)
    await held.called(1)
    waits = asyncio.create_task(queue.get(["first"], LONG))
    while told[-1:] != [1]:
        await asyncio.sleep(0)
    await queue.get([str(number) for number in range(256)], 0)
    async with asyncio.timeout(60):
        assert await waits == {}
    assert max(told) == 256
    await queue.close()
