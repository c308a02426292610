"""State: what a step reads and writes of one partition, over the values that are confirmed."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator, Mapping

from streams.runtime.effects import StateChange
from streams.runtime.stored import GONE, StoredPartition

#: For how long a write of an earlier owner may still come: a request waits in a socket no longer than this.
#: As long as that, compaction keeps what such a write stands behind (``min_compaction_lag_ms``).
LATE_WRITES_SECONDS = 3600.0


class PartitionState:
    """The state of one partition that a step may read: an overlay of unconfirmed values over a table.

    A value enters the overlay when a step returns it and the table when its changelog record is
    confirmed.  Until then a later batch sees it, and a new epoch throws it away: state whose outputs were
    never confirmed must not survive in memory, or it would win at recovery (rule 5).
    """

    def __init__(self, stored: StoredPartition) -> None:
        self._stored = stored
        self._layout = stored.layout
        self._overlay: dict[bytes, bytes] = {}
        self._going: set[bytes] = set()
        self.source_index = 0
        #: Say which of the changelog's records are our own: ``(first offset, how many)``.
        self.wrote = stored.wrote

    def read(self, key: bytes) -> tuple[int, bytes | None]:
        """See :meth:`streams.runtime.stage.StateReader.read`."""
        value = self._value(key)
        if value is None:
            return 0, None
        return self._layout.next_offset(value, self.source_index), self._layout.payload(value)

    def items(self) -> Iterator[tuple[bytes, bytes]]:
        """See :meth:`streams.runtime.stage.StateReader.items`."""
        # Before the table, for a step may read it in another thread while values move there.
        unconfirmed = {**self._overlay}
        confirmed = (row for row in self._stored.values.items() if row[0] not in unconfirmed)
        for key, value in itertools.chain(unconfirmed.items(), confirmed):
            payload = self._layout.payload(value)
            if payload is not None:
                yield key, payload

    async def room(self) -> None:
        """See :meth:`streams.runtime.state_memory.StateMemory.room`."""
        await self._stored.room()

    def _value(self, key: bytes) -> bytes | None:
        value = self._overlay.get(key)
        return self._stored.values.get(key) if value is None else value

    def store(self, changes: Mapping[bytes, StateChange]) -> dict[bytes, bytes]:
        """Seal what a step stored, lay it on top unconfirmed, and return it as the changelog is to hold it."""
        seal, term, source_index = self._layout.seal, self._stored.term, self.source_index
        values = {
            key: seal(self._value(key), change.payload, source_index, change.next_offset, term)
            for key, change in changes.items()
        }
        self._overlay.update(values)
        return values

    def confirm(self, values: Mapping[bytes, bytes]) -> None:
        """Move values into the table; one that was overwritten meanwhile stays in the overlay too."""
        overlay = self._overlay
        for key, value in values.items():
            # First, for a step may read it in another thread meanwhile.
            self._stored.confirm(key, value)
            # By identity: two removals of one key are equal, and between them it may have been stored.
            if overlay.get(key) is value:
                del overlay[key]
            if value == GONE:
                self._going.discard(key)

    def purge(self, limit: int) -> dict[bytes, bytes]:
        """Return the tombstones that purge up to ``limit`` removed keys, if nobody can write them late."""
        stored = self._stored
        if time.monotonic() - stored.ours_since < LATE_WRITES_SECONDS:
            return {}
        free = (key for key in stored.removed if key not in self._overlay and key not in self._going)
        values = dict.fromkeys(itertools.islice(free, limit), GONE)
        self._going.update(values)
        return values


class NoState:
    """The state of a stage without a table: nothing to read, and writing is an error."""

    source_index = 0

    def wrote(self, first_offset: int, records: int) -> None:
        raise TypeError("a stage without a table has no changelog")

    def purge(self, limit: int) -> dict[bytes, bytes]:
        return {}

    def read(self, key: bytes) -> tuple[int, bytes | None]:
        return 0, None

    async def room(self) -> None:
        """Return at once."""

    def items(self) -> Iterator[tuple[bytes, bytes]]:
        return iter(())

    def store(self, changes: Mapping[bytes, StateChange]) -> dict[bytes, bytes]:
        if changes:
            raise TypeError("a stage without a table stores nothing; name one in Stage.table")
        return {}

    def confirm(self, values: Mapping[bytes, bytes]) -> None:
        if values:
            raise TypeError("a stage without a table has nothing to confirm")
