"""The summarizer that needs no language model: it quotes what was said, the same every time."""

from __future__ import annotations

import asyncio

from models.ports import Embedder, SentenceReader, Summarized
from models.summaries import SummaryRequest
from processors.summaries.extractive import Scored, roll_up, summarize_messages
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
NAME = "builtin-extractive-14"


class BuiltinSummarizer:
    """Implements :class:`models.ports.Summarizer` by picking sentences.

    ``embedder``: the built-in one; by its vectors sentences are central, or are taken back by later ones.
    """

    def __init__(self, count: TokenCounter, reader: SentenceReader, embedder: Embedder) -> None:
        self._count = count
        self._reader = reader
        self._embedder = embedder

    @property
    def name(self) -> str:
        """Name and version, as stored in each summary."""
        return NAME

    async def summarize(self, request: SummaryRequest) -> Summarized:
        """Return the summary: at most 7 % of the request's tokens (25 % for a roll-up), within 48 to 150.

        Raises:
            DependencyUnavailable: the reader or the embedder does not answer.
        """
        if request.roll_up:
            return Summarized(roll_up(request.previous, _limit(request.tokens, ROLL_UP_SHARE), self._count))
        units = read(request.messages)
        readings = await self._reader.read([unit.sentence for unit in units])
        vectors = await self._embedder.embed([unit.text for unit in units])
        # A batch of large requests takes a while: let the event loop breathe between two of them.
        await asyncio.sleep(0)
        said = [*map(Scored, units, readings, vectors)]
        limit = _limit(request.tokens, SHARE)
        return Summarized(summarize_messages(request.messages, said, limit, self._count))


def _limit(tokens: int, share: float) -> int:
    return max(SMALLEST, min(LARGEST, int(tokens * share)))
