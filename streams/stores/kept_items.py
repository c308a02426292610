"""Items of an index that were read before, so that a search among the same ones need not read them again.

The engine makes a Python object of each value of a payload, which takes longer than to find its point.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from typing import Generic, TypeVar

import msgspec

Item = TypeVar("Item", bound=msgspec.Struct)

#: What an index keeps at most, in bytes: some 30,000 turns.
MOST_BYTES = 32 * 1024 * 1024

#: What a kept item takes besides its own bytes: its id, and its place.
_OVERHEAD = 250


class KeptItems(Generic[Item]):
    """Items by the ids of their points, those that were used last.

    An id is the number of a uuid: a :class:`uuid.UUID` is hashed and compared by Python code.

    They are kept as bytes: what they take is known then, and the garbage collector need not look at them.
    """

    def __init__(self, kind: type[Item], most_bytes: int = MOST_BYTES) -> None:
        self._encode = msgspec.json.Encoder().encode  # as payloads are: MessagePack loses a time's offset
        self._decode = msgspec.json.Decoder(kind).decode
        self._most, self.size = most_bytes, 0  # bytes
        self._kept: OrderedDict[int, bytes] = OrderedDict()

    def get(self, point: int) -> Item | None:
        """Return an item if it is kept."""
        found = self._kept.get(point)
        if found is None:
            return None
        self._kept.move_to_end(point)
        return self._decode(found)

    def put(self, point: int, item: Item) -> None:
        """Keep an item that is not kept, and forget those that were used longest ago if it is too much."""
        kept = self._kept[point] = self._encode(item)
        self.size += len(kept) + _OVERHEAD
        while self.size > self._most:
            _, gone = self._kept.popitem(last=False)
            self.size -= len(gone) + _OVERHEAD

    def forget(self, points: Iterable[int]) -> None:
        """Forget items whose points change."""
        for point in points:
            if (gone := self._kept.pop(point, None)) is not None:
                self.size -= len(gone) + _OVERHEAD
