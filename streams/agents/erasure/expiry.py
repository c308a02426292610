"""Expiry of index items and vectors whose turns or episodes their topics no longer keep.

A topic lets go of its records by itself, and the conversation log expires in Redis; an index holds what it was
given until it is told.  So do the tombstones that keep old copies of what was erased out of all indexes: they
are needed for as long as a topic may hold such a copy.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, datetime, timedelta
from types import MappingProxyType
from typing import Any

import structlog

from models.errors import DependencyUnavailable
from models.index import SearchIndex
from streams.config.background import cancel_and_wait, in_background
from streams.stores.qdrant_kinds import ARRIVED
from streams.stores.qdrant_payload import ERASED_FIELD
from streams.telemetry.health import EXPIRY, HealthState

log = structlog.get_logger("streams.agents.erasure.expiry")

_EVERY_SECONDS = 3600.0

#: How long a tombstone stays: a day later than the records in the topics that say the same.  What they erase
#: compaction has taken within a day, so a topic that is read again by then holds neither.
TOMBSTONES_KEPT = timedelta(days=31)


class Expiry:
    """Looks once an hour for what arrived longer than ``kept`` ago in ``indexes``, by their names, and for old
    tombstones in these and in ``others``.

    What Qdrant cannot be told while it is down is told an hour later; so is what fails otherwise, and the
    service says so meanwhile.
    """

    def __init__(
        self,
        indexes: Mapping[str, SearchIndex[Any, Any]],
        kept: timedelta,
        others: Mapping[str, SearchIndex[Any, Any]] = MappingProxyType({}),
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._indexes = indexes
        self._kept = kept
        self._others = others
        self._clock = clock
        self._task: asyncio.Task[None] | None = None

    async def begin(self, health: HealthState) -> Callable[[], Awaitable[None]]:
        """Begin, with a first look now; returns what ends it."""
        self._task = in_background(self._run(health), "expiry")
        return self.stop

    async def stop(self) -> None:
        """End it, in the middle of a look if need be: the next one goes on."""
        if self._task is not None:
            await cancel_and_wait(self._task)

    async def look(self) -> int:
        """Remove what is too old now; return how many items.  Raises :class:`DependencyUnavailable`."""
        before, total = self._clock() - self._kept, 0
        for name, index in self._indexes.items():
            if gone := await index.expire(ARRIVED, before):
                log.info(
                    "items that are kept no longer are gone", index=name, items=gone, arrived_before=before
                )
            total += gone
        for name, index in (*self._indexes.items(), *self._others.items()):
            if gone := await index.expire(ERASED_FIELD, self._clock() - TOMBSTONES_KEPT):
                log.info("tombstones that nothing needs any more are gone", index=name, items=gone)
        return total

    async def _run(self, health: HealthState) -> None:
        while True:
            try:
                await self.look()
            except DependencyUnavailable as error:
                log.warning("what is kept no longer is still in an index", reason=str(error))
            except Exception as error:  # it is the service's to go on, and to say what it does not do
                log.exception("what is kept no longer is still in an index")
                said = f"what is kept no longer is still in an index ({type(error).__name__}): see the log"
                health.describe(EXPIRY, said)
            else:
                health.describe(EXPIRY, None)
            await asyncio.sleep(_EVERY_SECONDS)
