"""The extractor that needs no language model: :mod:`processors.extraction`, a window at a time.

Erased messages of a waiting window are not read: a candidate would bring them back to a topic.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence

import msgspec

from models.memo import Erased
from models.ports import Embedder, Extracted
from models.statements import Statement
from models.windows import Window
from processors.extraction.features import texts
from processors.extraction.keeper import DROPPED, judge, worth_reading
from processors.extraction.reading import statements
from processors.extraction.units import units_of

#: Returns the erasures of conversations (tenant, id); those without any are left out.
Erasures = Callable[[Iterable[tuple[str, str]]], Awaitable[Mapping[tuple[str, str], Erased]]]

#: Name and version, as stored in each candidate.
NAME = "builtin-15"


class BuiltinExtractor:
    """Implements :class:`models.ports.Extractor`.

    ``embedder`` is the model that the weights were trained with; ``erasures`` says what must not be read.
    """

    def __init__(self, embedder: Embedder, erasures: Erasures | None = None) -> None:
        self._embedder = embedder
        self._erasures = erasures

    @property
    def name(self) -> str:
        """Name and version, as stored in each candidate."""
        return NAME

    async def extract(self, windows: Sequence[Window]) -> list[Extracted]:
        """Return the statements of each window, in the order of ``windows``.

        Raises:
            DependencyUnavailable: the embedder does not answer, or nobody can say what was erased.
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
        read = [unit for unit, is_worth in zip(units, worth_reading(units), strict=True) if is_worth]
        judgements = judge(read, await self._embedder.embed(texts(read))) if read else []
        judged = dict(zip(read, judgements, strict=True))
        return statements([(unit, judged.get(unit, DROPPED)) for unit in units])


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
