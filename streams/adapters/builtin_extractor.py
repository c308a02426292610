"""The extractor that needs no language model: :mod:`processors.extraction`, a window at a time."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from models.ports import Extracted
from models.windows import Window
from processors.extraction.reading import read_window


class BuiltinExtractor:
    """Implements :class:`models.ports.Extractor`."""

    @property
    def name(self) -> str:
        """Name and version, as stored in each candidate."""
        return "builtin-7"

    async def extract(self, windows: Sequence[Window]) -> list[Extracted]:
        """Return the statements of each window, in the order of ``windows``."""
        found = []
        for window in windows:
            found.append(Extracted(tuple(read_window(window))))
            # A batch of large windows takes a while: let the event loop breathe between two of them.
            await asyncio.sleep(0)
        return found
