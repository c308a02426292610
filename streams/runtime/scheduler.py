"""The consumer scheduler: one record batch per partition in turn, bounded per topic (rule 1)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from streams.runtime.faust_internals import TP
from streams.runtime.records import RecordBatch

#: ``bound(topic)`` returns (most records in a batch, catalog name, index among its stage's sources).
Bound = Callable[[str], tuple[int, str, int]]


class BatchScheduler:
    """Cuts what a fetch returned into batches, round robin over the partitions."""

    def __init__(self, bound: Bound) -> None:
        self._bound = bound

    def iterate(self, records: Mapping[TP, list[Any]]) -> Iterator[tuple[TP, RecordBatch]]:
        """Yield ``(partition, batch)`` until every record of the fetch is in one batch, in order."""
        waiting = [(TP(tp.topic, tp.partition), batch, 0) for tp, batch in records.items() if batch]
        while waiting:
            left = []
            for tp, fetched, start in waiting:
                size, source, source_index = self._bound(tp.topic)
                end = start + size
                chunk = fetched[start:end] if start or end < len(fetched) else fetched
                yield tp, RecordBatch(chunk, source=source, source_index=source_index)
                if end < len(fetched):
                    left.append((tp, fetched, end))
            waiting = left


def scheduler_factory(bound: Bound) -> Callable[[], BatchScheduler]:
    """Return what Faust's ``ConsumerScheduler`` setting wants: something that is called without arguments."""
    return lambda: BatchScheduler(bound)
