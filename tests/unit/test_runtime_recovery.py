"""Recovery: reading changelogs to their ends, and mending them (with a broker: faults/test_recovery.py)."""

from __future__ import annotations

import asyncio
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from aiokafka.errors import KafkaConnectionError
from aiokafka.structs import TopicPartition

from models.errors import ConsistencyError
from streams.clients.records import Record
from streams.runtime import recovery
from streams.runtime.effects import Output
from streams.runtime.epoch import Epoch, EpochOver
from streams.runtime.faust_internals import TP
from streams.runtime.marks import Layout
from streams.runtime.recovery import recover, repair
from streams.runtime.state_memory import StateMemory
from streams.runtime.stored import StoredPartition

HERE = TP("changelog", 3)


def sealed(payload: bytes, mark: int) -> bytes:
    return Layout(("messages",)).seal(None, payload, 0, mark, 1)


class Log:
    """A changelog of one partition, as aiokafka's consumer gives it out: ``step`` offsets at a time."""

    def __init__(self, first: int, end: int, *, step: int = 3, skips: frozenset[int] = frozenset()) -> None:
        self.first, self.end, self.step, self.skips = first, end, step, skips
        self.at = 0
        self.polls = 0
        self.limits: list[int] = []
        self.stuck_at = end
        self.closed = False
        self.on_poll = lambda: None
        self.failure: Exception | None = None

    async def start(self) -> None:
        if self.failure:
            raise self.failure

    def assign(self, tps: list[TopicPartition]) -> None:
        assert tps == [TopicPartition(*HERE)]

    async def beginning_offsets(self, tps: list[Any]) -> dict[Any, int]:
        return dict.fromkeys(tps, self.first)

    async def end_offsets(self, tps: list[Any]) -> dict[Any, int]:
        return dict.fromkeys(tps, self.end)

    def seek(self, tp: Any, offset: int) -> None:
        assert tp == TopicPartition(*HERE)
        self.at = offset

    async def position(self, tp: Any) -> int:
        assert tp == TopicPartition(*HERE)
        return self.at

    async def getmany(self, *tps: Any, timeout_ms: float, max_records: int) -> dict[Any, list[Record]]:
        assert 100 <= timeout_ms <= 1000, "a poll neither spins nor outlives a revoke for long"
        self.polls += 1
        self.limits.append(max_records)
        self.on_poll()
        to = min(self.at + self.step, self.stuck_at)
        records = [
            Record(sealed(b"%d" % offset, offset + 1), b"key%d" % offset, offset)
            for offset in range(self.at, to)
            if offset not in self.skips
        ]
        self.at = max(self.at, to)
        return {tps[0]: records} if records else {}

    async def stop(self) -> None:
        self.closed = True


@pytest.fixture
def settings() -> Any:
    return SimpleNamespace(request_timeout_seconds=0.05, bootstrap_servers="", fetch_max_wait_ms=10)


@pytest.fixture
def part() -> StoredPartition:
    return StoredPartition(("messages",))


async def read(log: Log, part: StoredPartition, settings: Any, epoch: Epoch | None = None) -> int:
    def make(told: Any, client_id: str) -> Log:
        assert (told, client_id) == (settings, "test")
        return log

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(recovery, "_consumer", make)
        return await recover({HERE: part}, epoch or Epoch(), settings, "test", "switchboard state reset x")


class TestRecover:
    async def test_state_larger_than_memory_is_read_completely(self, tmp_path: Path, settings: Any) -> None:
        memory = StateMemory(tmp_path, limit=20_000)
        part, log, sizes = StoredPartition(("messages",), memory), Log(0, 500, step=10), list[int]()
        log.on_poll = lambda: sizes.append(memory.sizes[0])
        assert await read(log, part, settings) == 500
        assert max(sizes) < 25_000
        assert sorted(part.values) == sorted(b"key%d" % offset for offset in range(500))
        memory.close()

    async def test_a_changelog_that_stalls_stops_the_worker(self, part: StoredPartition, settings: Any) -> None:
        log = Log(0, 10)
        log.stuck_at = 5
        with pytest.raises(ConsistencyError, match=r"changelog-3 is not read to its end"):
            await read(log, part, settings)
        assert part.read_to == 5, "the next attempt goes on from here"
        assert log.closed

    async def test_an_unreadable_value_stops_the_worker(self, part: StoredPartition, settings: Any) -> None:
        class Foreign(Log):
            async def getmany(self, *tps: Any, timeout_ms: float, max_records: int) -> dict[Any, list[Record]]:
                return {tps[0]: [Record(b"\xff what is this", b"key", 0)]}

        with pytest.raises(ConsistencyError, match=r"changelog-3: .*no version wrote.*state reset x"):
            await read(Foreign(0, 10), part, settings)

    async def test_a_changelog_that_shrank_stops_the_worker(self, part: StoredPartition, settings: Any) -> None:
        part.read_to = 11
        with pytest.raises(ConsistencyError, match=r"deleted and made again\. switchboard state reset x"):
            await read(Log(0, 10), part, settings)

    async def test_a_revoke_ends_it_and_takes_nothing_in(self, part: StoredPartition, settings: Any) -> None:
        log, epoch = Log(0, 10), Epoch()
        log.on_poll = epoch.stop
        with pytest.raises(EpochOver):
            await read(log, part, settings, epoch)
        assert part.values == {}
        assert log.closed

    async def test_a_broker_that_is_away_stops_the_worker(self, part: StoredPartition, settings: Any) -> None:
        log = Log(0, 10)
        log.failure = KafkaConnectionError("nobody there")
        with pytest.raises(ConsistencyError, match="nobody there"):
            await read(log, part, settings)

    @pytest.mark.parametrize("call", ["start", "beginning_offsets", "end_offsets", "position"])
    async def test_a_broker_that_does_not_answer_stops_the_worker(
        self, part: StoredPartition, settings: Any, monkeypatch: pytest.MonkeyPatch, call: str
    ) -> None:
        """It could wait for ever with the partitions, which another worker could read."""

        async def silent(*_: Any) -> None:
            await asyncio.Event().wait()

        log = Log(0, 10)
        monkeypatch.setattr(log, call, silent)
        async with asyncio.timeout(60):
            with pytest.raises(ConsistencyError, match="restart the worker"):
                await read(log, part, settings)


class Batch(list[Output]):
    def record_count(self) -> int:
        return len(self)


class Publisher:
    """Confirms at once; packed batches have consecutive offsets from 100."""

    def __init__(self) -> None:
        self.written: list[Output] = []
        self.on_confirm = lambda: None

    def pack_values(
        self, topic: str, partition: int, values: dict[bytes, bytes]
    ) -> list[tuple[str, int, Batch]]:
        written = [Output(topic, key, value, (), None, partition) for key, value in values.items()]
        return [(topic, partition, Batch(written))]

    async def submit(self, packed: list[tuple[str, int, Batch]]) -> list[int]:
        offsets = []
        for _, _, batch in packed:
            offsets.append(100 + len(self.written))
            self.written += batch
        return offsets

    async def confirm(self, offsets: list[int]) -> list[int]:
        self.on_confirm()
        return offsets


class TestRepair:
    def spoiled(self, part: StoredPartition, keys: int) -> None:
        for number in range(keys):
            key = b"key%d" % number
            part.fold([Record(sealed(b"new", 9), key), Record(sealed(b"late", 5), key)])
        part.read_to = 100

    async def test_the_newer_value_is_written_behind_the_older_one(self, part: StoredPartition) -> None:
        self.spoiled(part, 2500)
        part.fold([Record(sealed(b"fine", 1), b"fine")])
        publisher = Publisher()
        assert await repair({HERE: part}, Epoch(), "changelog.v1", publisher) == 2500  # type: ignore[arg-type]  # a fake
        assert {
            (output.topic, output.partition, output.value, output.headers) for output in publisher.written
        } == {("changelog.v1", 3, sealed(b"new", 9), ())}
        assert {output.key for output in publisher.written} == {b"key%d" % number for number in range(2500)}
        assert part.repairs == set()
        assert part.read_to == 2600, "what it wrote itself need not be read"

    async def test_what_is_not_confirmed_stays_to_be_repaired(self, part: StoredPartition) -> None:
        self.spoiled(part, 1)
        publisher, epoch = Publisher(), Epoch()
        publisher.on_confirm = epoch.stop
        with pytest.raises(EpochOver):
            await repair({HERE: part}, epoch, "changelog.v1", publisher)  # type: ignore[arg-type]  # a fake
        assert part.repairs == {b"key0"}
