"""Contexts of two generations, compared line by line; and what a generation may pay."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from models.context import Context, ContextItem, FoundBy, LeftOut, Tier
from models.errors import ConfigurationError
from streams.server.replays.contexts import Line, compared
from streams.server.replays.costs import Paid, refuse_paid

AT = datetime(2026, 11, 27, tzinfo=UTC)


def context(number: int, *texts: str, left_out: str = "") -> Context:
    items = [
        ContextItem(tier=Tier.FACTS, id=text, text=text, tokens=4, found_by=FoundBy.MEANING, left_out=why)
        for text, why in (*((text, None) for text in texts), *[(left_out, LeftOut.UNLIKE)][not left_out :])
    ]
    return Context(
        conversation_id=f"c{number}",
        user_id="ada",
        after_turn_id="t",
        after_index=0,
        made_from=("t",),
        said_at=AT,
        began_at=AT,
        made_at=AT,
        by_meaning=True,
        budget=1500,
        tokens=4 * len(texts),
        tiers=(),
        items=tuple(items),
    )


def test_only_lines_of_the_prompt_make_a_difference() -> None:
    told = compared([(context(1, "a", "b"), context(1, "b", "a", left_out="c"))], 1)
    assert (told.compared, told.same, told.missing, told.differences) == (1, 1, 0, [])
    told = compared([(context(1, "a", "b"), context(1, "a", "c", "d"))], 3)
    assert (told.same, told.missing, told.live_tokens, told.replayed_tokens) == (0, 2, 8, 12)
    [shown] = told.differences
    assert shown.only_live == [Line(Tier.FACTS, "b")]
    assert shown.only_replayed == [Line(Tier.FACTS, "c"), Line(Tier.FACTS, "d")]


def test_a_replay_that_has_paid_what_it_may_does_not_go_on() -> None:
    refuse_paid("b", Paid(3, 0.99), 1.0)
    refuse_paid("b", Paid(3, 99.0), 0.0)
    with pytest.raises(ConfigurationError, match=r"b has paid \$1\.0000 for 3 answers.*--max-cost"):
        refuse_paid("b", Paid(3, 1.0), 1.0)
