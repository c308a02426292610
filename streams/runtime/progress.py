"""Progress of a step in a thread: records and state that report when they are read."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager

from streams.clients.records import RecordBatch, SourceRecord
from streams.runtime.effects import Effects
from streams.runtime.stage import StateReader

#: After so many rows of a scan a step in a thread reports progress.
_ROWS_AT_ONCE = 1000


class ToldRecords(list[SourceRecord]):
    """Records that report progress one by one: thousands may take as long as a step that hangs."""

    def __init__(self, records: Sequence[SourceRecord], tell: Callable[[], None]) -> None:
        super().__init__(records)
        self._tell = tell

    def __iter__(self) -> Iterator[SourceRecord]:
        for record in super().__iter__():
            self._tell()
            yield record


class WatchedState:
    """State that reports progress with each read, and with each :data:`_ROWS_AT_ONCE` rows of a scan."""

    def __init__(self, state: StateReader, tell: Callable[[], None]) -> None:
        self._state = state
        self._tell = tell

    def read(self, key: bytes) -> tuple[int, bytes | None]:
        """See :class:`StateReader`."""
        self._tell()
        return self._state.read(key)

    def items(self) -> Iterator[tuple[bytes, bytes]]:
        """See :class:`StateReader`."""
        for number, item in enumerate(self._state.items()):
            if not number % _ROWS_AT_ONCE:
                self._tell()
            yield item


def run_in_thread(
    step: Callable[[RecordBatch, StateReader], Effects],
    batch: RecordBatch,
    state: StateReader,
    working: AbstractContextManager[Callable[[], None]],
) -> Effects:
    """Run a step where nothing but its outcome comes back; ``working`` yields what its progress is told to."""
    with working as goes_on:
        try:
            return step(batch.only(ToldRecords(batch.records, goes_on)), WatchedState(state, goes_on))
        except StopIteration as exc:  # no future takes it, so whoever awaits would wait for ever
            raise RuntimeError("the step raised StopIteration") from exc
