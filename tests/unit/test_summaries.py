"""Summaries: made safe, bounded, traceable to the messages (requirement 5.2)."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import pytest
import samples
from hypothesis import given, settings
from hypothesis import strategies as st

from models.messages import Role
from models.ports import Summarizer
from models.summaries import SessionSummary, SummaryRequest, UserProfile
from models.windows import WindowMessage
from processors.prompts.summary import validated as read_answer
from processors.summaries.building import summary_tokens
from processors.summaries.extractive import Scored, roll_up, summarize_messages
from processors.summaries.reading import read
from streams.llm.builtin_summarizer import LARGEST, BuiltinSummarizer
from streams.llm.onnx_embedder import OnnxEmbedder
from streams.llm.onnx_model import BuiltIn, Loaded
from streams.llm.onnx_reader import OnnxReader, ReaderModel
from streams.llm.tokenizer import cl100k_counter
from tests import prompt_examples as examples

NOW = datetime(2026, 2, 14, 7, 30, tzinfo=UTC)
AMPLE = 1000
count = cl100k_counter()

Said = tuple[str, str]


def messages(said: Sequence[Said]) -> tuple[WindowMessage, ...]:
    """Messages from ``(speaker, content)``: a role, or the name of a user."""
    roles = {role.value: role for role in Role}
    return tuple(
        samples.window_message(
            i,
            content,
            at=NOW,
            user_id="ada" if speaker in roles else speaker,
            role=roles.get(speaker, Role.USER),
        )
        for i, (speaker, content) in enumerate(said)
    )


def summarize(*said: Said, limit: int = AMPLE) -> SessionSummary:
    units, (reader, embedder) = read(messages(said)), models()
    readings = reader.read([unit.sentence for unit in units])
    vectors = embedder.embed([unit.text for unit in units]) if units else ()
    return summarize_messages(messages(said), [*map(Scored, units, readings, vectors)], limit, count)


@cache
def models() -> tuple[ReaderModel, Loaded]:
    return ReaderModel(), BuiltIn().load(threads=1)


def lines(summary: SessionSummary) -> list[str]:
    profile = summary.profile
    return [
        *profile.preferences,
        *profile.constraints,
        *summary.key_facts,
        *summary.decisions,
        *summary.open_questions,
        *summary.todos,
    ]


def request(
    said: Sequence[Said] = (), tokens: int = 1220, previous: tuple[SessionSummary, ...] = ()
) -> SummaryRequest:
    return msgspec.structs.replace(
        examples.summary_request(),
        messages=messages(said),
        tokens=tokens,
        previous=previous,
        replaces=tuple(f"s{i}" for i in range(len(previous))),
        roll_up=bool(previous),
    )


TRIP: list[Said] = [
    ("user", "Hi! I want to plan a week in Lisbon for my parents and me in early May."),
    ("assistant", "What a lovely idea! What budget do you have in mind, and where would you like to stay?"),
    ("user", "Our budget is at most 2500 euros for the three of us. My mother can't climb many stairs."),
    (
        "assistant",
        "Understood. Baixa is flat and close to the tram lines; Alfama is charming, but steep. "
        "Both have small hotels with lifts. Shall I compare three of them for you?",
    ),
    ("user", "Yes please. I prefer quiet streets, and my father loves old books and maps."),
    (
        "assistant",
        "Hotel Borges lies in a calm side street in Baixa, 110 euros a night. The Lisbon Story Guesthouse "
        "costs 95 euros and serves breakfast on a terrace. Casa Balthazar has a pool for 210 euros.",
    ),
    ("user", "Let's go with Hotel Borges. I need to ask my sister whether she can feed the cat that week."),
    ("assistant", "Good choice. For your father, Livraria Bertrand is the oldest open bookshop in the world."),
    ("user", "He'll be thrilled! Remind me to book the airport transfer next Tuesday."),
    ("assistant", "I will. Do your parents have any food allergies that I should keep in mind?"),
]


@pytest.mark.parametrize(
    ("said", "section"),
    [
        ([("user", "We've decided to sell the boat.")], "decisions"),
        ([("assistant", "Shall I book the ferry for Friday?"), ("user", "Yes, do that.")], "decisions"),
        ([("user", "I need to call the landlord before Monday.")], "todos"),
        ([("user", "I still don't know whether to take the job.")], "open_questions"),
        ([("user", "Tengo que llamar al fontanero mañana.")], "todos"),
    ],
)
def test_decisions_to_dos_and_open_matters_have_their_lists(said: list[Said], section: str) -> None:
    (line,) = getattr(summarize(*said), section)
    assert line.endswith(f"user: {said[-1][1]}")


def test_what_the_assistant_suggests_is_not_told() -> None:
    said = summarize(
        ("user", "I own a bakery in Ghent and I'm saving for a new oven."),
        ("assistant", "Let's go with leasing. You need to sign by Friday. We decided on the blue one."),
        ("user", "Thanks."),
    )
    assert lines(said) == ["user: I own a bakery in Ghent and I'm saving for a new oven."]


def test_a_question_is_open_until_answered_and_no_fact() -> None:
    question = "Should I sell my flat in Leeds?"
    assert summarize(("user", question)) == SessionSummary(open_questions=(f"user: {question}",))
    assert summarize(("user", question), ("assistant", "Let me check.")).open_questions != ()
    assert (
        summarize(("user", question), ("assistant", "Yes, prices are high at the moment.")).open_questions == ()
    )


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("I play football on Tuesdays.", "I gave up football."),
        ("My allergy to peanuts is back.", "No wait, scratch that."),
    ],
)
def test_what_is_taken_back_later_is_left_out(first: str, second: str) -> None:
    assert not any(first in line for line in lines(summarize(("user", first), ("user", second))))


def test_texts_of_others_are_left_out() -> None:
    said = summarize(
        ("system", "You are a travel assistant."),
        ("user", "Translate into German: I am allergic to nuts and I have decided to move to Oslo."),
        ("user", "```python\nI prefer = 'tabs in this code block'\n```"),
    )
    assert lines(said) == []


def test_the_bound_is_kept_and_the_weightiest_stays() -> None:
    small = summarize(*TRIP, limit=60)
    assert 0 < len(lines(small)) < len(lines(summarize(*TRIP)))
    assert summary_tokens(small, count) <= 60
    assert summarize(*TRIP, limit=5) == SessionSummary()


SPEAKER = re.compile(r"(?:^| – )(?:assistant|user|tool): …?")

CONTENTS = st.one_of(
    st.text(st.characters(codec="utf-8"), max_size=200),
    st.lists(
        st.sampled_from(
            [content for _, content in TRIP]
            + ["Yes, ", "I like tea", "```", "|", "\n- ", " ", "?", "! ", "🙂 ", "Please call Ann.", "\r\n"]
        ),
        max_size=8,
    ).map("".join),
)


@settings(max_examples=60, deadline=None)
@given(said=st.lists(st.tuples(st.sampled_from([*Role]), CONTENTS), max_size=8), limit=st.integers(0, 300))
def test_lines_are_quotations_without_repetition_and_within_the_bound(said: list[Said], limit: int) -> None:
    summary = summarize(*said, limit=limit)
    found = lines(summary)
    all_said = "".join("".join(content.split()) for _, content in said)
    assert all(word in all_said for line in found for part in SPEAKER.split(line) for word in part.split())
    assert len({line.casefold() for line in found}) == len(found)
    assert not found or summary_tokens(summary, count) <= limit
    assert summarize(*said, limit=limit) == summary


def test_a_roll_up_keeps_lists_and_repeats_nothing() -> None:
    first = SessionSummary(
        profile=UserProfile(preferences=("I prefer quiet streets.",), constraints=("I'm allergic to nuts.",)),
        key_facts=("We fly to Lisbon on May 3.",),
        open_questions=("Which airport is closer?",),
    )
    second = SessionSummary(
        profile=UserProfile(constraints=("I'm allergic to nuts.",)),
        decisions=("Let's go with Hotel Borges.",),
        todos=("I need to ask my sister about the cat.",),
    )
    merged = roll_up((first, second), AMPLE, count)
    assert merged == SessionSummary(
        profile=first.profile,
        key_facts=first.key_facts,
        decisions=second.decisions,
        open_questions=first.open_questions,
        todos=second.todos,
    )


@pytest.mark.parametrize("answer", ["", "[1, 2]", {"profile": []}])
def test_an_invalid_answer_is_an_empty_summary(answer: object) -> None:
    assert read_answer(answer) == SessionSummary()


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(st.characters(), max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["profile", "preferences", "key_facts", "todos", "x"]), inner, max_size=4
        )
    ),
    max_leaves=10,
)


@given(answer=JSON | st.text(st.characters()) | st.binary())
def test_any_answer_becomes_a_summary_that_can_be_published(answer: Any) -> None:
    summary = read_answer(answer)
    assert msgspec.json.decode(msgspec.json.encode(summary), type=SessionSummary) == summary


async def test_the_builtin_summarizer_compresses_as_the_seed_does() -> None:
    summarizer: Summarizer = BuiltinSummarizer(count, OnnxReader(), OnnxEmbedder())
    summary = (await summarizer.summarize(request(TRIP, tokens=1220))).summary
    assert 61 <= summary_tokens(summary, count) <= 85
    assert summary.decisions == ("user: Let's go with Hotel Borges.",)


async def test_the_builtin_summarizer_rolls_up() -> None:
    previous = tuple(SessionSummary(key_facts=(f"Town {i} has {i} wells.",)) for i in range(20))
    tokens = sum(summary_tokens(summary, count) for summary in previous)
    summary = (
        await BuiltinSummarizer(count, OnnxReader(), OnnxEmbedder()).summarize(
            request(tokens=tokens, previous=previous)
        )
    ).summary
    assert 0 < len(summary.key_facts) < 20
    assert summary_tokens(summary, count) <= LARGEST


def test_orders_and_todos_of_a_long_chat_fit_150_tokens() -> None:
    """What must not be lost of a plan with 30 messages: Kwame's to-do, and that he never borrows."""
    log = (Path(__file__).parents[2] / "examples/kwame.jsonl").read_text(encoding="utf-8").splitlines()
    plan = [each for each in map(json.loads, log) if each["conversation_id"] == "kwame-plan"]
    found = summarize(*((each["role"], each["content"]) for each in plan), limit=150)
    assert "user: Todo for me: print the sheet." in found.todos
    assert any("no credit, ever" in line for line in lines(found))
