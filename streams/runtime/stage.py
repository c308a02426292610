"""A stage: a pure step from (batch, state it may read) to effects, and how the runtime should drive it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from streams.clients.records import RecordBatch, SourceRecord
from streams.runtime.codec import Codec
from streams.runtime.effects import Effects
from streams.runtime.stage_status import StageStatus


class StateReader(Protocol):
    """The state that a step may read: confirmed values, and above them those still being confirmed."""

    def read(self, key: bytes) -> tuple[int, bytes | None]:
        """Return ``(next_offset, payload)`` of ``key``.

        ``next_offset`` belongs to the batch's own source: records below it are already folded in and must
        be skipped.  ``(0, None)`` when nothing is stored.
        """
        ...

    def items(self) -> Iterator[tuple[bytes, bytes]]:
        """Yield ``(key, payload)`` of every key of the partition."""
        ...


@dataclass(frozen=True, slots=True)
class TimerContext:
    """When and where timers fire.  ``now``: epoch seconds.  ``caught_up``: nothing of this partition is
    waiting to be read, so what the clock says is not contradicted by records still in the log.  ``log_time``:
    when the last record arrived that was processed (epoch seconds), or 0 while records are read again that
    an earlier epoch may have processed: what it published came before any timer that fires now.
    """

    partition: int
    now: float
    caught_up: bool
    log_time: float = 0.0


#: A partition of a source, by its catalog name.
Place = tuple[str, int]

#: Says up to which offset each partition was written into a stage's views, 0 if nothing was; of several, the
#: lowest.
ViewMarks = Callable[[Sequence[Place]], Awaitable[Mapping[Place, int]]]

Step = Callable[[RecordBatch, StateReader], Effects]
AsyncStep = Callable[[RecordBatch, StateReader], Awaitable[Effects]]
OnTimer = Callable[[Sequence[bytes], TimerContext, StateReader], Effects]


@dataclass(frozen=True, kw_only=True)
class Stage:
    """How a step is driven.

    Exactly one of ``step`` (pure, no I/O, runs on the event loop) and ``async_step`` (calls out: one batch per
    partition at a time, so order per key holds; it raises ``DependencyUnavailable`` to wait in place) is set.
    ``tenant_of``: of a stage that calls out, whose a record is; tenants are then served in turn
    (:mod:`streams.runtime.turns`), only the order of a tenant's records and of a key's holds, and several calls
    of one partition are open at once, none of which may read or write state under keys of the others' records.
    ``sources`` are catalog topic names with equal partition counts.  ``table`` names the state's changelog;
    without it the stage has no state.  ``batch_records`` bounds a batch: about 1,000 for a pure step, a few
    dozen where each record costs a call.  ``on_timer`` gets the keys whose timers (``Effects.wake``) are due;
    ``timer_at`` says, from a key and its stored payload, when its timer is due, and is asked for every key of a
    partition that is newly assigned.  ``codecs``: those of the values in the table.  ``view_marks``: of a stage
    that keeps views and has no state; a partition is then read from the lower of its commit and the views'
    marks, so a view that was lost is filled again.  ``decided_by`` names what decides about the outputs besides
    the records and the code, with its value: settings, models (:mod:`streams.runtime.stamp`).
    ``observes_only``: another service reads the same sources and answers for what is wrong with them, so what
    lies in the wrong partition or cannot be unpacked is passed over here, and neither sent to its place nor
    dead-lettered a second time.  ``observes_only_of``: the same of some of its sources.  ``in_thread``: sources
    whose records may take long: ``step`` runs their batches in a thread, so the event loop goes on.
    """

    name: str
    sources: tuple[str, ...]
    step: Step | None = None
    async_step: AsyncStep | None = None
    table: str | None = None
    batch_records: int = 1000
    on_timer: OnTimer | None = None
    timer_at: Callable[[bytes, bytes], float | None] | None = None
    codecs: tuple[Codec[Any], ...] = ()
    view_marks: ViewMarks | None = None
    decided_by: Mapping[str, Any] = field(default_factory=dict)
    observes_only: bool = False
    observes_only_of: tuple[str, ...] = ()
    in_thread: tuple[str, ...] = ()
    tenant_of: Callable[[SourceRecord], str] | None = None

    def __post_init__(self) -> None:
        if (self.step is None) == (self.async_step is None):
            raise ValueError(f"stage {self.name}: set exactly one of step and async_step")
        if not self.sources:
            raise ValueError(f"stage {self.name}: a stage reads at least one topic")
        if self.on_timer and not self.table:
            raise ValueError(f"stage {self.name}: timers belong to keys of a table; name one")
        if self.view_marks and self.table:
            raise ValueError(
                f"stage {self.name}: what its table has folded in would not be read again for a view"
            )

        if self.tenant_of and (self.step or self.on_timer or self.view_marks or len(self.sources) > 1):
            raise ValueError(
                f"stage {self.name}: tenants are served in turn where a stage calls out, by the records of one "
                "source, without timers and without marks of views, which follow the order of the log"
            )

    def passes_over(self, source: str) -> bool:
        """Say whether another stage answers for what is wrong with the records of ``source``."""
        return self.observes_only or source in self.observes_only_of


@dataclass(frozen=True)
class BoundStage:
    """A stage with what the catalog says of its topics.

    ``hashed`` maps each source to its partition count if its records' keys decide their partition (else
    0); ``changelog`` is the catalog name of the table's changelog, ``""`` without a table.
    """

    stage: Stage
    hashed: dict[str, int]
    changelog: str
    status: StageStatus = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "status", StageStatus(self.stage.name))

    @property
    def sources(self) -> int:
        """How many marks a stored value carries."""
        return len(self.stage.sources)
