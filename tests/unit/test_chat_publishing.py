"""What is shown of an answer is written a few times a second, in order, and has one end."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from models.errors import DependencyUnavailable
from models.responses import ContentDuplicationEvent, ResponseChunk
from streams.chat.events import TurnNames
from streams.chat.publishing import Publishing

NAMES = TurnNames(turn_id="t", conversation_id="c", user_id="ada", tenant_id="default", response_id="r")


class Broker:
    """Confirms at once; ``fails``: never."""

    def __init__(self) -> None:
        self.written: list[tuple[int, str, bool]] = []
        self.fails = False

    async def response(self, chunk: ResponseChunk, duplicates: Sequence[ContentDuplicationEvent]) -> None:
        self.written.append((chunk.sequence, chunk.text, chunk.final))
        if self.fails:
            raise DependencyUnavailable("kafka", "it is away")


def publishing(broker: Any) -> Publishing:
    return Publishing(broker, NAMES)


async def steps() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


async def test_pieces_that_come_soon_after_each_other_are_one_record() -> None:
    broker = Broker()
    answer = publishing(broker)
    answer.add("One. ")
    await steps()
    answer.add("Two. ")
    answer.add("Three.")
    await steps()
    assert broker.written == [(0, "One. ", False)]
    await answer.finish()
    assert broker.written[1:] == [(1, "Two. Three.", True)]
    await answer.finish()
    assert len(broker.written) == 2, "an answer ends once"


async def test_a_record_that_fails_is_raised_and_nothing_follows_it() -> None:
    broker = Broker()
    broker.fails = True
    answer = publishing(broker)
    answer.add("One. ")
    await steps()
    answer.add("Two. ")
    with pytest.raises(DependencyUnavailable):
        answer.check()
    with pytest.raises(DependencyUnavailable):
        await answer.finish()
    assert len(broker.written) == 1
