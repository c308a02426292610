"""An index on Qdrant Edge: Qdrant's own engine inside this process, in a folder.

What was measured with ``qdrant-edge-py`` 0.9 and shapes this module:

* The engine holds the interpreter for as long as a call runs, whatever the thread.  So writes go in small
  pieces, and ``optimize()`` is never called: building the vector graph for 100,000 facts stops the whole
  process for 70 s, while without it a search among one person's facts, which the payload index finds
  first, takes 0.3 ms (and 10 ms in the worst case, that all 100,000 are one person's).
* An update is in the write-ahead log, a memory-mapped file, when it returns: it survives ``kill -9`` and is
  replayed at the next start.  Only ``flush()`` brings it through a power cut as well: a hundred calls of the
  kernel that wait for the disk, 20 ms where it is idle and some hundred where it is not, and whoever searches
  waits for them.  What a power cut takes is read from the topics again, for the marks go with it; so it runs
  seldom, and often enough to keep the log and its replay short.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Generic, TypeVar

import msgspec
import numpy as np
from numpy.typing import NDArray

from models.errors import ConsistencyError, DependencyUnavailable
from models.index import Found, Place, Vectors, VectorSpace
from models.index_conditions import Where
from streams.stores import qdrant_payload as stored
from streams.stores.disk_space import DiskSpace
from streams.stores.folder_lock import FolderLock
from streams.stores.qdrant_edge_errors import named_errors
from streams.stores.qdrant_edge_files import EdgeFiles
from streams.stores.qdrant_edge_opening import rebuild
from streams.stores.qdrant_edge_rewriting import bytes_of, erased_at, remove_leftovers
from streams.stores.qdrant_edge_shard import Shard
from streams.stores.qdrant_kinds import Kind

T = TypeVar("T")
Item = TypeVar("Item", bound=msgspec.Struct)
Filter = TypeVar("Filter", bound=Where)

_ONE_OWNER = (
    "Embedded Qdrant keeps its files open in one process, so only one `recall` worker can run on a folder. "
    "Stop that process, or start a Qdrant server and set SWITCHBOARD_QDRANT_URL for every worker."
)

#: The longest rest between two pieces of a rewriting (seconds).
_LONGEST_REST = 1.0

#: So many writes wait to be flushed at most, each of up to :data:`~.qdrant_payload.WRITE_BATCH` points.
_UNFLUSHED_WRITES = 200


class QdrantEdgeIndex(Generic[Item, Filter]):
    """Implements :class:`models.index.SearchIndex` on a folder that this process owns until :meth:`close`.

    Calls run one at a time in one thread, which is what makes it safe to read a version and then write.
    ``timeout`` (seconds) bounds a call, queueing included; ``flush_seconds`` is the longest that a write
    waits to be safe from a power cut, if not many follow it; writes are refused below
    ``minimum_free_bytes`` of free disk.
    """

    def __init__(
        self,
        folder: Path,
        kind: Kind[Item],
        space: VectorSpace,
        *,
        timeout: float = 10.0,
        flush_seconds: float = 10.0,
        minimum_free_bytes: int = 128 * 1024 * 1024,
        patience: float = 0.0,
    ) -> None:
        """Take the folder's lock and open what it holds.

        Blocks: 0.4 s at 100,000 facts, and up to ``patience`` seconds until another process lets go of it.

        Raises :class:`ConfigurationError` when another process owns the folder, or its files cannot be read
        or are of another kind, format or model, and :class:`DependencyUnavailable` when the disk is full.
        """
        self._folder = folder
        self._kind = kind
        self.space = space
        self._timeout = timeout
        self._flush_seconds = flush_seconds
        self._disk = DiskSpace(folder, minimum_free_bytes)
        self._lock = FolderLock(folder, _ONE_OWNER, patience)
        try:
            self._disk.require()
            self._files: EdgeFiles[Item] = EdgeFiles(folder, kind, space)
        except BaseException:  # a panic of the engine is no Exception, and the lock must go
            self._lock.release()
            raise
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="qdrant-edge")
        self._closed = False
        self._next_flush: asyncio.TimerHandle | None = None
        self._unflushed = 0
        self._flush_error: Exception | None = None

    @property
    def is_degraded(self) -> bool:
        """See the port: the engine ranks words."""
        return False

    async def upsert(self, items: Sequence[Item]) -> None:
        """See the port.  Raises :class:`models.errors.InvalidRecord` for an id that is no uuid."""
        latest = self._kind.newest(items)
        for part in stored.batches(len(latest)):
            await self._write(partial(Shard.upsert, items=latest[part]))

    async def without_vector(self, ids: Sequence[str]) -> set[str]:
        """See the port."""
        asked = stored.point_ids(ids)
        return await self._run(partial(Shard.without_vector, ids=asked)) if asked else set()

    async def store_vectors(self, ids: Sequence[str], vectors: Vectors, model: str) -> None:
        """See the port."""
        self._require_space_of(vectors.shape[1], model)
        for part in stored.batches(len(ids)):
            rows = dict(zip(ids[part], vectors[part], strict=True))
            await self._write(partial(Shard.store_vectors, vectors=rows))

    async def forget_vectors(self, ids: Sequence[str]) -> None:
        """See the port."""
        if known := stored.point_ids(ids):
            await self._erase(partial(Shard.forget_vectors, ids=known))

    async def vectors(self, ids: Sequence[str]) -> dict[str, NDArray[np.float32]]:
        """See the port."""
        asked = stored.point_ids(ids)
        return await self._run(partial(Shard.vectors, ids=asked)) if asked else {}

    async def search_vector(self, vector: NDArray[np.float32], where: Filter, limit: int) -> list[Found[Item]]:
        """See the port.  Raises :class:`ConfigurationError` for a vector of other dimensions."""
        self._require_space_of(len(vector))
        return await self._run(partial(Shard.nearest, vector=vector, where=where, limit=limit))

    async def cosines(self, vector: NDArray[np.float32], ids: Sequence[str]) -> dict[str, float]:
        """See the port."""
        self._require_space_of(len(vector))
        asked = stored.point_ids(ids)
        return await self._run(partial(Shard.cosines, vector=vector, ids=asked)) if asked else {}

    async def search_text(self, query: str, where: Filter, limit: int) -> list[Found[Item]]:
        """See the port.  Words count in their English base form; English stop words do not count."""
        return await self._run(partial(Shard.with_words, words=query, where=where, limit=limit))

    async def search(
        self, query: str, vector: NDArray[np.float32], where: Filter, limit: int
    ) -> tuple[list[Item], dict[str, float]]:
        """See the port: one visit to the thread, where the two searches and the cosines were three."""
        self._require_space_of(len(vector))
        asked = partial(Shard.nearest_and_with_words, words=query, vector=vector, where=where, limit=limit)
        return await self._run(asked)

    async def get(self, ids: Sequence[str]) -> list[Item]:
        """See the port."""
        return await self._run(partial(Shard.get, ids=stored.point_ids(ids)))

    async def page(self, where: Filter, limit: int, start: str | None = None) -> tuple[list[Item], str | None]:
        """See the port."""
        return await self._run(partial(Shard.page, where=where, limit=limit, start=start))

    async def erase(self, versions: Mapping[str, int]) -> None:
        """See the port."""
        known = {name: versions[name] for name in stored.point_ids(versions)}
        if known:
            await self._erase(partial(Shard.erase, versions=known))

    async def expire(self, field: str, before: datetime) -> int:
        """See the port."""
        total = 0
        while gone := await self._write(partial(Shard.expire, field=field, before=before)):
            total += gone
        return total

    async def count(self, where: Filter | None = None) -> int:
        """See the port."""
        return await self._run(partial(Shard.count, where=where))

    async def marks(self, places: Sequence[Place]) -> dict[Place, int]:
        """See the port."""
        return await self._run(partial(Shard.marks, places=places))

    async def set_mark(self, place: Place, next_offset: int) -> None:
        """See the port."""
        await self._write(partial(Shard.set_mark, place=place, next_offset=next_offset))

    async def close(self) -> None:
        """Flush, close the files and give the folder away.  May be called twice."""
        if self._closed:
            return
        if self._next_flush is not None:
            self._next_flush.cancel()
        try:
            await self._in_thread(self._files.close)
            self._lock.release()
        finally:
            self._closed = True
            self._thread.shutdown(wait=False, cancel_futures=True)

    @property
    def kind(self) -> Kind[Item]:
        """The kind of its items."""
        return self._kind

    @property
    def erased_at(self) -> datetime | None:
        """Since when its files hold something that was erased; ``None``: they do not."""
        return erased_at(self._files.living)

    async def rewrite(self, rest: float = 3.0) -> None:
        """Put new files without what was erased in the place of its own, while it serves
        (:mod:`~.qdrant_edge_rewriting`).

        After each few points it rests ``rest`` times as long as they took, for who searches and writes.

        Raises:
            DependencyUnavailable: the disk has no room for both, or the engine fails; the index stays as it is.
        """
        self._disk.require(bytes_of(self._files.living))
        try:
            await self._in_thread(self._files.begin_rewriting)
            more = True
            while more:
                self._disk.require()
                began = time.monotonic()
                more = await self._in_thread(self._files.copy)
                await asyncio.sleep(min(rest * (time.monotonic() - began), _LONGEST_REST))
            await self._in_thread(self._files.take_place)
        except BaseException:
            if not self._closed:
                self._thread.submit(self._call, self._files.abandon)
            raise
        await asyncio.to_thread(remove_leftovers, self._folder)

    async def _erase(self, change: Callable[[Shard[Item]], bool]) -> None:
        await self._write_files(partial(self._files.erase, change))

    async def _write(self, change: Callable[[Shard[Item]], T]) -> T:
        return await self._write_files(partial(self._files.change, change))

    async def _write_files(self, change: Callable[[], T]) -> T:
        if self._flush_error is not None:
            # Writes that had returned may be lost in a power cut: say so once, and let the caller try again.
            error, self._flush_error = self._flush_error, None
            raise error
        self._disk.require()
        done = await self._in_thread(change)
        self._unflushed += 1
        if self._next_flush is None:
            loop = asyncio.get_running_loop()
            self._next_flush = loop.call_later(self._flush_seconds, self._start_flush)
        elif self._unflushed >= _UNFLUSHED_WRITES:
            self._next_flush.cancel()
            self._start_flush()
        return done

    def _start_flush(self) -> None:
        self._next_flush = None
        self._unflushed = 0
        self._thread.submit(self._flush)

    def _flush(self) -> None:
        try:
            self._call(lambda: self._files.shard.engine.flush())
        except (DependencyUnavailable, ConsistencyError) as error:
            self._flush_error = error

    async def _run(self, call: Callable[[Shard[Item]], T]) -> T:
        """Call with the shard that is open then: a rewriting puts another in its place."""
        return await self._in_thread(lambda: call(self._files.shard))

    async def _in_thread(self, call: Callable[[], T]) -> T:
        if self._closed:
            raise DependencyUnavailable("qdrant", f"the embedded index in {self._folder} is closed")
        waiting = asyncio.get_running_loop().run_in_executor(self._thread, self._call, call)
        try:
            async with asyncio.timeout(self._timeout):
                return await waiting
        except TimeoutError as error:
            raise DependencyUnavailable(
                "qdrant", f"no answer within {self._timeout:g} s from the embedded index in {self._folder}"
            ) from error

    def _call(self, call: Callable[[], T]) -> T:
        with named_errors(self._folder):
            return call()

    def _require_space_of(self, dimensions: int, model: str | None = None) -> None:
        stored.check_space(self.space, dimensions, model, rebuild(self._folder))
