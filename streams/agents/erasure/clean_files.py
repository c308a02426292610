"""Files of the embedded indexes, rewritten when something in them was erased.

Not at each erasure: some time after the first, so that one rewriting does for all until then.  Certificates say
by when it is done (:mod:`streams.queries.erasure.certificate`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from datetime import UTC, datetime, timedelta
from typing import Any

import structlog

from models.errors import SwitchboardError
from models.index import SearchIndex
from streams.config.background import cancel_and_wait, in_background
from streams.stores.dual_write_index import each_of
from streams.stores.qdrant_edge import QdrantEdgeIndex
from streams.telemetry.health import ERASED_FILES, HealthState
from streams.telemetry.metrics import Metrics

log = structlog.get_logger("streams.agents.erasure.clean_files")

#: The longest wait between two looks.
_EVERY_SECONDS = 60.0


class CleanFiles:
    """Rewrites indexes, one at a time, once their first erasure is ``after`` old; looks once a minute.

    What fails, as on a full disk, is tried again with the next look; the service says so meanwhile.
    """

    def __init__(
        self,
        indexes: Iterable[SearchIndex[Any, Any]],
        after: timedelta,
        metrics: Metrics,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._indexes = [
            each for index in indexes for each in each_of(index) if isinstance(each, QdrantEdgeIndex)
        ]
        self._after = after
        self._age = metrics.index_erased_seconds
        self._clock = clock

    async def begin(self, health: HealthState) -> Callable[[], Awaitable[None]]:
        """Begin, with a first look now; returns what ends it."""
        task = in_background(self._run(health), "clean-files")

        async def stop() -> None:
            await cancel_and_wait(task)

        return stop

    async def look(self) -> int:
        """Rewrite those that are due; return how many.

        Raises:
            SwitchboardError: the disk is too full, or the engine fails; the index is as it was.
        """
        done = 0
        for index in self._indexes:
            age = self._age_of(index)
            if age is not None and age >= self._after:
                began = asyncio.get_running_loop().time()
                await index.rewrite()
                seconds = round(asyncio.get_running_loop().time() - began, 1)
                log.info(
                    "the index is rewritten without what was erased", index=index.kind.name, seconds=seconds
                )
                done += 1
            self._note_age()
        return done

    def _age_of(self, index: QdrantEdgeIndex[Any, Any]) -> timedelta | None:
        since = index.erased_at
        return None if since is None else self._clock() - since

    def _note_age(self) -> None:
        ages = [age.total_seconds() for index in self._indexes if (age := self._age_of(index)) is not None]
        self._age.set(max([0.0, *ages]))

    async def _run(self, health: HealthState) -> None:
        while True:
            try:
                await self.look()
            except SwitchboardError as error:
                log.warning("what was erased is still in files of an index", reason=str(error))
                health.describe(ERASED_FILES, f"what was erased is still in files of an index: {error}")
            except Exception as error:  # it is the service's to go on, and to say what it does not do
                log.exception("what was erased is still in files of an index")
                said = f"what was erased is still in files of an index ({type(error).__name__}): see the log"
                health.describe(ERASED_FILES, said)
            else:
                health.describe(ERASED_FILES, None)
            self._note_age()
            await asyncio.sleep(min(_EVERY_SECONDS, self._after.total_seconds()))
