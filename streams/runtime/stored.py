"""What one partition of a changelog holds: the latest value of each key, folded as rule 7 says."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from streams.runtime import marks


class StoredPartition:
    """The confirmed values of one partition of a table.

    It outlives epochs, as long as the partition stays with this worker.  ``read_to``: up to this offset of
    the changelog ``values`` holds everything.  ``repairs``: keys behind whose value the changelog holds an
    older one, which compaction would keep; the value must be written again.
    """

    def __init__(self, sources: Sequence[str]) -> None:
        self.sources = len(sources)
        self.values: dict[bytes, bytes] = {}
        self.repairs: set[bytes] = set()
        self.read_to = 0
        #: Records that were ignored.
        self.stale = 0

    def fold(self, records: Iterable[Any]) -> None:
        """Take in records of the changelog, in order."""
        values, repairs, sources = self.values, self.repairs, self.sources
        single = sources == 1
        for record in records:
            key, value = record.key, record.value
            if value is None:
                values.pop(key, None)
                repairs.discard(key)
                continue
            current = values.get(key)
            if current is not None:
                if value[:8] < current[:8] if single else marks.is_stale(value, current, sources):
                    repairs.add(key)
                    self.stale += 1
                    continue
                if repairs:
                    repairs.discard(key)
            values[key] = value

    def wrote(self, first_offset: int, records: int) -> None:
        """Count our own records as read, as long as nobody else's lie between them."""
        if self.read_to == first_offset:
            self.read_to = first_offset + records

    def highest_mark(self, source_index: int) -> int:
        """Return the highest mark of a source: no record beyond it was folded in."""
        at = source_index * marks.MARK_SIZE
        highest = max((value[at : at + marks.MARK_SIZE] for value in self.values.values()), default=b"")
        return int.from_bytes(highest, "big")
