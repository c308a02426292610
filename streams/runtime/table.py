"""State: confirmed values per partition, backed by a compacted changelog that Faust recovers from."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from streams.runtime import marks
from streams.runtime.effects import StateChange
from streams.runtime.faust_internals import TP, Table
from streams.runtime.records import RecordBatch

#: Stands for a removed key; no value is empty, for each begins with its marks.
REMOVED = b""


class PartitionState:
    """The state of one partition that a step may read: an overlay of unconfirmed values over a table.

    A value enters the overlay when a step returns it and the table when its changelog record is
    confirmed.  Until then a later batch sees it, and a new epoch throws it away: state whose outputs were
    never confirmed must not survive in memory, or it would win at recovery (rule 5).
    """

    def __init__(
        self,
        confirmed: dict[bytes, bytes],
        sources: int,
        wrote: Callable[[int, int], None] = lambda first_offset, records: None,
    ) -> None:
        self._confirmed = confirmed
        self._overlay: dict[bytes, bytes] = {}
        self._sources = sources
        self.source_index = 0
        #: Tell the table which of its changelog's records are its own: ``(first offset, how many)``.
        self.wrote = wrote

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
    """A Faust table that keeps encoded values per partition and recovers a changelog batch by batch.

    Values are bytes (:mod:`streams.runtime.marks`); steps decode those they need.  At recovery a record
    with a lower mark than what is already there is ignored (rule 7).

    ``read_to`` says up to which offset of a partition's changelog ``confirmed`` holds everything, without a
    hole.  Faust's own account has holes: it counts events that it then drops when it resumes the flow, and
    those of partitions that are no longer ours.
    """

    def __init__(self, app: Any, *, name: str, sources: int, partitions: int, **kwargs: Any) -> None:
        self.sources = sources
        self.confirmed: dict[int, dict[bytes, bytes]] = {}
        self.read_to: dict[int, int] = {}
        self.recovered_records = 0
        self._recovery_started: float | None = None
        self.recovery_seconds = 0.0
        super().__init__(app, name=name, partitions=partitions, recovery_buffer_size=1, **kwargs)

    def partition(self, number: int) -> dict[bytes, bytes]:
        """Return the confirmed values of a partition."""
        return self.confirmed.setdefault(number, {})

    def state_of(self, number: int) -> PartitionState:
        """Return the state of a partition for one epoch, with nothing unconfirmed in it."""
        return PartitionState(
            self.partition(number), self.sources, lambda first, records: self._wrote(number, first, records)
        )

    def apply_changelog_batch(self, batch: Iterable[Any]) -> None:
        """Unpack record batches of the changelog; called by Faust's recovery.

        A batch of another table or partition (Faust hands on what it cannot place) and one that would leave
        a hole are ignored; the latter is read again.
        """
        if self._recovery_started is None:
            self._recovery_started = time.monotonic()
        for event in batch:
            records: RecordBatch = event.value
            read_to = self.read_to.get(records.partition)
            if read_to is None or records.topic != self.changelog_topic_name or records.position > read_to:
                continue
            self._unpack(records.records, self.partition(records.partition))
            self.read_to[records.partition] = max(read_to, records.next_position)
            self.recovered_records += len(records)

    def _unpack(self, records: Iterable[Any], values: dict[bytes, bytes]) -> None:
        single = self.sources == 1
        for record in records:
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

    def _wrote(self, number: int, first_offset: int, records: int) -> None:
        """Count our own records as read, as long as nobody else's lie between them."""
        if self.read_to.get(number) == first_offset:
            self.read_to[number] = first_offset + records

    def unread(self, number: int, beginning: int, end: int) -> int | None:
        """Return where to go on reading a changelog of ``beginning``..``end``, or ``None`` if it is read."""
        read_to = self.read_to[number] = max(self.read_to.get(number, 0), beginning)
        return read_to if read_to < end else None

    def persisted_offset(self, tp: TP) -> int | None:
        """Tell Faust's recovery where to start: at the last record that it need not read."""
        return self.read_to.get(tp.partition, 0) - 1

    async def on_rebalance(
        self, assigned: set[TP], revoked: set[TP], newly_assigned: set[TP], generation_id: int = 0
    ) -> None:
        """Drop the partitions that are no longer ours; a new assignment recovers them from the start."""
        mine = {tp.partition for tp in assigned if tp.topic == self.changelog_topic_name}
        self.confirmed = {number: self.confirmed.get(number, {}) for number in mine}
        self.read_to = {number: self.read_to.get(number, 0) for number in mine}
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
