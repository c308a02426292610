"""Contents of one changelog partition: the latest value of each key, folded as rule 7 says."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Sequence
from typing import Any

from streams.runtime.marks import Layout
from streams.runtime.state_memory import StateMemory

#: What a removal becomes when nobody can write the key late any more: a record without a value.
GONE = b""


class StoredPartition:
    """The confirmed values of one partition of a table, sealed as :mod:`streams.runtime.marks` says.

    It outlives epochs, as long as the partition stays with this worker.  ``read_to``: up to this offset of
    the changelog ``values`` holds everything.  ``stale``: records that were ignored.  ``repairs``: keys
    behind whose value the changelog holds one that was ignored, which compaction would keep; the value must
    be written again.

    A removed key stays, without a payload, so that an earlier owner's late write is known for what it is.  Such
    a write comes soon or never, so removals may go once the partition was ours for some time (``ours_since``,
    monotonic seconds).

    ``memory``: what the values of all partitions have, without a limit if it is left out.
    """

    def __init__(self, sources: Sequence[str], memory: StateMemory | None = None) -> None:
        self.layout = Layout(sources)
        self.values = (memory or StateMemory()).values(self._leave_memory)
        #: Highest mark of each source among the values that have left memory.
        self._left = [0] * len(sources)
        self.removed: set[bytes] = set()
        self.repairs: set[bytes] = set()
        self.read_to = 0
        self.stale = 0
        self.term = 0
        self.ours_since = time.monotonic()

    def fold(self, records: Iterable[Any]) -> None:
        """Take in records of the changelog, in order.

        Raises:
            ConsistencyError: a value cannot be read in this layout (see :meth:`Layout.adopt`).
        """
        values, removed, repairs, layout = self.values, self.removed, self.repairs, self.layout
        is_stale, header = layout.is_stale, layout.header
        for record in records:
            key, value = record.key, record.value
            if value is None:
                self._fold_tombstone(key)
                continue
            if not value.startswith(header):
                value = layout.adopt(value)
            current = values.get(key)
            if current is not None:
                if is_stale(value, current):
                    repairs.add(key)
                    self.stale += 1
                    continue
                if repairs:
                    repairs.discard(key)
            if layout.term(value) > self.term:
                self.term = layout.term(value)
            values[key] = value
            if layout.is_removal(value):
                removed.add(key)
            elif removed:
                removed.discard(key)

    def _fold_tombstone(self, key: bytes) -> None:
        current = self.values.get(key)
        if current is not None and self.layout.term(current) and not self.layout.is_removal(current):
            # An owner first writes that a key is removed.  This one is late: the key was stored again.
            self.repairs.add(key)
            self.stale += 1
            return
        self.values.pop(key, None)
        self.removed.discard(key)
        self.repairs.discard(key)

    def begin_term(self) -> None:
        """Become the owner: what is written from here on goes before whatever earlier owners still write."""
        self.term += 1

    def confirm(self, key: bytes, value: bytes) -> None:
        """Take in what the changelog now holds of our own."""
        if value == GONE:
            self.values.pop(key, None)
            self.removed.discard(key)
            return
        self.values[key] = value
        if self.layout.is_removal(value):
            self.removed.add(key)
        elif self.removed:
            self.removed.discard(key)

    def wrote(self, first_offset: int, records: int) -> None:
        """Count our own records as read, as long as nobody else's lie between them."""
        if self.read_to == first_offset:
            self.read_to = first_offset + records

    def highest_mark(self, source_index: int) -> int:
        """Return the highest mark of a source: no record beyond it was folded in."""
        return max(self._left[source_index], self._highest(source_index, self.values.in_memory()))

    def _highest(self, source_index: int, values: Iterable[bytes]) -> int:
        return max((self.layout.next_offset(value, source_index) for value in values), default=0)

    def _leave_memory(self, values: Collection[bytes]) -> None:
        for index, mark in enumerate(self._left):
            self._left[index] = max(mark, self._highest(index, values))

    async def room(self) -> None:
        """See :meth:`StateMemory.room`."""
        await self.values.room()

    def close(self) -> None:
        """Give up the values: the partition is another worker's."""
        self.values.close()
