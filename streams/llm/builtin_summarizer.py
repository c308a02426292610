"""The summarizer that needs no language model: it quotes what was said, the same every time."""

from __future__ import annotations

import asyncio

from models.ports import Embedder, Summarized
from models.summaries import SummaryRequest
from processors.extraction.features import texts
from processors.summaries.extractive import roll_up, summarize_messages
from processors.summaries.reading import read
from processors.text.tokens import TokenCounter

#: Of the tokens that led to the request, for a compression by 93 to 95 % ...
SHARE = 0.07

#: ... and of the summaries that a roll-up replaces: room for several more before the next.
ROLL_UP_SHARE = 0.25

#: Tokens, whatever the share says.  The names of the lists alone take about 5 each.
SMALLEST = 48
LARGEST = 150

#: Name and version, as stored in each summary.
NAME = "builtin-extractive-13"


class BuiltinSummarizer:
    """Implements :class:`models.ports.Summarizer` by picking sentences.

    ``embedder`` is the model that the weights were trained with; without one their surface decides.
    """

    def __init__(self, count: TokenCounter, embedder: Embedder | None = None) -> None:
        self._count = count
        self._embedder = embedder

    @property
    def name(self) -> str:
        """Name and version, as stored in each summary."""
        return NAME

    async def summarize(self, request: SummaryRequest) -> Summarized:
        """Return the summary: at most 7 % of the request's tokens (25 % for a roll-up), within 48 to 150.

        Raises:
            DependencyUnavailable: the embedder does not answer.
        """
        if request.roll_up:
            return Summarized(roll_up(request.previous, _limit(request.tokens, ROLL_UP_SHARE), self._count))
        limit, vectors = _limit(request.tokens, SHARE), None
        units = read(request.messages)
        if self._embedder is not None and units:
            vectors = await self._embedder.embed(texts(units))
        # A batch of large requests takes a while: let the event loop breathe between two of them.
        await asyncio.sleep(0)
        return Summarized(summarize_messages(request.messages, limit, self._count, vectors, units))


def _limit(tokens: int, share: float) -> int:
    return max(SMALLEST, min(LARGEST, int(tokens * share)))
