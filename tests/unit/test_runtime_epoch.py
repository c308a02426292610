"""An epoch: what it holds, what is left of it when it is over."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import pytest

from streams.runtime.epoch import Epoch, EpochOver, Progress
from streams.runtime.faust_internals import TP

TP0, TP1 = TP("t", 0), TP("t", 1)


@dataclass
class Message:
    offset: int
    acked: bool = False


class Lane:
    def __init__(self, *, busy: bool = False) -> None:
        self.busy = busy
        self.unconfirmed = busy
        self.closed = False

    def put(self, event: Any) -> None: ...

    def close(self) -> None:
        self.closed = True


@pytest.fixture
async def epoch() -> Epoch:
    epoch = Epoch()
    epoch.partitions.update({TP0: Progress.at(10, 100, 10), TP1: Progress.at(0, 100, None)})
    return epoch


class TestEnd:
    async def test_once_stopped_it_wakes_those_who_wait(self, epoch: Epoch) -> None:
        epoch.check()
        waiting = asyncio.create_task(epoch.ledger.freed(timeout=600))
        await asyncio.sleep(0)
        epoch.stop()
        await asyncio.wait_for(waiting, 60)
        assert epoch.running is False
        with pytest.raises(EpochOver):
            epoch.check()

    async def test_once_stopped_what_is_acked_can_still_be_committed(self, epoch: Epoch) -> None:
        epoch.ledger.deliver(TP0, Message(11, acked=True))
        epoch.partitions[TP0].fetched = 12
        epoch.stop()
        assert epoch.committable() == {TP0: 12, TP1: 0}

    async def test_no_lane_is_made_after_the_end(self, epoch: Epoch) -> None:
        lane = epoch.lane("stage", 0, Lane)
        assert epoch.lane("stage", 0, Lane) is lane
        assert epoch.lane("stage", 1, Lane) is not lane
        epoch.stop()
        assert epoch.lane("stage", 0, Lane) is lane
        with pytest.raises(EpochOver):
            epoch.lane("stage", 2, Lane)


class TestCommits:
    async def test_only_what_is_new_is_committed(self, epoch: Epoch) -> None:
        assert epoch.committable() == {TP1: 0}, "a group without a commit gets one"
        epoch.committed({TP1: 0})
        assert epoch.committable() == {}

    async def test_what_is_not_acked_holds_back_what_was_fetched(self, epoch: Epoch) -> None:
        first, second = Message(11), Message(13)
        for message in (first, second):
            epoch.ledger.deliver(TP0, message)
        epoch.partitions[TP0].fetched = 20
        second.acked = True
        assert TP0 not in epoch.committable()
        first.acked = True
        assert epoch.committable()[TP0] == 20, "aborted records behind the last one are read, too"
        first.acked, second.acked = True, False
        assert epoch.committable()[TP0] == 12

    async def test_what_was_committed_is_out_of_the_ledger(self, epoch: Epoch) -> None:
        epoch.ledger.deliver(TP0, Message(11, acked=True))
        epoch.ledger.deliver(TP0, Message(13))
        epoch.committed({TP0: 12})
        assert epoch.partitions[TP0].committed == 12
        assert epoch.ledger.committable() == {}

    async def test_deliveries_ahead_count_from_commit_or_start(self, epoch: Epoch) -> None:
        first, second = epoch.partitions[TP0], epoch.partitions[TP1]
        assert (first.ahead, second.ahead) == (0, 0)
        first.position, second.position = 15, 4
        assert (first.ahead, second.ahead) == (5, 4)
        epoch.committed({TP0: 12})
        assert first.ahead == 3
        assert Progress.at(10, 100, 7).ahead == 0, "it begins behind a commit that is older than the log"


class TestDrain:
    async def test_it_returns_when_nothing_is_in_flight(self, epoch: Epoch) -> None:
        lane = Lane(busy=True)
        epoch.lane("stage", 3, lambda: lane)
        draining = asyncio.create_task(epoch.drain(600, hopeless=lambda: False))
        await asyncio.sleep(0)
        assert not draining.done()
        assert list(epoch.busy_lanes()) == [("stage-3", lane)]
        lane.busy = False
        epoch.settled.set()
        assert await asyncio.wait_for(draining, 60)

    async def test_it_gives_up_in_time(self, epoch: Epoch) -> None:
        epoch.lane("stage", 3, lambda: Lane(busy=True))
        assert await asyncio.wait_for(epoch.drain(0.01, hopeless=lambda: False), 60) is False

    async def test_what_comes_through_without_a_word_is_seen(self, epoch: Epoch) -> None:
        lane = Lane(busy=True)
        epoch.lane("stage", 3, lambda: lane)
        asyncio.get_running_loop().call_later(0.2, setattr, lane, "busy", False)
        assert await asyncio.wait_for(epoch.drain(600, hopeless=lambda: False), 60)

    async def test_it_waits_to_the_end_of_its_time(self, epoch: Epoch, monkeypatch: pytest.MonkeyPatch) -> None:
        looks = 0

        def look() -> bool:
            nonlocal looks
            looks += 1
            return False

        clock = iter((100.0, 104.5, 105.0))
        monkeypatch.setattr("streams.runtime.epoch.time", SimpleNamespace(monotonic=lambda: next(clock)))
        epoch.lane("stage", 3, lambda: Lane(busy=True))
        assert not await asyncio.wait_for(epoch.drain(5, hopeless=look), 60)
        assert looks == 2, "half a second before the end it looks once more"

    async def test_it_does_not_wait_for_what_cannot_come(self, epoch: Epoch) -> None:
        epoch.lane("stage", 3, lambda: Lane(busy=True))
        assert not await asyncio.wait_for(epoch.drain(600, hopeless=lambda: True), 60)
