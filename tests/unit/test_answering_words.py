"""What is said without a model, word for word, and what is made of a search that a model asks for."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from models.answers import AnswerItem, AnswerKind, ToolCall
from models.context import FoundBy, Tier
from models.messages import Role
from models.understanding import QueryUnderstanding
from processors.answering.plain import ASKS_BACK, BLIND, NOTED, NOTHING, REMEMBERED, asked_back, quotation
from processors.answering.searching import Search, search_of
from processors.prompts.answer import MOST_RESULTS, TOOL_NAME

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
    ("text", "blind", "told"),
    [
        ("I live in Berlin.", False, (NOTED, AnswerKind.NOTED)),
        ("Where do I live?", False, (NOTHING, AnswerKind.UNKNOWN)),
        ("Where do I live?", True, (BLIND, AnswerKind.UNKNOWN)),
    ],
)
def test_what_is_said_where_nothing_is_found(text: str, blind: bool, told: tuple[str, AnswerKind]) -> None:
    assert quotation([], text, blind=blind) == told


def test_an_open_question_is_asked_back_by_number() -> None:
    asked = QueryUnderstanding(
        query="Is she in?", is_ambiguous=True, score=0.9, possible_interpretations=("Anna", "Eva")
    )
    assert asked_back(asked) == f"{ASKS_BACK['en']}\n1. Anna\n2. Eva"


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


@pytest.mark.parametrize(
    ("name", "arguments", "why"),
    [
        (TOOL_NAME, {}, "query is missing"),
        (TOOL_NAME, {"query": 3}, "query is missing"),
        (TOOL_NAME, {"query": "  "}, "."),
        ("delete_memory", {"query": "tea"}, f"'delete_memory'; {TOOL_NAME} is the only one"),
    ],
)
def test_a_search_that_cannot_be_made_says_why(name: str, arguments: dict[str, Any], why: str) -> None:
    found = search_of(ToolCall(name=name, arguments=arguments))
    assert (found.query, why in found.problem) == ("", True)
