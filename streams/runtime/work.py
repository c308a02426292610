"""Interface of a fold: effects, and state that is read and written as objects."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeVar

from models.errors import InvalidRecord
from streams.clients.records import SourceRecord
from streams.runtime.codec import Codec, body_of
from streams.runtime.effects import Effects
from streams.runtime.stage import StateReader

T = TypeVar("T")
V = TypeVar("V")

#: What a batch stores of a key: value, codec (``None``: the key is removed), next offset, packed.
_Staged = tuple[Any, Codec[Any] | None, int | None, bool]


class Work(Effects):
    """Effects of one call of a stage, and its state.

    Values are read and written as objects: they are decoded once, and encoded once in :meth:`flush`, whatever
    happens to them in between.  They must not be changed in place.

    Each time, changes are stored in this order, so that a stage decides what a crash between two of them leaves
    behind: what was put ``first``; what was put otherwise, in the order of the last call for each key; what was
    removed; what was put ``last``, whatever else the batch has changed since.
    """

    __slots__ = ("_decoded", "_first", "_sought", "_staged", "_state", "_stored", "stage")

    def __init__(self, stage: str, state: StateReader) -> None:
        super().__init__()
        self.stage = stage
        self._state = state
        self._stored: dict[bytes, tuple[int, bytes | None]] = {}
        self._decoded: dict[bytes, Any] = {}
        self._staged: dict[bytes, _Staged] = {}
        self._first: dict[bytes, _Staged] = {}
        #: Keys of the stored values that hold a text; ``None``: the state is not scanned for it yet.
        self._sought: dict[bytes, list[bytes] | None] = {}

    def _read(self, key: bytes) -> tuple[int, bytes | None]:
        stored = self._stored.get(key)
        if stored is None:
            stored = self._stored[key] = self._state.read(key)
        return stored

    def mark(self, key: bytes) -> int:
        """Return up to which offset of the batch's source ``key`` was folded in before this batch."""
        return self._read(key)[0]

    def get(self, key: bytes, codec: Codec[V]) -> V | None:
        """Return the value of ``key`` as this batch has left it so far; ``None`` if there is none.

        Raises:
            ConsistencyError: what is stored cannot be decoded.
        """
        staged = self._staged.get(key) or self._first.get(key)
        if staged is not None:
            return staged[0]  # type: ignore[no-any-return]  # a key has values of one kind
        if key in self._decoded:
            return self._decoded[key]  # type: ignore[no-any-return]
        change = self.changes.get(key)
        payload = self._read(key)[1] if change is None else change.payload
        value = self._decoded[key] = codec.decode(payload, key) if payload is not None else None
        return value

    def look_for(self, texts: Iterable[bytes]) -> None:
        """Name the texts that this batch passes to :meth:`holding`: one scan of the state finds all of them."""
        self._sought.update((text, None) for text in texts if text not in self._sought)

    def holding(self, text: bytes) -> list[bytes]:
        """Return the keys of the partition whose stored value holds ``text``, or that this batch changed.

        Raises:
            ConsistencyError: a value is damaged.
        """
        self.look_for([text])
        if self._sought[text] is None:
            self._sought.update(self._scan([each for each, keys in self._sought.items() if keys is None]))
        changed = [*self.changes, *self._first, *self._staged]
        return list(dict.fromkeys([*(self._sought[text] or ()), *changed]))

    def _scan(self, texts: Sequence[bytes]) -> dict[bytes, list[bytes]]:
        """Return the keys of the stored values that hold each text, in order wherever the values lie.

        Each value is decompressed once.
        """
        found: dict[bytes, list[bytes]] = {text: [] for text in texts}
        holds_any = re.compile(b"|".join(map(re.escape, texts))).search
        for key, payload in self._state.items():
            body = body_of(payload)
            if holds_any(body):
                for text in texts:
                    if text in body:
                        found[text].append(key)
        return {text: sorted(keys) for text, keys in found.items()}

    def keys_ending(self, suffix: bytes) -> list[bytes]:
        """Return the keys of the partition that end so, in order, as this batch has found them."""
        return sorted(key for key, _ in self._state.items() if key.endswith(suffix))

    def put(
        self,
        key: bytes,
        value: V,
        codec: Codec[V],
        next_offset: int | None = None,
        *,
        first: bool = False,
        last: bool = False,
        packed: bool = False,
    ) -> None:
        """Store ``value`` under ``key``.

        ``next_offset`` advances its mark; ``None`` leaves it.  ``first``: before anything that is not;
        ``last``: behind anything that is not, for what says that all the rest is done.
        ``packed``: compressed, for state that nothing will read for some time; a fold may put so what it
        then returns.
        """
        before = self._staged.pop(key, None) or self._first.pop(key, None)
        if before is not None:
            if next_offset is None:
                next_offset = before[2]
            packed = packed or (before[3] and before[0] is value)
        (self._first if first else self._staged)[key] = (value, codec, next_offset, packed)
        (self.last.add if last else self.last.discard)(key)

    def remove(self, key: bytes, next_offset: int | None = None) -> None:
        """Remove ``key``, after what was put is stored; for ``next_offset`` see :meth:`Effects.remove`."""
        before = self._staged.pop(key, None) or self._first.pop(key, None)
        if before is not None and next_offset is None:
            next_offset = before[2]
        self._staged[key] = (None, None, next_offset, False)
        self.last.discard(key)

    def skip(self, why: str, by: int = 1) -> None:
        """Count records that changed nothing: ``replayed`` or ``duplicate``."""
        self.count("skipped_records_total", self.stage, why, by=by)

    def decoded(
        self, records: Sequence[SourceRecord], decode: Callable[[SourceRecord], T]
    ) -> Iterator[tuple[T, SourceRecord]]:
        """Yield what the records say; those that ``decode`` refuses are dead-lettered."""
        for record in records:
            try:
                item = decode(record)
            except InvalidRecord as error:
                self.dead_letter(record, error)
            else:
                yield item, record

    def is_new(self, key: bytes, record: SourceRecord) -> bool:
        """Say whether ``record`` is still to be folded into ``key``; if not, it is counted as replayed."""
        if record.offset >= self.mark(key):
            return True
        self.skip("replayed")
        return False

    def flush(self, codec: Codec[V] | None = None, wake_at: Callable[[V], float | None] | None = None) -> None:
        """Encode what is to be stored, in order, and let go of it: what is still in a cache is encoded fast.

        ``wake_at`` sets the timers of values that were put with ``codec``, and clears those of what was
        removed, unless they were set before.
        """
        removed: list[tuple[bytes, int | None]] = []
        for staged_by_key in (self._first, self._staged) if self._first else (self._staged,):
            for key, (value, its_codec, next_offset, packed) in staged_by_key.items():
                if wake_at is not None and its_codec is codec and key not in self.timers:
                    self.timers[key] = wake_at(value)
                if its_codec is None:
                    removed.append((key, next_offset))
                else:
                    self.store(key, its_codec.encode(value, packed=packed), next_offset)
                    if staged_by_key is self._first:
                        self.first.add(key)
                    else:
                        self.first.discard(key)
            staged_by_key.clear()
        for key, next_offset in removed:
            super().remove(key, next_offset)
            self.first.discard(key)
            if wake_at is not None:
                self.timers.setdefault(key, None)
        if self.last or self.behind:
            self.in_order()
        self._decoded.clear()
        self._stored.clear()
