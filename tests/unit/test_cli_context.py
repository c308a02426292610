"""``switchboard context``: how an answer is printed."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
import samples

from models.context import ContextItem, FoundBy, LeftOut, Parts, Tier, TierUse
from models.messages import Role
from streams.cli.context import print_answer
from streams.queries.contexts.reading import ContextAnswer, ContextStatus

MADE = datetime(2026, 3, 1, 8, 0, tzinfo=UTC)
PARTS = Parts(similarity=0.3, confidence=0.9, recency=0.1)


def answer(status: ContextStatus, **changes: Any) -> ContextAnswer:
    names = {"conversation_id": "c-1", "user_id": "ada", "tenant_id": "default"}
    return ContextAnswer(status=status, **names, **changes)


def test_before_the_first_context_the_standing_notes_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    print_answer(answer(ContextStatus.NOT_MADE_YET, prompt="Known about the user:\n- No nuts.\x1b[31m"))
    assert capsys.readouterr().out.splitlines() == [
        "No context has been made yet for ada in c-1: one is made after their next message.",
        "Until then the prompt holds only the standing notes:",
        "Known about the user:",
        r"- No nuts.\x1b[31m",
    ]


def test_without_context_and_notes_no_prompt_is_announced(capsys: pytest.CaptureFixture[str]) -> None:
    print_answer(answer(ContextStatus.NOT_MADE_YET))
    assert len(capsys.readouterr().out.splitlines()) == 1


def item(found_by: FoundBy, text: str, left_out: LeftOut | None = None, **changes: Any) -> ContextItem:
    tier = Tier.RECENT if found_by is FoundBy.RECENT else Tier.FACTS
    return ContextItem(tier=tier, id=text, text=text, tokens=7, found_by=found_by, left_out=left_out, **changes)


def test_each_item_says_why_it_is_in_or_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    items = (
        item(FoundBy.RECENT, "Hello.", role=Role.USER),
        item(FoundBy.KIND, "No nuts.", score=0.35, parts=PARTS),
        item(FoundBy.MEANING, "Likes tea.", LeftOut.UNLIKE),
        item(FoundBy.WORDS, "Tea, please.", LeftOut.LIKE_ANOTHER, like="f-1"),
    )
    uses = tuple(
        TierUse(tier=tier, limit=500, tokens=7, items=1, left_out=0) for tier in (Tier.RECENT, Tier.FACTS)
    )
    made = samples.context(
        samples.turn(3), items=items, tiers=uses, made_at=MADE, tokens=14, budget=1500, after_index=3
    )
    print_answer(answer(ContextStatus.NOTHING, context=made, behind=1))
    assert capsys.readouterr().out.splitlines() == [
        "Nothing is remembered that belongs in the next turn of ada in c-1, except its last messages.",
        "14 of 1,500 tokens, made 2026-03-01 08:00:00 UTC after turn 3, 1 turn since then",
        "last messages: 7 of 500 tokens",
        "     7  user: Hello.",
        "        in the prompt: one of the last messages",
        "facts: 7 of 500 tokens",
        "     7  No nuts.",
        "        in the prompt: belongs in every context, score 0.35",
        "left out: 2 items",
        "     7  Likes tea.",
        "        left out: too unlike what was said last; found by meaning",
        "     7  Tea, please.",
        "        left out: says the same as another item (f-1); found by words",
    ]


def test_every_way_to_be_found_and_to_be_left_out_has_words(capsys: pytest.CaptureFixture[str]) -> None:
    items = tuple(item(found, "x", why) for found in FoundBy for why in LeftOut)
    made = samples.context(samples.turn(3), items=items)
    print_answer(answer(ContextStatus.MADE, context=made))
    said = [line for line in capsys.readouterr().out.splitlines() if line.startswith("        left out: ")]
    assert len(set(said)) == len(items)
