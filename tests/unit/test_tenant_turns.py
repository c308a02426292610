"""Turns of tenants at a model, without one: who begins next, and who gives up."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from streams.llm.port import Throttled
from streams.llm.tenant_turns import TenantTurns


class Calls:
    """Calls that begin in turn and end when the test says so."""

    def __init__(self, slots: int) -> None:
        self.turns = TenantTurns(slots)
        self.begun: list[str] = []
        self._ends: dict[str, asyncio.Event] = {}
        self.tasks: dict[str, asyncio.Task[None]] = {}

    async def ask(self, *names: str, patience: float = 60.0) -> None:
        """Begin calls called ``tenant`` and a number."""
        for name in names:
            self._ends[name] = asyncio.Event()
            self.tasks[name] = asyncio.create_task(self._call(name, patience))
            await self.settle()

    async def _call(self, name: str, patience: float) -> None:
        async with self.turns.turn(name[0], asyncio.get_running_loop().time() + patience):
            self.begun.append(name)
            await self._ends[name].wait()

    async def end(self, *names: str) -> None:
        for name in names:
            self._ends[name].set()
            await self.settle()

    async def settle(self) -> None:
        for _ in range(10):
            await asyncio.sleep(0)


@pytest.fixture
async def calls() -> AsyncIterator[Calls]:
    made = Calls(2)
    yield made
    for task in made.tasks.values():
        task.cancel()


async def test_one_tenant_alone_has_all_slots_in_its_own_order(calls: Calls) -> None:
    await calls.ask("a1", "a2", "a3", "a4")
    assert calls.begun == ["a1", "a2"]
    await calls.end("a2", "a1")
    assert calls.begun == ["a1", "a2", "a3", "a4"]


async def test_who_has_the_fewest_calls_open_is_next(calls: Calls) -> None:
    await calls.ask("a1", "a2", "a3", "a4", "b1", "b2")
    await calls.end("a1")
    assert calls.begun[2:] == ["b1"]
    await calls.end("b1")
    assert calls.begun[3:] == ["b2"], "a has one open still"
    await calls.end("a2")
    assert calls.begun[4:] == ["a3"]


async def test_of_equals_the_longest_waiting_is_next() -> None:
    calls = Calls(1)
    await calls.ask("a1", "b1", "a2", "c1", "b2")
    await calls.end("a1", "b1", "a2", "c1")
    assert calls.begun == ["a1", "b1", "a2", "c1", "b2"]
    await calls.end("b2")


async def test_slots_that_nobody_waits_for_are_free_again(calls: Calls) -> None:
    await calls.ask("a1", "a2")
    await calls.end("a1", "a2")
    await calls.ask("b1", "b2", "b3")
    assert calls.begun == ["a1", "a2", "b1", "b2"]


async def test_who_gives_up_takes_no_slot_along(calls: Calls) -> None:
    await calls.ask("a1", "a2", "b1", "b2", "c1")
    calls.tasks["b1"].cancel()
    calls.tasks["c1"].cancel()
    await calls.settle()
    await calls.end("a1", "a2")
    assert calls.begun == ["a1", "a2", "b2"]
    await calls.ask("d1", "d2")
    assert calls.begun == ["a1", "a2", "b2", "d1"], "one is free still"


async def test_giving_up_with_a_slot_passes_it_on(calls: Calls) -> None:
    await calls.ask("a1", "a2", "b1", "c1")
    calls._ends["a1"].set()
    await asyncio.sleep(0)  # the slot is b1's, which has not woken yet
    calls.tasks["b1"].cancel()
    await calls.settle()
    assert calls.begun == ["a1", "a2", "c1"]


async def test_beyond_the_deadline_a_call_is_to_be_tried_later(calls: Calls) -> None:
    await calls.ask("a1", "a2")
    await calls.ask("b1", patience=0.001)
    with pytest.raises(Throttled, match="too many calls"):
        await calls.tasks["b1"]
    await calls.end("a1")
    await calls.ask("c1")
    assert calls.begun == ["a1", "a2", "c1"]
