"""Tokens of a session: its messages that are in no summary yet, and its summaries (requirement 5.1)."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

import msgspec

from models.summaries import Summary
from models.turns import Turn
from processors.text.tokens import TokenCounter, message_tokens


class SessionTokens(msgspec.Struct, frozen=True, kw_only=True):
    """Token use of a session, shown as "Context: X / 1200 tokens" (requirement 5.1).

    A summary stands for its range as soon as it is there.
    """

    messages: int
    summaries: int
    total: int
    threshold: int


class Session(NamedTuple):
    """A session as it is kept: its turns, and its summaries in the order in which they were made."""

    turns: Sequence[Turn]
    summaries: Sequence[Summary]
    threshold: int
    count: TokenCounter

    def tokens(self, without: Collection[str] = ()) -> SessionTokens:
        """Return the token use; ``without``: ids of summaries to leave out."""
        stand = _standing([each for each in self.summaries if each.summary_id not in without])
        messages = sum(
            message_tokens(turn.role.value, turn.text, self.count)
            for turn in self.turns
            if not any(each.from_index <= turn.index <= each.to_index for each in stand)
        )
        summaries = sum(each.tokens for each in stand)
        return SessionTokens(
            messages=messages, summaries=summaries, total=messages + summaries, threshold=self.threshold
        )


def _standing(summaries: Sequence[Summary]) -> list[Summary]:
    """Return the summaries that stand: what a roll-up replaces does not any more."""
    replaced = {name for each in summaries for name in each.replaces}
    return [each for each in summaries if each.summary_id not in replaced]
