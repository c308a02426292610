"""A lane that serves tenants in turn, by hand: who is at work, what is acked, what an epoch gives up."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from lane_rig import SOURCE, Rig

from models.errors import DependencyUnavailable
from streams.clients.records import RecordBatch, SourceRecord
from streams.runtime.effects import Effects
from streams.runtime.stage import Stage, StateReader


class Calls:
    """An async step whose calls end when the test says so; values are ``tenant/number``, and so are keys."""

    def __init__(self) -> None:
        self.open: list[tuple[list[str], asyncio.Future[None]]] = []
        self.seen: list[str] = []

    async def step(self, batch: RecordBatch, state: StateReader) -> Effects:
        effects = Effects()
        values = [(record.value or b"").decode() for record in batch.records]
        answered: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.open.append((values, answered))
        await answered
        for record in batch.records:
            key = record.key or b""
            before = int(state.read(key)[1] or b"0")
            if key in effects.changes:
                before = int(effects.changes[key].payload or b"0")
            effects.emit("out", key, record.value)
            effects.store(key, b"%d" % (before + 1), record.offset + 1)
        self.seen += values
        return effects

    @property
    def tenants(self) -> list[str]:
        """Whose records each open call has."""
        return ["".join(sorted({value[0] for value in values})) for values, _ in self.open]

    def end(self, number: int = 0, error: Exception | None = None) -> list[str]:
        values, answered = self.open.pop(number)
        answered.set_exception(error) if error is not None else answered.set_result(None)
        return values


def stage(calls: Calls) -> Stage:
    return Stage(
        name="calls",
        sources=(SOURCE,),
        async_step=calls.step,
        table="calls",
        batch_records=8,
        tenant_of=lambda record: (record.value or b"").decode()[0],
    )


@pytest.fixture(autouse=True)
async def _closed() -> AsyncIterator[None]:
    yield
    while Rig.made:
        Rig.made.pop().lane.close()


@pytest.fixture
def calls() -> Calls:
    return Calls()


@pytest.fixture
async def rig(calls: Calls) -> Rig:
    return Rig(stage(calls), step_timeout_seconds=60.0)


def deliver(rig: Rig, tenant: str, *numbers: int) -> None:
    """Deliver a batch of a tenant's records; each ``number`` is a conversation of its own."""
    rig.deliver(*(f"{tenant}/{number}".encode() for number in numbers), key=lambda value: value)


async def test_one_tenant_is_not_behind_another_in_the_log(rig: Rig, calls: Calls) -> None:
    for first in range(0, 96, 8):
        deliver(rig, "f", *range(first, first + 8))
    deliver(rig, "c", 0)
    await rig.until(lambda: len(calls.open) == 2)
    assert calls.tenants == ["f", "c"]
    assert [len(values) for values, _ in calls.open] == [8, 1]
    calls.end(1)
    await rig.give_all(until=lambda: rig.publisher.values("out") == [b"c/0"])
    await rig.give_all(until=lambda: rig.acked == [96])
    assert calls.tenants == ["f"], "all that follows a prefix that is not acked: no commit, but no wait either"


async def test_a_batch_is_acked_when_all_its_records_are_stored(rig: Rig, calls: Calls) -> None:
    rig.deliver(b"a/0", b"b/0", b"a/1", key=lambda value: value)
    await rig.until(lambda: len(calls.open) == 2)
    calls.end(0)
    await rig.give_all(until=lambda: len(rig.confirmed) == 2)
    await rig.settle()
    assert rig.acked == []
    calls.end(0)
    await rig.until(lambda: rig.publisher.values("out") == [b"a/0", b"a/1", b"b/0"])
    await rig.settle()
    assert rig.acked == [], "its outputs are not confirmed"
    await rig.give_all(until=lambda: rig.acked == [2])


async def test_the_next_turn_of_a_key_sees_stored_state(rig: Rig, calls: Calls) -> None:
    for _ in range(3):
        rig.deliver(b"a/0", b"b/0", key=lambda value: value)
        await rig.settle()
    while len(rig.acked) < 3:
        await rig.until(lambda: len(calls.open) == 2)
        calls.end(1)
        calls.end(0)
        await rig.settle()
        if len(calls.seen) == 6:
            await rig.give_all(until=lambda: len(rig.acked) == 3)
    assert {key: rig.state.read(key) for key in (b"a/0", b"b/0")} == {b"a/0": (5, b"3"), b"b/0": (6, b"3")}


async def test_who_waits_for_a_dependency_holds_up_nobody_else(rig: Rig, calls: Calls) -> None:
    deliver(rig, "a", 0)
    await rig.until(lambda: len(calls.open) == 1)
    deliver(rig, "b", 0)
    await rig.until(lambda: len(calls.open) == 2)
    calls.end(0, DependencyUnavailable("model", "down for a"))
    await rig.until(lambda: calls.tenants == ["b", "a"])
    calls.end(0)
    await rig.give_all(until=lambda: rig.acked == [1])
    calls.end(0)
    await rig.give_all(until=lambda: rig.acked == [1, 0])


async def test_a_step_that_fails_for_good_buries_its_own_record(rig: Rig, calls: Calls) -> None:
    rig.deliver(b"a/0", b"b/0", key=lambda value: value)
    await rig.until(lambda: len(calls.open) == 2)
    calls.end(0, ValueError("broken"))
    calls.end(0)
    await rig.give_all(until=lambda: rig.acked == [1])
    assert rig.publisher.values(f"{SOURCE}.dlq") == [b"a/0"]
    assert rig.publisher.values("out") == [b"b/0"]


async def test_a_defect_in_a_turn_stops_the_worker(calls: Calls) -> None:
    def broken(record: SourceRecord) -> str:
        raise ValueError("no tenant")

    rig = Rig(Stage(name="calls", sources=(SOURCE,), async_step=calls.step, tenant_of=broken))
    deliver(rig, "a", 0)
    await rig.until(lambda: isinstance(rig.failure, ValueError))
    assert rig.acked == []


async def test_an_error_that_is_no_records_stops_the_worker(rig: Rig, calls: Calls) -> None:
    deliver(rig, "a", 0)
    await rig.until(lambda: len(calls.open) == 1)
    calls.end(0, MemoryError())
    await rig.until(lambda: isinstance(rig.failure, MemoryError))
    await rig.settle()
    assert rig.acked == []


class TestEpoch:
    async def test_once_over_no_turn_begins_and_all_is_discarded(self, rig: Rig, calls: Calls) -> None:
        for first in (0, 8, 16):
            deliver(rig, "f", *range(first, first + 8))
        await rig.until(lambda: len(calls.open) == 1)
        assert rig.lane.busy
        rig.epoch.stop()
        calls.end(0)
        await rig.until(lambda: not rig.lane.busy)
        await rig.settle()
        assert (calls.open, rig.acked, rig.publisher.submitted) == ([], [], [])
        assert sorted(rig.discarded) == [7, 15, 23]

    async def test_a_lane_that_is_closed_cancels_its_turns(self, rig: Rig, calls: Calls) -> None:
        rig.deliver(b"a/0", b"b/0", b"a/1", key=lambda value: value)
        deliver(rig, "a", 2)
        await rig.until(lambda: len(calls.open) == 2)
        deliver(rig, "a", 3)  # still in the queue
        rig.lane.close()
        await rig.settle()
        assert all(answered.cancelled() for _, answered in calls.open)
        assert sorted(rig.discarded) == [3, 4], "what is at work is given up with its epoch"
        assert rig.acked == []
        assert not rig.lane.busy

    async def test_what_is_read_again_behind_a_prefix_is_known(self, rig: Rig, calls: Calls) -> None:
        """A crash before the prefix was done: what was done behind it has its marks."""
        deliver(rig, "f", *range(8))
        deliver(rig, "c", 0)
        await rig.until(lambda: len(calls.open) == 2)
        calls.end(1)
        await rig.give_all(until=lambda: rig.acked == [8])
        assert rig.state.read(b"c/0") == (9, b"1")
        assert rig.state.read(b"f/0") == (0, None)


def test_stages_that_cannot_be_served_in_turn_are_refused(calls: Calls) -> None:
    fields: dict[str, Any] = {"name": "s", "tenant_of": lambda record: ""}
    for wrong in (
        {"step": lambda batch, state: Effects(), "sources": ("a",)},
        {"async_step": calls.step, "sources": ("a", "b")},
        {"async_step": calls.step, "sources": ("a",), "view_marks": lambda places: None},
        {"async_step": calls.step, "sources": ("a",), "table": "t", "on_timer": lambda *_: Effects()},
    ):
        with pytest.raises(ValueError, match="served in turn"):
            Stage(**fields, **wrong)
