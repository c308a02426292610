"""An answer that comes faster than the broker confirms it."""

from __future__ import annotations

import asyncio

import pytest

from models.errors import DependencyUnavailable
from streams.chat.pieces import Pieces


class Broker:
    """Confirms a piece when it may; ``fails``: never."""

    def __init__(self) -> None:
        self.written: list[str] = []
        self.may = asyncio.Semaphore(0)
        self.fails = False

    async def write(self, text: str) -> None:
        self.written.append(text)
        await self.may.acquire()
        if self.fails:
            raise DependencyUnavailable("kafka", "it is away")


async def test_what_comes_while_a_piece_is_confirmed_is_one_piece() -> None:
    broker = Broker()
    pieces = Pieces(broker.write)
    pieces.add("One. ")
    await asyncio.sleep(0)
    for text in ("Two. ", "", "Three. "):
        pieces.add(text)
    await asyncio.sleep(0)
    assert broker.written == ["One. "], "one at a time"
    broker.may.release()
    broker.may.release()
    await pieces.written()
    assert broker.written == ["One. ", "Two. Three. "]
    broker.may.release()
    pieces.add("Four.")
    await pieces.written()
    assert broker.written[2:] == ["Four."]


async def test_what_a_piece_fails_of_is_told_with_the_next_or_at_the_end() -> None:
    broker = Broker()
    broker.fails = True
    pieces = Pieces(broker.write)
    pieces.add("One. ")
    broker.may.release()
    with pytest.raises(DependencyUnavailable):
        await pieces.written()
    with pytest.raises(DependencyUnavailable):
        pieces.add("Two.")
    assert broker.written == ["One. "]


async def test_nothing_is_written_behind_what_is_given_up() -> None:
    broker = Broker()
    pieces = Pieces(broker.write)
    pieces.add("One. ")
    await asyncio.sleep(0)
    pieces.add("Two. ")
    await pieces.give_up()
    broker.may.release()
    await asyncio.sleep(0)
    assert broker.written == ["One. "]
