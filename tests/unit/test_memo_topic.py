"""The topic of the memo, when it is closed while somebody asks where it ends."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
import pytest

from models.errors import DependencyUnavailable
from models.memo import Memo, Outcome
from streams.clients import kafka
from streams.config.settings import Settings
from streams.llm.memo.topic import Entry, MemoTopic
from streams.runtime.testing import START


class Broker:
    """Never answers."""

    def __init__(self) -> None:
        self.asked = asyncio.Event()

    async def end_offsets(self, places: Any) -> Any:
        self.asked.set()
        await asyncio.Event().wait()


@pytest.mark.parametrize("waiting", [1, 2])
async def test_nothing_is_asked_of_a_topic_that_was_closed(
    waiting: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not even what nobody waits for any more: it would connect anew, and nobody would close that."""
    topic, broker = MemoTopic(Settings()), Broker()

    async def connected() -> Broker:
        return broker

    monkeypatch.setattr(topic, "_connected_reader", connected)
    asking = [asyncio.create_task(topic.ends())]
    async with asyncio.timeout(60):
        await broker.asked.wait()
        if waiting > 1:  # the first one is being answered, the next stands in line
            asking.append(asyncio.create_task(topic.ends()))
            await asyncio.sleep(0)
        for each in asking:
            each.cancel()
        await asyncio.wait(asking)
        await topic.close()
    assert [each for each in asyncio.all_tasks() if each.get_name() == "memo-ends"] == []


def memo() -> bytes:
    made = Memo(
        memo_id="m",
        user_id="ada",
        purpose="p",
        prompt="p-1",
        model="m",
        outcome=Outcome.ANSWERED,
        asked_at=START,
    )
    return msgspec.json.encode(made)


@pytest.mark.parametrize("use", [MemoTopic.ends, lambda topic: topic.write([Entry(b"k", None, 0)])])
async def test_what_cannot_be_connected_is_closed(use: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Any] = []
    closed: list[Any] = []

    async def connect(client: Any, *_: Any) -> None:
        made.append(client)
        raise DependencyUnavailable("kafka", "nobody answers")

    async def close(client: Any) -> None:
        closed.append(client)
        await closing(client)

    closing = kafka.close
    monkeypatch.setattr(kafka, "connect", connect)
    monkeypatch.setattr(kafka, "close", close)
    with pytest.raises(DependencyUnavailable):
        await use(MemoTopic(Settings()))
    assert made == closed != []
