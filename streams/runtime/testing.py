"""Drives one stage without a broker: records in by source, state with its marks, outputs by topic."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, TypeVar

import msgspec

from streams.runtime.effects import Effects, Output
from streams.runtime.records import Record, RecordBatch
from streams.runtime.stage import Stage, TimerContext
from streams.runtime.stored import StoredPartition
from streams.runtime.table import NoState, PartitionState
from streams.topics.catalog import load_catalog

START = datetime(2026, 3, 1, 10, 0, tzinfo=UTC)
PARTITION = 5

T = TypeVar("T")


class StageHarness:
    """A stage and its state in one partition.

    ``arrived`` is the broker's clock.  ``outputs`` and ``changelog`` collect, in order, what would have been
    produced; ``last`` is what the latest call wanted.
    """

    def __init__(self, stage: Stage) -> None:
        self.spec = stage
        self.state = PartitionState(StoredPartition(stage.sources)) if stage.table else NoState()
        self.arrived = START
        self.outputs: list[Output] = []
        self.changelog: list[tuple[bytes, bytes]] = []
        self.last = Effects()
        self._offsets = dict.fromkeys(stage.sources, 0)

    def record(
        self, content: msgspec.Struct | bytes | None, source: str | None = None, **replace: Any
    ) -> Record:
        """Return the next record of ``source`` (default: the stage's first), keyed as its topic says."""
        source = source or self.spec.sources[0]
        if isinstance(content, msgspec.Struct):
            key = getattr(content, load_catalog().get(source).key).encode()
            value: bytes | None = msgspec.json.encode(content)
        else:
            key, value = None, content
        offset = self._offsets[source]
        self._offsets[source] += 1
        timestamp = int(self.arrived.timestamp() * 1000)
        return Record(value, key, offset, source, PARTITION, timestamp)._replace(**replace)

    def feed(self, *records: Record) -> Effects:
        """Call a pure step with the records (all of one source) as one batch."""
        assert self.spec.step is not None
        batch = self._batch(records)
        return self._absorb(self.spec.step(batch, self.state), batch.source_index)

    async def call(self, *records: Record) -> Effects:
        """Call an async step with the records as one batch."""
        assert self.spec.async_step is not None
        batch = self._batch(records)
        return self._absorb(await self.spec.async_step(batch, self.state), batch.source_index)

    def tick(self, now: datetime, *keys: bytes, caught_up: bool = True, log_time: float = 0.0) -> Effects:
        """Let the timers of ``keys`` fire."""
        assert self.spec.on_timer is not None
        self.state.source_index = 0
        context = TimerContext(PARTITION, now.timestamp(), caught_up, log_time)
        return self._absorb(self.spec.on_timer(keys, context, self.state), 0)

    def values(self, topic: str, kind: type[T]) -> list[T]:
        """Return what was produced to ``topic``, decoded."""
        decoder = msgspec.json.Decoder(kind)
        return [decoder.decode(output.value or b"") for output in self.outputs if output.topic == topic]

    def recover(self, changelog_records: int | None = None) -> None:
        """Lose what is in memory; what the first ``changelog_records`` of the changelog say comes back."""
        self.changelog = self.changelog[:changelog_records]
        stored = StoredPartition(self.spec.sources)
        stored.fold(Record(value or None, key) for key, value in self.changelog)
        self.state = PartitionState(stored)

    def _batch(self, records: tuple[Record, ...]) -> RecordBatch:
        (source,) = {record.topic for record in records}
        self.state.source_index = self.spec.sources.index(source)
        return RecordBatch(records, source=source, source_index=self.state.source_index)

    def _absorb(self, effects: Effects, source_index: int) -> Effects:
        """What the runtime's Stepper does with effects, without a producer."""
        self.state.source_index = source_index
        self.changelog += self.state.store(effects.changes).items()
        self.outputs += effects.outputs
        self.last = effects
        return effects
