"""Keyed stages: what every stage with state needs, so that it is left with its decisions.

A stage names its sources.  Each says how a record is decoded, under which key its state lies, and how it is
folded::

    fold(state before, run of records, work) -> state after

Here the records of a batch are decoded (what is invalid is dead-lettered alone), those that were folded in
before are skipped, and the rest is grouped by key.  The state after is stored with its mark.  A fold sees what
those before it in the same batch have stored, although nothing of it is encoded before the end of the batch.

What else a fold wants it tells :class:`Work`: outputs, further keys of state, timers, counts.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, TypeVar

from models.errors import InvalidRecord
from streams.clients.records import RecordBatch, SourceRecord, rerouted
from streams.runtime.codec import Codec
from streams.runtime.effects import Effects
from streams.runtime.stage import Stage, StateReader, TimerContext
from streams.runtime.work import Work

S = TypeVar("S")
T = TypeVar("T")
__all__ = ["Run", "Source", "Work", "keyed_stage"]


class Run(NamedTuple, Generic[T]):
    """Records of one key, at least one, in the order of the log, none of them folded in yet, and what they
    say."""

    key: bytes
    items: Sequence[tuple[T, SourceRecord]]

    @property
    def last(self) -> SourceRecord:
        """The last record."""
        return self.items[-1][1]

    @property
    def next_offset(self) -> int:
        """The offset after the last record: the mark of state that has folded the run in."""
        return self.items[-1][1].offset + 1


_NO_KEY = InvalidRecord("no_key", "the record has no key, and nothing in it says which one it belongs to")


@dataclass(frozen=True, kw_only=True)
class Source(Generic[S, T]):
    """Handling of one topic's records in a keyed stage.

    ``decode`` returns what a record says, or raises :class:`InvalidRecord`.  ``fold`` takes the state before, a
    run and the :class:`Work`, and returns the state after: ``None`` removes it, and the very same object leaves
    it, mark included, as it is.

    ``key`` is the key of the state that a record is folded into; left out, it is the record's own.  ``home``
    says where a record without a key belongs, as (topic, key): it lies in an arbitrary partition and is sent
    there.  Without ``home`` it is folded where it lies, or dead-lettered if there is no ``key`` either.

    ``one_record_per_fold``: each run is one record, in the order of the batch, for keys that affect each
    other; raising :class:`InvalidRecord` dead-letters it; do so before anything else is told.  Otherwise a run
    has all the batch's records of its key, and what is wrong with one of them is told to ``Work.dead_letter``.

    ``seeks`` returns the texts that folding an item passes to ``Work.holding``: the state is scanned once for
    those of the whole batch.  It needs ``one_record_per_fold`` or ``key``.
    """

    decode: Callable[[SourceRecord], T]
    fold: Callable[[S | None, Run[T], Work], S | None]
    key: Callable[[T], bytes] | None = None
    home: Callable[[T], tuple[str, bytes]] | None = None
    one_record_per_fold: bool = False
    seeks: Callable[[T], Sequence[bytes]] | None = None


class _KeyedStep(Generic[S]):
    """The step and the timers of a keyed stage."""

    def __init__(
        self,
        name: str,
        codec: Codec[S],
        sources: Mapping[str, Source[S, Any]],
        on_timer: Callable[[bytes, TimerContext, Work], None] | None,
        wake_at: Callable[[S], float | None] | None,
    ) -> None:
        self._name = name
        self._codec = codec
        self._sources = sources
        self._on_timer = on_timer
        self._wake_at = wake_at

    def step(self, batch: RecordBatch, state: StateReader) -> Effects:
        source = self._sources[batch.source]
        work = Work(self._name, state)
        if source.one_record_per_fold:
            self._fold_each(source, batch, work)
        else:
            self._fold_runs(source, batch, work)
        work.flush(self._codec, self._wake_at)
        return work

    def _fold_each(self, source: Source[S, Any], batch: RecordBatch, work: Work) -> None:
        for item, record in self._decoded(source, batch, work):
            key = self._key(source, item, record, work)
            if key is None or not work.is_new(key, record):
                continue
            try:
                self._fold(source, Run(key, [(item, record)]), work)
            except InvalidRecord as error:
                work.dead_letter(record, error)

    def _fold_runs(self, source: Source[S, Any], batch: RecordBatch, work: Work) -> None:
        for key, items in self._runs(source, batch, work):
            mark = work.mark(key)
            if items and items[0][1].offset < mark:
                new = [each for each in items if each[1].offset >= mark]
                work.skip("replayed", by=len(items) - len(new))
                items = new
            if items:
                self._fold(source, Run(key, items), work)
                work.flush(self._codec, self._wake_at)

    def _runs(
        self, source: Source[S, Any], batch: RecordBatch, work: Work
    ) -> Iterator[tuple[bytes, Sequence[tuple[Any, SourceRecord]]]]:
        """Yield the records of each key, and what they say."""
        if source.key is not None:
            runs: defaultdict[bytes, list[tuple[Any, SourceRecord]]] = defaultdict(list)
            for item, record in self._decoded(source, batch, work):
                key = self._key(source, item, record, work)
                if key is not None:
                    runs[key].append((item, record))
            yield from runs.items()
            return
        # Put in order before they are decoded: what the records of one key say is folded while the processor
        # has it at hand, and let go of before the next ones are looked at.
        by_key: defaultdict[bytes | None, list[SourceRecord]] = defaultdict(list)
        for record in batch.records:
            by_key[record.key].append(record)
        for key, records in by_key.items():
            items = list(work.decoded(records, source.decode))
            if key is not None:
                yield key, items
                continue
            for item, record in items:
                self._key(source, item, record, work)

    @staticmethod
    def _decoded(source: Source[S, Any], batch: RecordBatch, work: Work) -> Iterable[tuple[Any, SourceRecord]]:
        items = work.decoded(batch.records, source.decode)
        if source.seeks is None:
            return items
        decoded = [*items]
        work.look_for(text for item, _ in decoded for text in source.seeks(item))
        return decoded

    def _key(self, source: Source[S, Any], item: Any, record: SourceRecord, work: Work) -> bytes | None:
        """Return the key that ``record`` is folded into, or ``None`` if it was sent elsewhere instead."""
        if record.key is None and source.home is not None:
            to, key = source.home(item)
            work.forward(to, key, record.value, rerouted(record))
            work.count("misrouted_records_total", self._name, to)
            return None
        if source.key is not None:
            return source.key(item)
        if record.key is None:
            work.dead_letter(record, _NO_KEY)
        return record.key

    def _fold(self, source: Source[S, Any], run: Run[Any], work: Work) -> None:
        before = work.get(run.key, self._codec)
        after = source.fold(before, run, work)
        if after is before:
            return
        if after is None:
            work.remove(run.key, run.next_offset)
        else:
            work.put(run.key, after, self._codec, run.next_offset)

    def timers(self, keys: Sequence[bytes], context: TimerContext, state: StateReader) -> Effects:
        assert self._on_timer is not None
        work = Work(self._name, state)
        for key in keys:
            self._on_timer(key, context, work)
        work.flush(self._codec, self._wake_at)
        return work


def keyed_stage(
    *,
    name: str,
    table: str,
    codec: Codec[S],
    sources: Mapping[str, Source[S, Any]],
    others: Sequence[Codec[Any]] = (),
    wake_at: Callable[[S], float | None] | None = None,
    on_timer: Callable[[bytes, TimerContext, Work], None] | None = None,
    timer_at: Callable[[bytes, bytes], float | None] | None = None,
    batch_records: int = 1000,
    decided_by: Mapping[str, Any] | None = None,
    observes_only: bool = False,
    observes_only_of: Sequence[str] = (),
    in_thread: Sequence[str] = (),
) -> Stage:
    """Return a stage whose state, encoded by ``codec``, is folded key by key.

    ``sources``: by topic, in the order of the marks in stored values.  ``others`` encode what folds keep under
    further keys.

    ``wake_at`` says of a state when the clock alone may change it (epoch seconds): timers are set by it, unless
    a fold sets one itself.  ``on_timer`` is called for each key whose timer is due, whatever is stored under
    it.  ``timer_at`` says the same as ``wake_at`` of any key, and what is stored under it, after a restart; it
    may be left out if there are no ``others``.  For ``table``, ``batch_records``, ``decided_by``,
    ``observes_only``, ``observes_only_of`` and ``in_thread`` see :class:`Stage`.

    Raises:
        ValueError: timers that a restart would lose.
    """
    if wake_at is not None and timer_at is None:
        if others:
            raise ValueError(f"stage {name}: say in timer_at which keys have timers")
        at = wake_at

        def timer_at(key: bytes, payload: bytes) -> float | None:
            return at(codec.decode(payload, key))

    keyed = _KeyedStep(name, codec, sources, on_timer, wake_at)
    return Stage(
        name=name,
        sources=tuple(sources),
        table=table,
        step=keyed.step,
        on_timer=keyed.timers if on_timer else None,
        timer_at=timer_at,
        batch_records=batch_records,
        codecs=(codec, *others),
        decided_by=decided_by or {},
        observes_only=observes_only,
        observes_only_of=tuple(observes_only_of),
        in_thread=tuple(in_thread),
    )
