"""How many tokens a session takes: messages that are in no summary yet, and the summaries (seed 004)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from models.summaries import Summary
from models.turns import Turn
from processors.text.tokens import TokenCounter, message_tokens


class SessionTokens(msgspec.Struct, frozen=True, kw_only=True):
    """What seed 004 shows as "Context: X / 1200 tokens".

    A summary stands for its range as soon as it is there.
    """

    messages: int
    summaries: int
    total: int
    threshold: int


def session_tokens(
    turns: Sequence[Turn], summaries: Mapping[str, Summary], threshold: int, count: TokenCounter
) -> SessionTokens:
    """Return the count of a session; ``summaries`` are those that stand, by their id."""
    covered = [(each.from_index, each.to_index) for each in summaries.values()]
    messages = sum(
        message_tokens(turn.role.value, turn.text, count)
        for turn in turns
        if not any(first <= turn.index <= last for first, last in covered)
    )
    stand = sum(each.tokens for each in summaries.values())
    return SessionTokens(messages=messages, summaries=stand, total=messages + stand, threshold=threshold)


def standing(summaries: Sequence[Summary]) -> dict[str, Summary]:
    """Return the summaries that stand: what a roll-up replaces does not any more."""
    replaced = {name for each in summaries for name in each.replaces}
    return {each.summary_id: each for each in summaries if each.summary_id not in replaced}
