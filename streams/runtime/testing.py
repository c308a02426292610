"""Running a stage without a broker, in a test: records in, outputs, dead letters, state and timers out.

::

    harness = StageHarness(stage)
    harness.feed(harness.record(message), harness.record(another))
    assert harness.values("memory.windows.v1", Window) == [...]
    harness.wait(timedelta(minutes=15))  # timers that are due fire
    harness.recover(3)                   # a crash after the third record of the changelog
    harness.feed(...)                    # what was not acked is read again

As in the runtime, a step reads state that is sealed with its marks, its changes are visible to the next step,
and recovery ignores late writes.  What the runtime does about a step that raises is not played: the error comes
out.  :mod:`streams.runtime.trial` plays whole logs, with crashes at any moment.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

import msgspec

from streams.clients.catalog import load_catalog
from streams.clients.records import Record, RecordBatch
from streams.runtime.codec import Codec
from streams.runtime.effects import DeadLetter, Effects, Output
from streams.runtime.stage import Stage, TimerContext
from streams.runtime.stored import StoredPartition
from streams.runtime.table import NoState, PartitionState

T = TypeVar("T")

#: Where and when a harness stands, unless it is told otherwise.
PARTITION = 5
START = datetime(2026, 3, 1, 10, 0, tzinfo=UTC)

#: Changelog records, in the order of writing; an empty value removes its key.
Changelog = list[tuple[bytes, bytes]]


class StageHarness:
    """A stage and its state in one partition.

    ``arrived`` is the broker's clock: the time of the next record.  ``outputs``, ``dead_letters`` and
    ``changelog`` collect, in order, what would have been written; ``timers`` are those that are set, in epoch
    seconds by key; ``last`` is what the latest call wanted.
    """

    def __init__(self, stage: Stage, *, partition: int = PARTITION, start: datetime = START) -> None:
        self.spec = stage
        self.partition = partition
        self.arrived = start
        self.outputs: list[Output] = []
        self.dead_letters: list[DeadLetter] = []
        self.changelog: Changelog = []
        self.timers: dict[bytes, float] = {}
        self.last = Effects()
        self.state = recovered(stage, [])
        self._offsets = dict.fromkeys(stage.sources, 0)

    # -- in ---------------------------------------------------------------------------------------------

    def record(
        self, content: msgspec.Struct | bytes | None, source: str | None = None, **replace: Any
    ) -> Record:
        """Return the next record of ``source`` (default: the stage's first).

        A struct is encoded and keyed as its topic says; bytes are taken as they are, without a key.
        ``replace`` sets fields of the :class:`Record`: ``key=b"c"``, ``offset=70``, ``headers=[...]``.
        """
        source = source or self.spec.sources[0]
        if isinstance(content, msgspec.Struct):
            fields = load_catalog().get(source).key_fields
            key = "/".join(getattr(content, field) for field in fields).encode()
            value: bytes | None = msgspec.json.encode(content)
        else:
            key, value = None, content
        offset = self._offsets[source]
        self._offsets[source] += 1
        timestamp = int(self.arrived.timestamp() * 1000)
        return Record(value, key, offset, source, self.partition, timestamp)._replace(**replace)

    def feed(self, *records: Record) -> Effects:
        """Call a pure step with the records, all of one source, as one batch."""
        if self.spec.step is None:
            raise TypeError(f"stage {self.spec.name} calls out: await harness.call(...)")
        return self._take(self.spec.step(self._batch(records), self.state))

    async def call(self, *records: Record) -> Effects:
        """Call an async step with the records, all of one source, as one batch."""
        if self.spec.async_step is None:
            raise TypeError(f"stage {self.spec.name} does not call out: harness.feed(...)")
        return self._take(await self.spec.async_step(self._batch(records), self.state))

    def tick(self, now: datetime, *keys: bytes, caught_up: bool = True, log_time: float = 0.0) -> Effects:
        """Let the timers of ``keys`` fire, set or not.  ``caught_up`` and ``log_time``: see
        :class:`TimerContext`."""
        if self.spec.on_timer is None:
            raise TypeError(f"stage {self.spec.name} has no timers")
        for key in keys:
            self.timers.pop(key, None)
        self.state.source_index = 0
        context = TimerContext(self.partition, now.timestamp(), caught_up, log_time)
        return self._take(self.spec.on_timer(keys, context, self.state))

    def wait(self, time: timedelta) -> None:
        """Let time pass without a record; timers that are due meanwhile fire, each when it is due."""
        until = self.arrived + time
        while due := [key for key, at in self.timers.items() if at <= until.timestamp()]:
            first = min(self.timers[key] for key in due)
            self.arrived = max(self.arrived, datetime.fromtimestamp(first, UTC))
            self.tick(self.arrived, *[key for key in due if self.timers[key] == first])
        self.arrived = until

    def recover(self, changelog_records: int | None = None) -> None:
        """Lose what is in memory; what the first ``changelog_records`` (default: all) of the changelog say
        comes back."""
        self.changelog = self.changelog[:changelog_records]
        self.state = recovered(self.spec, self.changelog)
        self.timers = restored_timers(self.spec, self.state)

    # -- out --------------------------------------------------------------------------------------------

    def values(self, topic: str, kind: type[T]) -> list[T]:
        """Return the values produced to ``topic``, decoded from JSON."""
        decoder = msgspec.json.Decoder(kind)
        return [decoder.decode(output.value or b"") for output in self.outputs if output.topic == topic]

    def stored(self, codec: Codec[T], keys: Callable[[bytes], bool] = lambda key: True) -> dict[bytes, T]:
        """Return the state by key, decoded.  ``keys``: which ones, if a table has values of several kinds."""
        return {key: codec.decode(payload, key) for key, payload in self.state.items() if keys(key)}

    # -- what the runtime's stepper and lane do ---------------------------------------------------------

    def _batch(self, records: Sequence[Record]) -> RecordBatch:
        (source,) = {record.topic for record in records}
        self.state.source_index = self.spec.sources.index(source)
        return RecordBatch(records, source=source, source_index=self.state.source_index)

    def _take(self, effects: Effects) -> Effects:
        self.changelog += self.state.store(effects.changes).items()
        self.outputs += effects.outputs
        self.dead_letters += effects.dead_letters
        set_timers(self.timers, effects.timers)
        self.last = effects
        return effects


def recovered(stage: Stage, changelog: Changelog) -> PartitionState | NoState:
    """Return the state of a stage that a changelog holds."""
    if not stage.table:
        return NoState()
    stored = StoredPartition(stage.sources)
    stored.fold(Record(value or None, key) for key, value in changelog)
    return PartitionState(stored)


def restored_timers(stage: Stage, state: PartitionState | NoState) -> dict[bytes, float]:
    """Return the timers that follow from recovered state."""
    timers: dict[bytes, float] = {}
    if stage.timer_at is not None:
        set_timers(timers, {key: stage.timer_at(key, payload) for key, payload in state.items()})
    return timers


def set_timers(timers: dict[bytes, float], changes: Mapping[bytes, float | None]) -> None:
    """Do to ``timers`` what effects say; ``None`` clears one."""
    for key, at in changes.items():
        if at is None:
            timers.pop(key, None)
        else:
            timers[key] = at
