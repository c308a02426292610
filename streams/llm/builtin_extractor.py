"""The extractor that needs no language model: :mod:`processors.extraction`, a window at a time.

Erased messages of a waiting window are not read: a candidate would bring them back to a topic.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence

import msgspec

from models.memo import Erased
from models.ports import Extracted, SentenceReader
from models.statements import Statement
from models.windows import Window
from processors.extraction.keeper import judge
from processors.extraction.reading import statements
from processors.extraction.units import units_of

#: Returns the erasures of conversations (tenant, id); those without any are left out.
Erasures = Callable[[Iterable[tuple[str, str]]], Awaitable[Mapping[tuple[str, str], Erased]]]

#: Name and version, as stored in each candidate.
NAME = "builtin-16"


class BuiltinExtractor:
    """Implements :class:`models.ports.Extractor`.

    ``erasures`` says what must not be read.
    """

    def __init__(self, reader: SentenceReader, erasures: Erasures | None = None) -> None:
        self._reader = reader
        self._erasures = erasures

    @property
    def name(self) -> str:
        """Name and version, as stored in each candidate."""
        return NAME

    async def extract(self, windows: Sequence[Window]) -> list[Extracted]:
        """Return the statements of each window, in the order of ``windows``.

        Raises:
            DependencyUnavailable: the reader does not answer, or nobody can say what was erased.
        """
        erased: Mapping[tuple[str, str], Erased] = {}
        if self._erasures is not None and windows:
            erased = await self._erasures([(each.tenant_id, each.conversation_id) for each in windows])
        found = []
        for window in windows:
            found.append(await self.read_left(window, erased.get((window.tenant_id, window.conversation_id))))
            # A batch of large windows takes a while: let the event loop breathe between two of them.
            await asyncio.sleep(0)
        return found

    async def read_left(self, window: Window, erased: Erased | None) -> Extracted:
        """Return the statements of what is left of a window, signed for that if something of it was erased."""
        left = left_of(window, erased)
        if left is None:
            return Extracted()
        found = tuple(await self._read(left))
        return Extracted(found) if left is window else Extracted(found, by=f"{self.name} (erased)")

    async def _read(self, window: Window) -> list[Statement]:
        units = units_of(window)
        judgements = judge(await self._reader.read([unit.sentence for unit in units])) if units else []
        return statements([*zip(units, judgements, strict=True)])


def left_of(window: Window, erased: Erased | None) -> Window | None:
    """Return the window without its erased messages; ``None`` if all were erased."""
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
