"""The understander that is built in: a small model of the question's form, and reference resolution."""

from __future__ import annotations

from models.understanding import QueryUnderstanding, QuestionAsked
from processors.understanding.clarity import built_in
from processors.understanding.reading import understand


class BuiltinUnderstander:
    """Implements :class:`models.understanding.Understander`."""

    name = "builtin"

    async def understand(self, asked: QuestionAsked) -> QueryUnderstanding:
        """Return what a question means; it never fails."""
        return understand(asked.query, asked.turns, asked.remembered, built_in())
