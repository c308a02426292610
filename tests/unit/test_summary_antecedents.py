"""A line of a summary names what its pronouns stand for, or is not told."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from models.messages import Role
from models.windows import WindowMessage
from processors.summaries.antecedents import leaves_open
from processors.summaries.building import context_text
from processors.summaries.extractive import summarize_messages
from streams.adapters.tokenizer import cl100k_counter

NOW = datetime(2026, 2, 14, 7, 30, tzinfo=UTC)


def told(*said: tuple[str, str]) -> str:
    messages = [
        WindowMessage(
            message_id=f"m{i}",
            user_id=speaker,
            role=Role.USER,
            content=content,
            sent_at=NOW,
            arrived_at=NOW,
            index=i,
            offset=i,
        )
        for i, (speaker, content) in enumerate(said)
    ]
    return context_text(summarize_messages(messages, 1000, cl100k_counter()))


@pytest.mark.parametrize(
    "line",
    [
        "I deeply admire his patience with beginners.",
        "I painted it for the spring fair.",
        "I know nothing about that, but the harbour helps.",
        "I love watching them swim at night.",
        "Someone stole the lamp, and he got away.",
        "The server crashed when he opened the file.",
        "The printer jams whenever she uses it.",
        "My aunt took the red kayak and I took the other one.",
        "The mechanic will call them on Monday.",
    ],
)
def test_a_pronoun_without_what_it_stands_for_leaves_the_line_open(line: str) -> None:
    assert leaves_open(line)


@pytest.mark.parametrize(
    "line",
    [
        "My uncle says he sold the mill.",
        "I told Rosa that she may keep the kayak.",
        "The kayak leaks, so I will return it on Monday.",
        "My neighbours moved, and I miss them.",
        "An Irish and a Danish sailor met, and they shared a boat.",
        "It takes two hours to row across the lake.",
        "I find it hard to row against the wind.",
        "It's great to know that the insurance pays.",
        "When it comes to boats, I trust my uncle.",
        "I live in the hall that they built in the harbour.",
        "I go by train because it is cheap.",
        "We made it to the island on time.",
    ],
)
def test_a_pronoun_behind_what_it_stands_for_is_clear(line: str) -> None:
    assert not leaves_open(line)


def test_a_line_is_told_behind_the_nearest_that_names_whom_it_is_about() -> None:
    summary = told(
        ("ada", "My landlord sold the old mill in March. Nobody expected it. He moved to the coast in April."),
        ("ben", "The coast is windy in April."),
    )
    assert "landlord sold the old mill in March. He moved to the coast in April." in summary


def test_whom_a_reply_is_about_the_question_names() -> None:
    summary = told(
        ("ada", "How is your new landlord treating the tenants?"),
        ("ben", "He repaired the boiler and painted the stairs within a week."),
    )
    assert "ada: How is your new landlord treating the tenants? ben: He repaired the boiler" in summary


def test_whom_nobody_names_no_line_is_about() -> None:
    summary = told(
        ("ada", "The ferry to the fort leaves at seven on Sundays."),
        ("ben", "I have always admired his patience with the beginners in the harbour."),
    )
    assert "patience" not in summary


def test_one_word_in_common_far_off_takes_nothing_back() -> None:
    said = [
        ("ada", "My brother works as a carpenter in the harbour of Kiel."),
        ("ben", "The weather was fine on the island yesterday."),
        ("ada", "The ferry tickets cost nine euros in the evening."),
        ("ben", "I have not seen the new harbour lights because of the fog."),
    ]
    assert "carpenter" in told(*said)
    said[3] = ("ada", "My brother does not work as a carpenter.")
    assert "works as a carpenter in the harbour" not in told(*said)


def test_a_question_that_goes_on_from_an_answer_asks_nothing_again() -> None:
    said = [
        ("ada", "What is your present salary?"),
        ("ben", "My present pay is three thousand euros before taxes."),
        ("ada", "What salary do you expect from our company in Kiel?"),
        ("ben", "I leave that to you."),
    ]
    assert "three thousand" in told(*said)


@pytest.mark.parametrize(
    "line",
    [
        "Rosa, that sounds like the right boat for you!",
        "I can only imagine how lonely the lighthouse must be.",
        "Rosa, it's so lovely that you're helping the sailors like this!",
        "I will keep pushing forward and rowing my best.",
    ],
)
def test_what_only_feels_for_another_is_not_told(line: str) -> None:
    assert line[-12:] not in told(("ada", "My boat sank near the harbour in March."), ("ben", line))


def test_however_is_left_out_before_what_stands_by_itself() -> None:
    summary = told(
        ("ada", "However, the ferry to the fort leaves at seven on Sundays."), ("ben", "Good to know.")
    )
    assert "ada: the ferry to the fort leaves at seven on Sundays." in summary


def test_no_comma_is_left_before_what_is_cut_off() -> None:
    long = "the carpenter repaired the doors of the mill, the windows of a barn, and the stairs of the tower "
    summary = told(("ada", f"In March {long}while {long}"), ("ben", "Fine."))
    assert "tower…" in summary or "barn…" in summary
    assert ",…" not in summary


@pytest.mark.parametrize(
    "line",
    [
        "I'll hang it above the stove.",
        "I've heard that it's rather noisy, but I need a kettle by Friday.",
        "Sometimes I even take it to the lake.",
        "I'll ask around for any that are still free.",
        "I coach these swimmers in winter.",
        "Seeing it made me shiver.",
    ],
)
def test_a_word_before_a_pronoun_that_is_no_noun_names_nothing(line: str) -> None:
    assert leaves_open(line)


@pytest.mark.parametrize(
    "line",
    ["I coach swimmers, and these swimmers win.", "My stove is old, so I'll sell it.", "I rest on these days."],
)
def test_what_a_line_names_it_may_point_at(line: str) -> None:
    assert not leaves_open(line)
