"""State: confirmed values per partition, backed by a compacted changelog that Faust recovers from."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from streams.runtime import marks
from streams.runtime.faust_internals import TP, Table

#: Stands for a removed key; no value is empty, for each begins with its marks.
REMOVED = b""


class PartitionState:
    """The state of one partition that a step may read: an overlay of unconfirmed values over a table.

    A value enters the overlay when a step returns it and the table when its changelog record is
    confirmed.  Until then a later batch sees it, and a new epoch throws it away: state whose outputs were
    never confirmed must not survive in memory, or it would win at recovery (rule 5).
    """

    def __init__(self, confirmed: dict[bytes, bytes], sources: int) -> None:
        self._confirmed = confirmed
        self._overlay: dict[bytes, bytes] = {}
        self._sources = sources
        self.source_index = 0

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

    def lay(self, values: Mapping[bytes, bytes]) -> None:
        """Put unconfirmed values on top."""
        self._overlay.update(values)

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

    def read(self, key: bytes) -> tuple[int, bytes | None]:
        return 0, None

    def items(self) -> Iterator[tuple[bytes, bytes]]:
        return iter(())

    def value(self, key: bytes) -> bytes | None:
        return None

    def lay(self, values: Mapping[bytes, bytes]) -> None:
        if values:
            raise TypeError("a stage without a table stores nothing; name one in Stage.table")

    def confirm(self, values: Mapping[bytes, bytes]) -> None:
        self.lay(values)


class StateTable(Table[bytes, bytes]):
    """A Faust table that keeps encoded values per partition and recovers a changelog batch by batch.

    Values are bytes (:mod:`streams.runtime.marks`); steps decode those they need.  At recovery a record
    with a lower mark than what is already there is ignored (rule 7).
    """

    def __init__(self, app: Any, *, name: str, sources: int, partitions: int, **kwargs: Any) -> None:
        self.sources = sources
        self.confirmed: dict[int, dict[bytes, bytes]] = {}
        self.recovered_records = 0
        self._recovery_started: float | None = None
        self.recovery_seconds = 0.0
        super().__init__(app, name=name, partitions=partitions, recovery_buffer_size=1, **kwargs)

    def partition(self, number: int) -> dict[bytes, bytes]:
        """Return the confirmed values of a partition."""
        return self.confirmed.setdefault(number, {})

    def apply_changelog_batch(self, batch: Iterable[Any]) -> None:
        """Unpack record batches of the changelog; called by Faust's recovery."""
        if self._recovery_started is None:
            self._recovery_started = time.monotonic()
        single = self.sources == 1
        for event in batch:
            records = event.value
            values = self.partition(records.partition)
            for record in records.records:
                key, value = record.key, record.value
                if value is None:
                    values.pop(key, None)
                    continue
                current = values.get(key)
                if current is not None and (
                    value[:8] < current[:8] if single else marks.is_stale(value, current, self.sources)
                ):
                    continue
                values[key] = value
            self.recovered_records += len(records)

    async def on_rebalance(
        self, assigned: set[TP], revoked: set[TP], newly_assigned: set[TP], generation_id: int = 0
    ) -> None:
        """Drop the partitions that are no longer ours; a new assignment recovers them from the start."""
        mine = {tp.partition for tp in assigned if tp.topic == self.changelog_topic_name}
        for number in [number for number in self.confirmed if number not in mine]:
            del self.confirmed[number]
        await super().on_rebalance(assigned, revoked, newly_assigned, generation_id)

    async def on_recovery_completed(self, active_tps: set[TP], standby_tps: set[TP]) -> None:
        """Note how long recovery took."""
        if self._recovery_started is not None:
            self.recovery_seconds = time.monotonic() - self._recovery_started
            self._recovery_started = None
        await super().on_recovery_completed(active_tps, standby_tps)

    def highest_mark(self, partition: int, source_index: int) -> int:
        """Return the highest mark of a source in a partition: no record beyond it was folded in."""
        values = self.confirmed.get(partition)
        if not values:
            return 0
        at = source_index * marks.MARK_SIZE
        return int.from_bytes(max(value[at : at + marks.MARK_SIZE] for value in values.values()), "big")
