"""State beyond memory: a file of values, two generations in memory, and what moves from one to the other."""

from __future__ import annotations

import asyncio
import itertools
import threading
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.errors import ConsistencyError
from streams.clients.records import Record
from streams.runtime import state_memory
from streams.runtime.codec import Codec
from streams.runtime.marks import Layout
from streams.runtime.state_file import StateFile
from streams.runtime.state_memory import StateMemory, Values
from streams.runtime.stored import StoredPartition
from streams.runtime.table import PartitionState
from streams.runtime.work import Work

KEYS = [b"a", b"b", b"c", b"d", b"e"]

#: What a test is to wait for at most: 60 s, as other tests do.
PATIENCE = 60


def kept(values: Values) -> dict[bytes, bytes]:
    return dict(values.items())


async def moved(memory: StateMemory) -> None:
    """Wait until what is being moved has been."""
    async with asyncio.timeout(PATIENCE):
        while memory._moving is not None and not memory._moving.done():
            await asyncio.sleep(0.001)


def open_files() -> list[str]:
    """The paths of the files that this process has open; that of one without a name, too."""
    found = []
    for handle in Path("/proc/self/fd").iterdir():
        with suppress(FileNotFoundError):
            found.append(str(handle.readlink()))
    return found


@pytest.fixture
async def memory(tmp_path: Path) -> AsyncIterator[StateMemory]:
    """No value has room for long."""
    memory = StateMemory(tmp_path, limit=1)
    yield memory
    memory.close()


async def all_to_the_file(memory: StateMemory) -> None:
    """Let two generations pass: nothing of what was stored before is in memory."""
    await memory.room()
    await moved(memory)
    filler = memory.values(lambda values: None)
    filler[b"filler"] = b"filler"
    await memory.room()
    await moved(memory)
    await memory.room()


class TestStateFile:
    @given(st.lists(st.dictionaries(st.sampled_from(KEYS), st.sampled_from([b"", b"1", b"22"]))), st.data())
    def test_it_holds_what_was_written_last_whatever_the_hashes(self, writes: list[Any], data: Any) -> None:
        """Keys of one hash are distinguished, one that leaves gives its place to no other's value."""
        hashes = {key: data.draw(st.integers(-2, 1)) for key in KEYS}
        with TemporaryDirectory() as folder:
            file, plain = StateFile(Path(folder), hashes.__getitem__), dict[bytes, bytes]()
            for rows in writes:
                file.write([*rows.items()])
                plain |= rows
                plain = {key: value for key, value in plain.items() if value}
                assert {key: file.get(key) for key in KEYS} == {key: plain.get(key) for key in KEYS}
                assert sorted(file.rows()) == sorted(plain.items())
            file.close()

    def test_more_rows_than_one_statement_takes(self, tmp_path: Path) -> None:
        file = StateFile(tmp_path)
        rows = [(b"%d" % number, b"v%d" % number) for number in range(2000)]
        file.write(rows)
        assert sorted(file.rows()) == sorted(rows)
        assert [file.get(key) for key, _ in rows] == [value for _, value in rows]
        assert file.size >= 2000 * 10
        file.close()

    def test_rows_that_are_written_together_lie_together(self, tmp_path: Path) -> None:
        file = StateFile(tmp_path)
        rows = [(b"%d" % number, b"v") for number in range(1000)]
        parts = file.apart(rows, 5)
        assert sorted(row for part in parts for row in part) == sorted(rows)
        assert 5 <= len(parts) <= 8
        assert max(map(len, parts)) < 400
        spans = sorted(
            (min(numbers), max(numbers)) for part in parts if (numbers := [hash(key) for key, _ in part])
        )
        assert all(before[1] < after[0] for before, after in itertools.pairwise(spans))
        assert file.apart(rows, 1) == [rows]
        file.close()

    def test_it_leaves_nothing_in_its_folder(self, tmp_path: Path) -> None:
        folder = tmp_path / "made" / "for it"
        file = StateFile(folder)
        file.write([(b"k", b"v")])
        assert [*folder.iterdir()] == []
        assert any(name.startswith(str(folder)) for name in open_files()), "there it is, without a name"
        file.close()
        assert not any(name.startswith(str(folder)) for name in open_files())

    def test_a_full_disk_says_what_to_do(self, tmp_path: Path) -> None:
        file = StateFile(tmp_path)
        file._db.execute("PRAGMA max_page_count = 10")  # then SQLite does as if the disk were full
        with pytest.raises(ConsistencyError, match=r"is full.*SWITCHBOARD_DATA_DIR.*Nothing is lost"):
            file.write([(b"%d" % number, bytes(1000)) for number in range(200)])
        file.close()

    def test_a_folder_that_cannot_be_written_says_what_to_do(self, tmp_path: Path) -> None:
        tmp_path.joinpath("file").touch()
        with pytest.raises(ConsistencyError, match=r"Not a directory.*SWITCHBOARD_DATA_DIR"):
            StateFile(tmp_path / "file" / "state")

    def test_a_read_after_the_partition_has_gone_is_no_answer(self, tmp_path: Path) -> None:
        """``None`` would mean that nothing is stored."""
        file = StateFile(tmp_path)
        file.write([(b"k", b"v")])
        file.close()
        with pytest.raises(ConsistencyError, match="given away"):
            file.get(b"k")


class TestValues:
    @given(st.data())
    async def test_values_are_as_in_a_dict_wherever_they_lie(self, data: Any) -> None:
        operations = st.lists(
            st.tuples(st.sampled_from(["set", "delete", "get", "room", "moved"]), st.sampled_from(KEYS)),
            max_size=40,
        )
        with TemporaryDirectory() as folder:
            memory = StateMemory(Path(folder), limit=data.draw(st.sampled_from([1, 1000, 2000])))
            values, plain = memory.values(lambda values: None), dict[bytes, bytes]()
            for number, (what, key) in enumerate(data.draw(operations)):
                if what == "set":
                    values[key] = plain[key] = b"%d" % number
                elif what == "delete":
                    assert values.pop(key, None) == plain.pop(key, None)
                elif what == "get":
                    assert values.get(key) == plain.get(key)
                    assert (key in values) == (key in plain)
                elif what == "room":
                    await memory.room()
                else:
                    await moved(memory)
                assert kept(values) == plain
                assert len(values) == len(plain)
                taken = sum(
                    len(key) + len(value) + state_memory._OVERHEAD for key, value in values._latest.items()
                )
                assert values.size == taken
            assert {key: values.get(key) for key in KEYS} == {key: plain.get(key) for key in KEYS}
            memory.close()

    async def test_what_is_used_stays_in_memory_and_the_rest_leaves(self, tmp_path: Path) -> None:
        memory = StateMemory(tmp_path, limit=30_000)
        values = memory.values(lambda values: None)
        values[b"hot"] = values[b"cold"] = b"v"
        for number in range(500):
            values[b"%d" % number] = b"v"
            assert values[b"hot"] == b"v"
            await memory.room()
            await moved(memory)
            assert sum(memory.sizes[:1]) < 32_000
        held = {**values._before, **values._latest}
        assert b"hot" in held
        assert b"cold" not in held
        assert values[b"cold"] == b"v"
        assert len(values) == 502
        assert memory.sizes[1] > 0
        memory.close()

    async def test_many_values_are_written_in_bounded_parts(
        self, memory: StateMemory, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The thread takes one after the other, and each has its time."""
        written, write = list[int](), StateFile.write

        def noted(file: StateFile, rows: Any) -> None:
            written.append(len(rows))
            write(file, rows)

        monkeypatch.setattr(StateFile, "write", noted)
        values = memory.values(lambda values: None)
        for number in range(20_000):
            values[b"%d" % number] = b"v"
        await memory.room()
        await moved(memory)
        assert sum(written) == 20_000
        assert max(written) < 2 * state_memory._ROWS_AT_ONCE
        assert len(written) <= 16

    async def test_a_removed_key_does_not_come_back_from_the_file(self, memory: StateMemory) -> None:
        values = memory.values(lambda values: None)
        values[b"k"] = b"v"
        await all_to_the_file(memory)
        del values[b"k"]
        assert values.get(b"k") is None
        await all_to_the_file(memory)
        assert kept(values) == {}
        with pytest.raises(KeyError):
            del values[b"k"]

    async def test_a_listing_holds_everything_while_values_move(self, memory: StateMemory) -> None:
        values = memory.values(lambda values: None)
        everything = {b"%d" % number: b"v%d" % number for number in range(1000)}
        for number, (key, value) in enumerate(everything.items()):
            values[key] = value
            if number % 300 == 299:
                await memory.room()
        found = dict[bytes, bytes]()
        for number, (key, value) in enumerate(values.items()):
            assert key not in found
            found[key] = value
            if number % 100 == 0:
                values[b"0"] = b"v0"
                await memory.room()
                await moved(memory)
        assert found == everything

    async def test_a_value_found_late_hides_none_that_was_stored_meanwhile(
        self, memory: StateMemory, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        values, get = memory.values(lambda values: None), StateFile.get
        values[b"k"] = b"old"
        await all_to_the_file(memory)

        def slowly(file: StateFile, key: bytes) -> bytes | None:
            found = get(file, key)
            values[b"k"] = b"new"
            values.begin_generation()
            return found

        monkeypatch.setattr(StateFile, "get", slowly)
        values.get(b"k")
        assert values.get(b"k") == b"new"

    async def test_a_value_found_late_does_not_end_the_move(
        self, memory: StateMemory, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """It enters the generation in which it was looked for, which may be the one that is being written."""
        values = memory.values(lambda values: None)
        values[b"k"] = values[b"l"] = b"v"

        def apart(file: StateFile, rows: Any, parts: int) -> Any:
            values._before[b"late"] = b"v"
            return [[row for row in rows if values._before.setdefault(b"later " + row[0], b"v")]]

        monkeypatch.setattr(StateFile, "apart", apart)
        await memory.room()
        await moved(memory)
        await memory.room()
        assert values.get(b"l") == b"v"

    async def test_a_reader_finds_each_value_while_it_moves(self, memory: StateMemory) -> None:
        """And what it keeps at hand for the next one hides nothing that is stored meanwhile."""
        values, stop, wrong = memory.values(lambda values: None), threading.Event(), list[Any]()
        stored = dict[bytes, int]()
        for key in KEYS:
            values[key], stored[key] = b"0", 0

        def read() -> None:
            while not stop.wait(0.0001):  # or it would keep Python's lock from the others for 5 ms at a time
                for key in KEYS:
                    least = stored[key]
                    found = values.get(key)
                    if found is None or int(found) < least:
                        wrong.append((key, found, least))

        reading = asyncio.create_task(asyncio.to_thread(read))
        try:
            for number in range(1, 300):
                key = KEYS[number % 3]
                values[key] = b"%d" % number
                stored[key] = number
                await memory.room()
                if number % 7 == 0:
                    await moved(memory)
        finally:
            stop.set()
        await reading
        assert wrong == []
        assert {key: int(value) for key, value in values.items()} == stored


class TestRoom:
    async def test_it_waits_while_the_file_takes_less_than_comes_in(
        self, memory: StateMemory, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        go_on, write = threading.Event(), StateFile.write

        def slowly(file: StateFile, rows: Any) -> None:
            go_on.wait(PATIENCE)
            write(file, rows)

        monkeypatch.setattr(StateFile, "write", slowly)
        values = memory.values(lambda values: None)
        values[b"a"] = b"1"
        await memory.room()
        values[b"b"] = b"2"
        waiting = asyncio.create_task(memory.room())
        await asyncio.sleep(0.05)
        assert not waiting.done()
        assert (values.get(b"a"), values.get(b"b")) == (b"1", b"2")
        go_on.set()
        async with asyncio.timeout(PATIENCE):
            await waiting
        await moved(memory)

    async def test_without_a_limit_nothing_is_moved(self) -> None:
        memory = StateMemory()
        values = memory.values(lambda values: None)
        values[b"k"] = bytes(10_000_000)
        await memory.room()
        assert memory._moving is None
        values.close()

    @pytest.mark.parametrize("partition", ["moves", "is moved later"])
    async def test_a_partition_given_away_meanwhile_is_no_failure(
        self, memory: StateMemory, monkeypatch: pytest.MonkeyPatch, partition: str
    ) -> None:
        one, two = memory.values(lambda values: None), memory.values(lambda values: None)
        one[b"k"] = two[b"k"] = b"v"
        goes = one if partition == "moves" else two
        sort_out = Values.sorted_out
        loop = asyncio.get_running_loop()

        def given_away(values: Values, folder: Path) -> Any:
            if values is one:
                loop.call_soon_threadsafe(memory.forget, goes)
            return sort_out(values, folder)

        monkeypatch.setattr(Values, "sorted_out", given_away)
        await memory.room()
        await moved(memory)
        await memory.room()
        stays = two if goes is one else one
        assert stays.sizes[1] > 0
        assert stays.get(b"k") == b"v"

    async def test_values_that_cannot_be_moved_stop_the_worker_and_stay(self, tmp_path: Path) -> None:
        tmp_path.joinpath("file").touch()
        memory = StateMemory(tmp_path / "file", limit=1)
        values = memory.values(lambda values: None)
        values[b"k"] = b"v"
        await memory.room()
        await moved(memory)
        for _ in range(2):
            with pytest.raises(ConsistencyError, match="SWITCHBOARD_DATA_DIR"):
                await memory.room()
        assert values.get(b"k") == b"v"
        memory.close()

    async def test_a_disk_that_does_not_answer_stops_the_worker(
        self, memory: StateMemory, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        go_on = threading.Event()
        monkeypatch.setattr(StateFile, "write", lambda file, rows: go_on.wait(PATIENCE))
        monkeypatch.setattr(state_memory, "_PATIENCE_SECONDS", 0.01)
        values = memory.values(lambda values: None)
        values[b"k"] = b"v"
        await memory.room()
        await moved(memory)
        go_on.set()
        with pytest.raises(ConsistencyError, match="has taken no state for"):
            await memory.room()


class TestPartition:
    def sealed(self, payload: bytes, mark: int) -> bytes:
        return Layout(("messages", "summaries")).seal(None, payload, 0, mark)

    async def test_the_highest_mark_is_known_of_values_in_the_file(self, memory: StateMemory) -> None:
        partition = StoredPartition(("messages", "summaries"), memory)
        partition.confirm(b"a", self.sealed(b"", 300))
        partition.confirm(b"b", self.sealed(b"", 200))
        await all_to_the_file(memory)
        assert partition.values.in_memory() == []
        assert (partition.highest_mark(0), partition.highest_mark(1)) == (300, 0)
        partition.confirm(b"c", self.sealed(b"", 400))
        assert partition.highest_mark(0) == 400

    async def test_a_late_write_is_known_by_a_file_value(self, memory: StateMemory) -> None:
        partition = StoredPartition(("messages", "summaries"), memory)
        partition.confirm(b"a", self.sealed(b"new", 300))
        await all_to_the_file(memory)
        partition.fold([Record(self.sealed(b"late", 200), b"a")])
        assert (partition.stale, partition.repairs) == (1, {b"a"})
        assert partition.values[b"a"] == self.sealed(b"new", 300)

    async def test_keys_with_a_text_come_in_order(self, memory: StateMemory) -> None:
        """Else a replay might erase in another order."""
        partition, text = StoredPartition(("messages", "summaries"), memory), Codec("t", str).encode("text")
        for number in range(20, 40):
            partition.confirm(b"%d" % number, self.sealed(text, 1))
        await all_to_the_file(memory)
        for number in (50, 30, 10):
            partition.confirm(b"%d" % number, self.sealed(text, 2))
        found = Work("stage", PartitionState(partition)).holding(b"text")
        assert found == [b"10", *(b"%d" % number for number in range(20, 40)), b"50"]

    async def test_a_partition_given_away_gives_up_its_file(self, memory: StateMemory) -> None:
        partition = StoredPartition(("messages", "summaries"), memory)
        partition.confirm(b"a", self.sealed(b"", 300))
        await all_to_the_file(memory)
        assert memory._thread is not None
        partition.close()
        await asyncio.wrap_future(memory._thread.submit(lambda: None))
        with pytest.raises(ConsistencyError, match="given away"):
            partition.values.get(b"a")
