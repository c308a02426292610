"""The extractor that needs no language model: :mod:`processors.extraction`, a window at a time."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from models.facts import Category
from models.ports import ExtractedStatement
from models.statements import Kind, Statement
from models.windows import Window
from processors.extraction.reading import read_window

_CATEGORIES = {
    Kind.STATE: Category.PROFILE,
    Kind.PREFERENCE: Category.PREFERENCE,
    Kind.EVENT: Category.EVENT,
    Kind.INSTRUCTION: Category.FEEDBACK,
    Kind.PROFILE: Category.PROFILE,
}


class BuiltinExtractor:
    """Implements :class:`models.ports.Extractor`."""

    @property
    def name(self) -> str:
        """Name and version, as stored in each candidate."""
        return "builtin-2"

    async def extract(self, windows: Sequence[Window]) -> list[list[ExtractedStatement]]:
        """Return the statements of each window, in the order of ``windows``."""
        found = []
        for window in windows:
            found.append([_as_text(each) for each in read_window(window)])
            # A batch of large windows takes a while: let the event loop breathe between two of them.
            await asyncio.sleep(0)
        return found


def _as_text(found: Statement) -> ExtractedStatement:
    """Facts do not know slots yet: a statement is told by its text."""
    feedback = found.attribute == "feedback"
    return ExtractedStatement(
        user_id=found.user_id,
        category=Category.FEEDBACK if feedback else _CATEGORIES[found.kind],
        statement=found.statement,
        confidence=found.confidence,
        source_message_ids=found.source_message_ids,
        quote=found.quote,
        completes=found.statement.replace(found.value, found.completes) if found.completes else "",
    )
