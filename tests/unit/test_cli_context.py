"""``switchboard context``: how an answer is printed."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
import samples

from models.context import ContextItem, FoundBy, LeftOut, Parts, Tier
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


def test_every_way_to_be_found_and_to_be_left_out_has_words(capsys: pytest.CaptureFixture[str]) -> None:
    items = tuple(item(found, "x", why) for found in FoundBy for why in LeftOut)
    made = samples.context(samples.turn(3), items=items)
    print_answer(answer(ContextStatus.MADE, context=made))
    said = [line for line in capsys.readouterr().out.splitlines() if line.startswith("        left out: ")]
    assert len(set(said)) == len(items)
