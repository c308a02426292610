"""Memory of state: the values used last stay in it, the others go to files.

The values of a partition are kept in two generations, the latest and the one before.  What is read or written
enters the latest.  Once the latest generations of all partitions take half of the memory that there is, they
become those before, new ones begin, and a thread writes what they hold to the files.  From then on a value is
found in the file too, so the next change of generations lets go of the one before as it is.

Nothing waits for that thread unless it is slower than what comes in: then a lane, or recovery, waits for it
(:meth:`StateMemory.room`).  A file is made when it is first needed.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Collection, ItemsView, Iterator, MutableMapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

from models.errors import ConsistencyError
from streams.runtime.state_file import Row, StateFile

T = TypeVar("T")

#: Bytes that a value takes in memory besides its own and those of its key: two objects and a place in a table.
_OVERHEAD = 240

#: Values that are written in one go, and how long that may take.
_ROWS_AT_ONCE = 4096
_PATIENCE_SECONDS = 60.0

#: Takes note of values that are about to leave memory; called in a thread.
Leaving = Callable[[Collection[bytes]], None]


class Values(MutableMapping[bytes, bytes]):
    """The values of one partition by key, none of them empty.

    A step may read in a thread while values are stored; ``size``: bytes of the latest generation.
    """

    def __init__(self, memory: StateMemory, leaving: Leaving) -> None:
        self._memory = memory
        self._leaving = leaving
        #: An empty value: the key was removed, and the file may still have it.
        self._latest: dict[bytes, bytes] = {}
        self._before: dict[bytes, bytes] = {}
        self._size_before = 0
        self._file: StateFile | None = None
        self.size = 0

    def get(self, key: bytes, default: bytes | None = None) -> bytes | None:  # type: ignore[override]  # one kind
        """Return the value of ``key``."""
        return self._latest.get(key) or self._find(key) or default

    def _find(self, key: bytes) -> bytes | None:
        # The same one until the end: where a new one has begun meanwhile, a newer value may be in this one.
        latest = self._latest
        value = self._before.get(key)
        if value is None and self._file is not None:
            value = self._file.get(key)
        if not value:
            return None
        if key not in latest:
            self.size += len(key) + len(value) + _OVERHEAD
        return latest.setdefault(key, value)

    def __getitem__(self, key: bytes) -> bytes:
        value = self.get(key)
        if value is None:
            raise KeyError(key)
        return value

    def __setitem__(self, key: bytes, value: bytes) -> None:
        before = self._latest.get(key)
        self._latest[key] = value
        self.size += len(value) - len(before) if before is not None else len(key) + len(value) + _OVERHEAD

    def __delitem__(self, key: bytes) -> None:
        if self.get(key) is None:
            raise KeyError(key)
        if self._before or self._file is not None:
            self[key] = b""
        else:
            self.size -= len(key) + len(self._latest.pop(key)) + _OVERHEAD

    def __iter__(self) -> Iterator[bytes]:
        return (key for key, _ in self._rows())

    def __len__(self) -> int:
        return sum(1 for _ in self._rows())

    def items(self) -> ItemsView[bytes, bytes]:
        """Return a view whose iterator passes over the file once; what is stored meanwhile is not among it."""
        return _Items(self)

    def in_memory(self) -> list[bytes]:
        """Return the values that are in memory."""
        return [value for value in {**self._before, **self._latest}.values() if value]

    async def room(self) -> None:
        """See :meth:`StateMemory.room`."""
        await self._memory.room()

    def close(self) -> None:
        """Give up what is kept: the partition is another worker's."""
        self._memory.forget(self)

    def _rows(self) -> Iterator[Row]:
        # In this order: what changes its place meanwhile goes from the first to the last.
        latest = self._latest.copy()
        in_memory = {**self._before, **latest}
        file = self._file
        yield from (row for row in in_memory.items() if row[1])
        if file is not None:
            yield from (row for row in file.rows() if row[0] not in in_memory)

    # -- what the memory does -------------------------------------------------------------------------------

    def begin_generation(self) -> dict[bytes, bytes]:
        """Let the latest generation be the one before; return the one that was, which is in the file."""
        dropped, self._before, self._size_before = self._before, self._latest, self.size
        self._latest, self.size = {}, 0
        return dropped

    def sorted_out(self, folder: Path) -> list[list[Row]]:
        """Return the rows of the generation before, in parts for :meth:`write`."""
        if not self._before:
            return []
        if self._file is None:
            self._file = StateFile(folder)
        return self._file.apart(self._before.copy().items(), -(-len(self._before) // _ROWS_AT_ONCE))

    def write(self, rows: list[Row]) -> None:
        """Write to the file."""
        assert self._file is not None
        self._leaving([value for _, value in rows if value])
        self._file.write(rows)

    def close_file(self) -> None:
        """Give up the file."""
        if self._file is not None:
            self._file.close()

    @property
    def sizes(self) -> tuple[int, int]:
        """Bytes in memory, and bytes of the file."""
        return self.size + self._size_before, 0 if self._file is None else self._file.size


class _Items(ItemsView[bytes, bytes]):
    _mapping: Values

    def __iter__(self) -> Iterator[Row]:
        return self._mapping._rows()


class StateMemory:
    """Memory of the values of a worker's partitions: ``limit`` bytes; what is beyond lies in ``folder``."""

    def __init__(self, folder: Path | None = None, limit: float = math.inf) -> None:
        self._folder = folder
        self._most = limit / 2
        self._values: dict[int, Values] = {}
        self._moving: asyncio.Task[None] | None = None
        self._thread: ThreadPoolExecutor | None = None

    def values(self, leaving: Leaving) -> Values:
        """Return room for the values of one more partition."""
        values = Values(self, leaving)
        self._values[id(values)] = values
        return values

    def forget(self, values: Values) -> None:
        """Give up the values of a partition."""
        self._values.pop(id(values), None)
        if self._thread is not None:
            # There, because somebody may be writing to the file, and because a large one takes its time.
            self._thread.submit(values.close_file)

    def close(self) -> None:
        """Give up everything."""
        if self._moving is not None:
            self._moving.cancel()
        for values in [*self._values.values()]:
            self.forget(values)
        if self._thread is not None:
            self._thread.shutdown(wait=False)

    @property
    def sizes(self) -> tuple[int, int]:
        """Bytes in memory, and bytes of the files."""
        each = [values.sizes for values in self._values.values()]
        return sum(memory for memory, _ in each), sum(file for _, file in each)

    async def room(self) -> None:
        """Begin to move values out if there are too many; wait while those before are still being moved.

        Raises:
            ConsistencyError: they cannot be moved.
        """
        while True:
            if self._moving is not None and self._moving.done():
                self._moving.result()
                self._moving = None
            if sum(values.size for values in self._values.values()) <= self._most:
                return
            if self._moving is None:
                dropped = [values.begin_generation() for values in self._values.values()]
                self._moving = asyncio.create_task(self._move_out(dropped), name="state leaves memory")
                self._moving.add_done_callback(_look_at)
                return
            await asyncio.wait({self._moving})  # each of its steps has its time

    async def _move_out(self, dropped: list[dict[bytes, bytes]]) -> None:
        thread = self._thread = self._thread or ThreadPoolExecutor(1, thread_name_prefix="state")
        await self._call(thread, _empty, dropped)
        for name, values in [*self._values.items()]:
            for rows in await self._call(thread, values.sorted_out, self._folder):
                if name not in self._values:
                    break
                await self._call(thread, values.write, rows)

    async def _call(self, thread: ThreadPoolExecutor, call: Callable[..., T], *args: Any) -> T:
        try:
            async with asyncio.timeout(_PATIENCE_SECONDS):
                return await asyncio.get_running_loop().run_in_executor(thread, call, *args)
        except TimeoutError as error:
            raise ConsistencyError(
                f"the disk of {self._folder} has taken no state for {_PATIENCE_SECONDS:g} s: see what it waits "
                "for, and start the worker again. Nothing is lost: the changelogs hold all of it"
            ) from error


def _empty(dropped: list[dict[bytes, bytes]]) -> None:
    """Let go of values one by one: to free all at once would keep Python's lock for some 100 ms."""
    for values in dropped:
        while values:
            values.popitem()


def _look_at(moving: asyncio.Task[None]) -> None:
    """Keep asyncio from complaining of a failure that :meth:`StateMemory.room` raises."""
    if not moving.cancelled():
        moving.exception()
