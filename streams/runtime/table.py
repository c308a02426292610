"""State: confirmed values per partition, backed by a compacted changelog that Faust recovers from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from streams.runtime import marks
from streams.runtime.effects import StateChange
from streams.runtime.faust_internals import TP, Table
from streams.runtime.stored import StoredPartition

#: Stands for a removed key; no value is empty, for each begins with its marks.
REMOVED = b""


class PartitionState:
    """The state of one partition that a step may read: an overlay of unconfirmed values over a table.

    A value enters the overlay when a step returns it and the table when its changelog record is
    confirmed.  Until then a later batch sees it, and a new epoch throws it away: state whose outputs were
    never confirmed must not survive in memory, or it would win at recovery (rule 5).
    """

    def __init__(self, stored: StoredPartition) -> None:
        self._confirmed = stored.values
        self._overlay: dict[bytes, bytes] = {}
        self._sources = stored.sources
        self.source_index = 0
        #: Say which of the changelog's records are our own: ``(first offset, how many)``.
        self.wrote = stored.wrote

    def read(self, key: bytes) -> tuple[int, bytes | None]:
        """See :meth:`streams.runtime.stage.StateReader.read`."""
        value = self.value(key)
        if value is None:
            return 0, None
        return marks.next_offset(value, self.source_index), marks.payload(value, self._sources)

    def items(self) -> Iterator[tuple[bytes, bytes]]:
        """See :meth:`streams.runtime.stage.StateReader.items`."""
        for key in {**self._confirmed, **self._overlay}:
            value = self.value(key)
            if value is not None:
                yield key, marks.payload(value, self._sources)

    def value(self, key: bytes) -> bytes | None:
        """Return the stored value of ``key`` with its marks."""
        value = self._overlay.get(key)
        if value is None:
            return self._confirmed.get(key)
        return value if value != REMOVED else None

    def store(self, changes: Mapping[bytes, StateChange]) -> dict[bytes, bytes]:
        """Seal what a step stored, lay it on top unconfirmed, and return it as the changelog is to hold it."""
        values = {}
        for key, change in changes.items():
            if change.payload is None:
                values[key] = REMOVED
            else:
                values[key] = marks.seal(
                    self.value(key), change.payload, self._sources, self.source_index, change.next_offset
                )
        self._overlay.update(values)
        return values

    def confirm(self, values: Mapping[bytes, bytes]) -> None:
        """Move values into the table; one that was overwritten meanwhile stays in the overlay too."""
        self._confirmed.update(values)
        overlay = self._overlay
        for key, value in values.items():
            if overlay.get(key) is value:
                del overlay[key]
            if value == REMOVED:
                del self._confirmed[key]


class NoState:
    """The state of a stage without a table: nothing to read, and writing is an error."""

    source_index = 0

    def wrote(self, first_offset: int, records: int) -> None:
        raise TypeError("a stage without a table has no changelog")

    def read(self, key: bytes) -> tuple[int, bytes | None]:
        return 0, None

    def items(self) -> Iterator[tuple[bytes, bytes]]:
        return iter(())

    def value(self, key: bytes) -> bytes | None:
        return None

    def store(self, changes: Mapping[bytes, StateChange]) -> dict[bytes, bytes]:
        if changes:
            raise TypeError("a stage without a table stores nothing; name one in Stage.table")
        return {}

    def confirm(self, values: Mapping[bytes, bytes]) -> None:
        if values:
            raise TypeError("a stage without a table has nothing to confirm")


class StateTable(Table[bytes, bytes]):
    """A Faust table whose partitions keep encoded values; they are recovered by
    :mod:`streams.runtime.recovery`.

    Values are bytes (:mod:`streams.runtime.marks`); steps decode those they need.
    """

    def __init__(self, app: Any, *, name: str, sources: Sequence[str], partitions: int, **kwargs: Any) -> None:
        self.sources = tuple(sources)
        self._partitions: dict[int, StoredPartition] = {}
        super().__init__(app, name=name, partitions=partitions, **kwargs)

    def partition(self, number: int) -> StoredPartition:
        """Return what is stored of a partition that is ours."""
        stored = self._partitions.get(number)
        if stored is None:
            stored = self._partitions[number] = StoredPartition(self.sources)
        return stored

    async def on_rebalance(
        self, assigned: set[TP], revoked: set[TP], newly_assigned: set[TP], generation_id: int = 0
    ) -> None:
        """Drop the partitions that are no longer ours; a new assignment recovers them from the start."""
        mine = {tp.partition for tp in assigned if tp.topic == self.changelog_topic_name}
        self._partitions = {number: self._partitions[number] for number in mine & self._partitions.keys()}
        await super().on_rebalance(assigned, revoked, newly_assigned, generation_id)
