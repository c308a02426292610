"""The understander that is built in: what a question refers to, found in turns and memory."""

from __future__ import annotations

from models.understanding import QueryUnderstanding, QuestionAsked
from processors.retrieval.understanding.reading import understand


class BuiltinUnderstander:
    """Implements :class:`models.understanding.Understander`."""

    name = "builtin"

    async def understand(self, asked: QuestionAsked) -> QueryUnderstanding:
        """Return the meaning of a question; it never fails."""
        return understand(asked.query, asked.turns, asked.remembered, asked.days)
