"""The summarizer that needs nothing: no model, no network, the same answer every time."""

from __future__ import annotations

from models.ports import Summarized
from models.summaries import SummaryRequest
from processors.summaries.extractive import roll_up, summarize_messages
from processors.text.tokens import TokenCounter

#: Of the tokens that led to the request, for the seed's compression by 93 to 95 % ...
SHARE = 0.07

#: ... and of the summaries that a roll-up replaces: room for several more before the next.
ROLL_UP_SHARE = 0.25

#: Tokens, whatever the share says.  The names of the lists alone take about 5 each.
SMALLEST = 48
LARGEST = 150


class BuiltinSummarizer:
    """Implements :class:`models.ports.Summarizer` by picking sentences; never raises, never waits."""

    def __init__(self, count: TokenCounter) -> None:
        self._count = count

    @property
    def name(self) -> str:
        """Name and version, as stored in each summary."""
        return "builtin-extractive-11"

    async def summarize(self, request: SummaryRequest) -> Summarized:
        """Return the summary: at most 7 % of the request's tokens (25 % for a roll-up), within 48 to 150."""
        if request.roll_up:
            return Summarized(roll_up(request.previous, _limit(request.tokens, ROLL_UP_SHARE), self._count))
        limit = _limit(request.tokens, SHARE)
        return Summarized(summarize_messages(request.messages, limit, self._count, owner=request.user_id))


def _limit(tokens: int, share: float) -> int:
    return max(SMALLEST, min(LARGEST, int(tokens * share)))
