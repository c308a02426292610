"""Confirmed values per partition, backed by a compacted changelog that Faust recovers from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from streams.runtime.faust_internals import TP, Table
from streams.runtime.state_memory import StateMemory
from streams.runtime.stored import StoredPartition


class StateTable(Table[bytes, bytes]):
    """A Faust table whose partitions keep encoded values; they are recovered by
    :mod:`streams.runtime.recovery`.

    Values are bytes (:mod:`streams.runtime.marks`); steps decode those they need.
    """

    def __init__(
        self,
        app: Any,
        *,
        name: str,
        sources: Sequence[str],
        partitions: int,
        memory: StateMemory,
        **kwargs: Any,
    ) -> None:
        self.sources = tuple(sources)
        self._memory = memory
        self._partitions: dict[int, StoredPartition] = {}
        super().__init__(app, name=name, partitions=partitions, **kwargs)

    def partition(self, number: int) -> StoredPartition:
        """Return the stored data of a partition of this worker."""
        stored = self._partitions.get(number)
        if stored is None:
            stored = self._partitions[number] = StoredPartition(self.sources, self._memory)
        return stored

    async def on_rebalance(
        self, assigned: set[TP], revoked: set[TP], newly_assigned: set[TP], generation_id: int = 0
    ) -> None:
        """Drop the partitions that are no longer ours; a new assignment recovers them from the start."""
        mine = {tp.partition for tp in assigned if tp.topic == self.changelog_topic_name}
        for number in self._partitions.keys() - mine:
            self._partitions.pop(number).close()
        await super().on_rebalance(assigned, revoked, newly_assigned, generation_id)
