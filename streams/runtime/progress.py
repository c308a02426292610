"""Progress of a step: records and state that report when they are read."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from streams.clients.records import SourceRecord
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
