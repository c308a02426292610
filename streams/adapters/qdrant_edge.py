"""The fact index on Qdrant Edge: Qdrant's own engine inside this process, in a folder.

What was measured with ``qdrant-edge-py`` 0.9 and shapes this module:

* The engine holds the interpreter for as long as a call runs, whatever the thread.  So writes go in small
  pieces, and ``optimize()`` is never called: building the vector graph for 100,000 facts stops the whole
  process for 70 s, while without it a search among one person's facts, which the payload index finds
  first, takes 0.3 ms (and 13 ms in the worst case, that all 100,000 are one person's).
* An update is in the write-ahead log, a memory-mapped file, when it returns: it survives ``kill -9`` and is
  replayed at the next start.  Only ``flush()`` (20 ms) brings it through a power cut as well; it runs once a
  second while there are writes, which also keeps the log and its replay short.
* On a full disk a memory-mapped file kills the process (SIGBUS), so writes stop while there is still room.
"""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import TypeVar

import numpy as np
import qdrant_edge as edge
from numpy.typing import NDArray

from models.errors import ConfigurationError, ConsistencyError, DependencyUnavailable
from models.facts import Fact
from models.ports import FactFilter, FoundFact, Vectors
from streams.adapters import qdrant_edge_shard as ask
from streams.adapters import qdrant_payload as stored
from streams.adapters.folder_lock import FolderLock

T = TypeVar("T")
Call = Callable[[edge.EdgeShard], T]

_ONE_OWNER = (
    "Embedded Qdrant keeps its files open in one process, so only one `recall` worker can run on a folder. "
    "Stop that process, or start a Qdrant server and set SWITCHBOARD_QDRANT_URL for every worker."
)


class QdrantEdgeIndex:
    """Implements :class:`models.ports.FactIndex` on a folder that this process owns until :meth:`close`.

    Calls run one at a time in one thread, which is what makes it safe to read a version and then write.
    ``timeout`` (seconds) bounds a call, queueing included; ``flush_seconds`` is the longest that a write
    waits to be safe from a power cut; writes are refused below ``minimum_free_bytes`` of free disk.
    """

    def __init__(
        self,
        folder: Path,
        dimensions: int,
        *,
        timeout: float = 10.0,
        flush_seconds: float = 1.0,
        minimum_free_bytes: int = 128 * 1024 * 1024,
    ) -> None:
        """Take the folder's lock and open what it holds.  Blocks: 0.4 s at 100,000 facts.

        Raises :class:`ConfigurationError` when another process owns the folder, or its files cannot be read
        or are for other dimensions, and :class:`DependencyUnavailable` when the disk is full.
        """
        self._folder = folder
        self._dimensions = dimensions
        self._timeout = timeout
        self._flush_seconds = flush_seconds
        self._minimum_free_bytes = minimum_free_bytes
        self._lock = FolderLock(folder, _ONE_OWNER)
        try:
            self._require_space()
            self._shard = ask.open_shard(folder, dimensions)
        except BaseException:  # a panic of the engine is no Exception, and the lock must go
            self._lock.release()
            raise
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="qdrant-edge")
        self._closed = False
        self._next_flush: asyncio.TimerHandle | None = None
        self._flush_error: Exception | None = None

    async def upsert_facts(self, facts: Sequence[Fact]) -> None:
        """See the port.  Raises :class:`models.errors.InvalidRecord` for a ``fact_id`` that is no uuid."""
        latest = stored.newest(facts)
        for part in stored.batches(len(latest)):
            await self._write(partial(ask.upsert, facts=latest[part]))

    async def without_vector(self, fact_ids: Sequence[str]) -> set[str]:
        """See the port."""
        ids = stored.point_ids(fact_ids)
        return await self._run(partial(ask.without_vector, ids=ids)) if ids else set()

    async def store_vectors(self, fact_ids: Sequence[str], vectors: Vectors) -> None:
        """See the port.  Raises :class:`ConfigurationError` for vectors of other dimensions."""
        self._require_dimensions(vectors.shape[1])
        for part in stored.batches(len(fact_ids)):
            rows = dict(zip(fact_ids[part], vectors[part], strict=True))
            await self._write(partial(ask.store_vectors, vectors=rows))

    async def forget_vectors(self, fact_ids: Sequence[str]) -> None:
        """See the port."""
        if ids := stored.point_ids(fact_ids):
            await self._write(partial(ask.forget_vectors, ids=ids))

    async def search_vector(
        self, vector: NDArray[np.float32], where: FactFilter, limit: int
    ) -> list[FoundFact]:
        """See the port.  Raises :class:`ConfigurationError` for a vector of other dimensions."""
        self._require_dimensions(len(vector))
        return await self._run(partial(ask.nearest, vector=vector, where=where, limit=limit))

    async def search_text(self, query: str, where: FactFilter, limit: int) -> list[FoundFact]:
        """See the port.  Words count in their English base form; English stop words do not count."""
        return await self._run(partial(ask.with_words, words=query, where=where, limit=limit))

    async def get(self, fact_ids: Sequence[str]) -> list[Fact]:
        """See the port."""
        return await self._run(partial(ask.get, ids=stored.point_ids(fact_ids)))

    async def list_facts(
        self, where: FactFilter, limit: int, start: str | None = None
    ) -> tuple[list[Fact], str | None]:
        """See the port."""
        return await self._run(partial(ask.page, where=where, limit=limit, start=start))

    async def erase(self, versions: Mapping[str, int]) -> None:
        """See the port."""
        known = {fact_id: versions[fact_id] for fact_id in stored.point_ids(versions)}
        if known:
            await self._write(partial(ask.erase, versions=known))

    async def count(self, where: FactFilter | None = None) -> int:
        """See the port."""
        return await self._run(partial(ask.count, where=where))

    async def close(self) -> None:
        """Flush, close the files and give the folder away.  May be called twice."""
        if self._closed:
            return
        if self._next_flush is not None:
            self._next_flush.cancel()
        try:
            await self._run(edge.EdgeShard.close)
            self._lock.release()
        finally:
            self._closed = True
            self._thread.shutdown(wait=False, cancel_futures=True)

    async def _write(self, change: Call[None]) -> None:
        if self._flush_error is not None:
            # Writes that had returned may be lost in a power cut: say so once, and let the caller try again.
            error, self._flush_error = self._flush_error, None
            raise error
        self._require_space()
        await self._run(change)
        if self._next_flush is None:
            loop = asyncio.get_running_loop()
            self._next_flush = loop.call_later(self._flush_seconds, self._start_flush)

    def _start_flush(self) -> None:
        self._next_flush = None
        self._thread.submit(self._flush)

    def _flush(self) -> None:
        try:
            self._call(edge.EdgeShard.flush)
        except (DependencyUnavailable, ConsistencyError) as error:
            self._flush_error = error

    async def _run(self, call: Call[T]) -> T:
        if self._closed:
            raise DependencyUnavailable("qdrant", f"the embedded index in {self._folder} is closed")
        waiting = asyncio.get_running_loop().run_in_executor(self._thread, self._call, call)
        try:
            return await asyncio.wait_for(waiting, self._timeout)
        except TimeoutError as error:
            raise DependencyUnavailable(
                "qdrant", f"no answer within {self._timeout:g} s from the embedded index in {self._folder}"
            ) from error

    def _call(self, call: Call[T]) -> T:
        """Run ``call`` on the shard, in the one thread, and give the engine's errors their names."""
        try:
            return call(self._shard)
        except Exception as error:
            # The engine raises plain Exception; any other class is a mistake of ours, and must be seen.
            if type(error) is not Exception:
                raise
            message = f"the embedded index in {self._folder} failed: {error}"
            raise DependencyUnavailable("qdrant", message) from error
        except BaseException as error:  # a panic of the engine is no Exception
            if type(error).__name__ != "PanicException":
                raise
            raise ConsistencyError(
                f"the embedded index in {self._folder} broke off in the middle of a call: {error}. "
                "Start the worker again: it replays its log."
            ) from error

    def _require_dimensions(self, dimensions: int) -> None:
        if dimensions != self._dimensions:
            raise ConfigurationError(
                f"vectors of {dimensions} dimensions do not fit an index of {self._dimensions}: "
                f"the embedding model was changed. {ask.REBUILD}"
            )

    def _require_space(self) -> None:
        free = shutil.disk_usage(self._folder).free
        if free < self._minimum_free_bytes:
            raise DependencyUnavailable(
                "qdrant",
                f"only {free / 1e6:,.0f} MB are free on the disk of {self._folder}, and the embedded index "
                f"needs {self._minimum_free_bytes / 1e6:,.0f} MB to write safely: free some space",
            )
