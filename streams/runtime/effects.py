"""Effects: what a step wants to happen.  A step returns them; the runtime carries them out in order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from models.errors import InvalidRecord
from streams.clients.records import Headers, SourceRecord
from streams.runtime.stamp import Stamp


class Output(NamedTuple):
    """A record to produce.

    ``key`` is the record's key; the partition is that of ``route`` (default: ``key``) under Kafka's
    murmur2 hash, so ``memory.facts.v1`` can be keyed by fact and routed by user.  An explicit
    ``partition`` wins over both.  ``topic`` is the catalog name, without the deployment's prefix.  ``copy``: it
    is what came in, byte for byte, and not something that the stage made: it gets no stamp.  ``stamp``: its own
    (:mod:`streams.runtime.stamp`), where more than the stage's settings decided about it.
    """

    topic: str
    key: bytes | None
    value: bytes | None
    headers: Headers = ()
    route: bytes | None = None
    partition: int | None = None
    copy: bool = False
    stamp: Stamp | None = None


class StateChange(NamedTuple):
    """A new value for ``key``, or its removal (``payload`` is ``None``).

    ``next_offset`` is the offset after the last record folded in; ``None`` leaves the marks as they are.
    """

    payload: bytes | None
    next_offset: int | None


class DeadLetter(NamedTuple):
    """A record that cannot be processed, and why (``reason`` is a slug, ``message`` a sentence)."""

    record: SourceRecord
    reason: str
    message: str
    attempts: int = 1


#: A histogram of :class:`streams.telemetry.metrics.Metrics`, its labels, and the value that is added.
Observation = tuple[str, tuple[str, ...], float]


class Account(NamedTuple):
    """Counts of confirmed effects; everything else is freed as soon as it is packed.

    ``outputs``: how many by topic; ``changes``: how many; the others as in :class:`Effects`.
    """

    outputs: Mapping[str, int]
    changes: int
    dead_letters: Sequence[DeadLetter]
    counts: Mapping[tuple[str, tuple[str, ...]], float]
    observations: Sequence[Observation]


class Effects:
    """Effects of one call of a step; all are confirmed before the batch is acked.

    ``outputs``, ``dead_letters``: in order.  ``changes``: state by key, the last value wins.  ``timers``:
    wall-clock time (epoch seconds) by key at which the stage's ``on_timer`` is called for that key;
    ``None`` clears it.  ``counts`` and ``observations``: what a step wants counted, ``(metric, labels) -> n``,
    and measured (:data:`Observation`); done when the effects are confirmed, so a crash counts nothing twice.
    ``first`` and ``last``: the keys that are written before and behind all others, also of what is absorbed.
    ``behind``: by key, the keys that are written before it.
    """

    __slots__ = (
        "behind",
        "changes",
        "counts",
        "dead_letters",
        "first",
        "last",
        "observations",
        "outputs",
        "timers",
    )

    def __init__(self) -> None:
        self.outputs: list[Output] = []
        self.changes: dict[bytes, StateChange] = {}
        self.dead_letters: list[DeadLetter] = []
        self.timers: dict[bytes, float | None] = {}
        self.counts: dict[tuple[str, tuple[str, ...]], float] = {}
        self.observations: list[Observation] = []
        self.first: set[bytes] = set()
        self.last: set[bytes] = set()
        self.behind: dict[bytes, set[bytes]] = {}

    def emit(
        self,
        topic: str,
        key: bytes | None,
        value: bytes | None,
        headers: Headers = (),
        *,
        route: bytes | None = None,
        partition: int | None = None,
        stamp: Stamp | None = None,
    ) -> None:
        """Produce a record that the stage made (see :class:`Output`)."""
        self.outputs.append(Output(topic, key, value, headers, route, partition, stamp=stamp))

    def forward(self, topic: str, key: bytes | None, value: bytes | None, headers: Headers = ()) -> None:
        """Send on, as it is, a record that came in."""
        self.outputs.append(Output(topic, key, value, headers, copy=True))

    def store(self, key: bytes, payload: bytes, next_offset: int | None = None) -> None:
        """Replace the state of ``key``; its high-water mark advances to ``next_offset`` if given.

        Changes are written in the order of the last call for each key, so that a step decides what a crash
        between two of them leaves behind.
        """
        self.changes.pop(key, None)
        self.changes[key] = StateChange(payload, next_offset)

    def write_behind(self, key: bytes, other: bytes) -> None:
        """Write ``key`` behind ``other``, whatever else the batch changes of either.

        For a value that has given something to another.  A later change of the other would move that behind,
        and a crash between the two would lose what was given.
        """
        if key != other:
            self.behind.setdefault(key, set()).add(other)

    def remove(self, key: bytes, next_offset: int | None = None) -> None:
        """Remove ``key``; its high-water mark advances to ``next_offset`` if given.

        Only for keys whose records cannot come back once they are acknowledged: in time its mark goes, too.
        """
        self.changes.pop(key, None)
        self.changes[key] = StateChange(None, next_offset)

    def dead_letter(self, record: SourceRecord, error: InvalidRecord) -> None:
        """Send ``record``, byte for byte, to its topic's dead-letter queue."""
        self.dead_letters.append(DeadLetter(record, error.reason, str(error)))

    def wake(self, key: bytes, at: float | None) -> None:
        """Call ``on_timer`` for ``key`` at ``at`` (epoch seconds); ``None`` clears the timer."""
        self.timers[key] = at

    def count(self, metric: str, *labels: str, by: float = 1) -> None:
        """Add to a counter once the effects are confirmed."""
        name = (metric, labels)
        self.counts[name] = self.counts.get(name, 0) + by

    def observe(self, metric: str, value: float, *labels: str) -> None:
        """Add a value to a histogram once the effects are confirmed."""
        self.observations.append((metric, labels, value))

    def absorb(self, other: Effects) -> None:
        """Append ``other``, which happened after this."""
        self.outputs += other.outputs
        for key, change in other.changes.items():
            self.changes.pop(key, None)
            self.changes[key] = change
        self.first = (self.first - other.changes.keys()) | other.first
        self.last = (self.last - other.changes.keys()) | other.last
        for key, others in other.behind.items():
            self.behind.setdefault(key, set()).update(others)
        self.in_order()
        self.dead_letters += other.dead_letters
        self.timers |= other.timers
        self.observations += other.observations
        for (metric, labels), n in other.counts.items():
            self.count(metric, *labels, by=n)

    def withhold(self, topics: frozenset[str]) -> None:
        """Drop outputs to ``topics``, which are somebody else's to write."""
        if topics:
            self.outputs = [output for output in self.outputs if output.topic not in topics]

    def in_order(self) -> None:
        """Put the changes in the order in which they are written.

        Else what two halves both put first, such as a page that the others rest on, would stand behind these.
        """
        if self.first or self.last:
            place = {**dict.fromkeys(self.last, 2), **dict.fromkeys(self.first, 0)}
            self.changes = dict(sorted(self.changes.items(), key=lambda item: place.get(item[0], 1)))
        if self.behind:
            self._put_behind()

    def _put_behind(self) -> None:
        """Move each key behind those that it is written behind; of keys in a circle the order stays."""
        ordered: dict[bytes, StateChange] = {}
        entered: set[bytes] = set()
        pending = [*reversed(self.changes)]
        while pending:
            key = pending[-1]
            others = set() if key in entered else self.behind.get(key, set()) - entered
            entered.add(key)
            if waiting := sorted(other for other in others if other in self.changes):
                pending += waiting
                continue
            pending.pop()
            ordered.setdefault(key, self.changes[key])
        self.changes = ordered

    def account(self) -> Account:
        """Return the records counted in metrics."""
        outputs = Counter([output.topic for output in self.outputs])
        return Account(outputs, len(self.changes), self.dead_letters, self.counts, self.observations)

    def __bool__(self) -> bool:
        return bool(self.outputs or self.changes or self.dead_letters)
