"""The consumer scheduler: one record batch per partition in turn, bounded per topic (rule 1)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from streams.clients.records import RecordBatch
from streams.runtime.faust_internals import TP

#: ``bound(topic)`` returns (most records in a batch, catalog name, index among its stage's sources).
Bound = Callable[[str], tuple[int, str, int]]


class BatchScheduler:
    """Cuts what a fetch returned into batches, round robin over the partitions.

    A batch has at most as many records as ``bound`` says, and their values at most ``most_bytes``; a single
    record may be larger.  So it is as large as the backlog allows, and small when there is none.
    """

    def __init__(self, bound: Bound, most_bytes: int) -> None:
        self._bound = bound
        self._most_bytes = most_bytes

    def iterate(self, records: Mapping[TP, list[Any]]) -> Iterator[tuple[TP, RecordBatch]]:
        """Yield ``(partition, batch)`` until every record of the fetch is in one batch, in order."""
        waiting = [(TP(tp.topic, tp.partition), batch, 0) for tp, batch in records.items() if batch]
        while waiting:
            left = []
            for tp, fetched, start in waiting:
                most, source, source_index = self._bound(tp.topic)
                chunk, size = self._cut(fetched, start, most)
                yield tp, RecordBatch(chunk, source=source, source_index=source_index, size=size)
                end = start + len(chunk)
                if end < len(fetched):
                    left.append((tp, fetched, end))
            waiting = left

    def _cut(self, fetched: list[Any], start: int, most: int) -> tuple[Sequence[Any], int]:
        """Return the records of the next batch and the size of their values."""
        chunk = fetched[start : start + most] if start or most < len(fetched) else fetched
        sizes = [len(record.value) if record.value else 0 for record in chunk]
        size = sum(sizes)
        if size <= self._most_bytes:
            return chunk, size
        taken, size = 1, sizes[0]
        while taken < len(sizes) and size + sizes[taken] <= self._most_bytes:
            size += sizes[taken]
            taken += 1
        return chunk[:taken], size


def scheduler_factory(bound: Bound, most_bytes: int) -> Callable[[], BatchScheduler]:
    """Return the factory for Faust's ``ConsumerScheduler`` setting, which Faust calls without arguments."""
    return lambda: BatchScheduler(bound, most_bytes)
