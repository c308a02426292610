"""What is said without a model, word for word, and what is made of a search that a model asks for."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from models.answers import AnswerItem, AnswerKind, ToolCall
from models.context import FoundBy, Tier
from models.messages import Role
from processors.prompts.answer import MOST_RESULTS, TOOL_NAME
from processors.prompts.answering.plain import REMEMBERED, quotation
from processors.prompts.answering.searching import Search, search_of

AT = datetime(2026, 3, 1, 12, tzinfo=UTC)


def item(n: int, text: str, role: Role | None, speaker: str = "", at: datetime | None = AT) -> AnswerItem:
    return AnswerItem(
        tier=Tier.EPISODES, id=f"i{n}", text=text, tokens=1, found_by=FoundBy.WORDS, role=role, speaker=speaker,
        at=at, n=n,
    )  # fmt: skip


def test_what_is_remembered_is_quoted_with_who_said_it_when() -> None:
    items = [
        item(1, "Lives in\n Berlin", None),
        item(2, "I moved.", Role.USER),
        item(3, "Good to know.", Role.ASSISTANT, at=None),
        item(4, "Sunny.", Role.TOOL, "weather"),
        item(5, "Rain.", Role.TOOL),
    ]
    told, kind = quotation(items, "Where do I live?", blind=False)
    assert kind is AnswerKind.ANSWERED
    assert told.split("\n")[:5] == [
        REMEMBERED,
        "- You said on 1 March 2026: “Lives in Berlin” [1]",
        "- You said on 1 March 2026: “I moved.” [2]",
        "- The assistant said: “Good to know.” [3]",
        "- weather said on 1 March 2026: “Sunny.” [4]",
    ]


@pytest.mark.parametrize(
    ("arguments", "search"),
    [
        ({"query": " tea "}, Search("tea")),
        ({"query": "tea", "search_type": "facts", "limit": 1}, Search("tea", "facts", 1)),
        ({"query": "tea", "search_type": "all", "limit": MOST_RESULTS}, Search("tea", "both", MOST_RESULTS)),
        ({"query": "tea", "limit": MOST_RESULTS + 1}, Search("tea")),
        ({"query": "tea", "limit": 0}, Search("tea")),
        ({"query": "tea", "limit": "many"}, Search("tea")),
        ({"query": "tea", "limit": 2.5}, Search("tea", limit=2)),
    ],
)
def test_what_a_model_wants_to_have_searched(arguments: dict[str, Any], search: Search) -> None:
    assert search_of(ToolCall(name=TOOL_NAME, arguments=arguments)) == search
