"""The extractor that needs no language model: :mod:`processors.extraction`, a window at a time.

What was erased while its window waited is not read: a candidate would hold it in its topic once more.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence

import msgspec

from models.memo import Erased
from models.ports import Extracted
from models.windows import Window
from processors.extraction.reading import read_window

#: Says what was erased of conversations (tenant, id), those of which nothing was being left out.
Erasures = Callable[[Iterable[tuple[str, str]]], Awaitable[Mapping[tuple[str, str], Erased]]]


class BuiltinExtractor:
    """Implements :class:`models.ports.Extractor`.  ``erasures`` says what it must not read."""

    def __init__(self, erasures: Erasures | None = None) -> None:
        self._erasures = erasures

    @property
    def name(self) -> str:
        """Name and version, as stored in each candidate."""
        return "builtin-10"

    async def extract(self, windows: Sequence[Window]) -> list[Extracted]:
        """Return the statements of each window, in the order of ``windows``.

        Raises:
            DependencyUnavailable: nobody can say what was erased.
        """
        erased: Mapping[tuple[str, str], Erased] = {}
        if self._erasures is not None and windows:
            erased = await self._erasures([(each.tenant_id, each.conversation_id) for each in windows])
        found = []
        for window in windows:
            found.append(self._read(window, erased.get((window.tenant_id, window.conversation_id))))
            # A batch of large windows takes a while: let the event loop breathe between two of them.
            await asyncio.sleep(0)
        return found

    def _read(self, window: Window, erased: Erased | None) -> Extracted:
        left = left_of(window, erased)
        if left is window:
            return Extracted(tuple(read_window(window)))
        # What is read of a part is signed for that.
        return Extracted() if left is None else Extracted(tuple(read_window(left)), by=f"{self.name} (erased)")

    def read_left(self, window: Window, erased: Erased) -> Extracted:
        """Return the statements of what is left of a window of which something was erased, signed for that."""
        return self._read(window, erased)


def left_of(window: Window, erased: Erased | None) -> Window | None:
    """Return what is left of a window: itself, if nothing of it was erased; ``None``: nothing is."""
    if erased is None or not erased.touches((each.user_id, each.arrived_at) for each in window.messages):
        return window
    kept = [not erased.covers(each.user_id, each.arrived_at) for each in window.messages]
    if not any(kept):
        return None
    return msgspec.structs.replace(
        window,
        messages=tuple(each for each, stays in zip(window.messages, kept, strict=True) if stays),
        message_ids=tuple(each for each, stays in zip(window.message_ids, kept, strict=True) if stays),
        overlap=sum(kept[: window.overlap]),
    )
