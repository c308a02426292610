"""Summaries: made safe, bounded, traceable to the messages (seed 004)."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from models.messages import Role
from models.ports import Summarizer
from models.summaries import SessionSummary, SummaryRequest, UserProfile
from models.windows import WindowMessage, WindowSource
from processors.summaries.building import build_summary, context_text, summary_tokens, validate_summary
from processors.summaries.extractive import roll_up, summarize_messages
from streams.adapters.builtin_summarizer import LARGEST, SMALLEST, BuiltinSummarizer
from streams.adapters.tokenizer import cl100k_counter

NOW = datetime(2026, 2, 14, 7, 30, tzinfo=UTC)
AMPLE = 1000
count = cl100k_counter()

Said = tuple[str, str]


def messages(said: Sequence[Said]) -> tuple[WindowMessage, ...]:
    """Messages from ``(speaker, content)``: a role, or the name of a user."""
    roles = {role.value: role for role in Role}
    return tuple(
        WindowMessage(
            message_id=f"m{i}",
            user_id="ada" if speaker in roles else speaker,
            role=roles.get(speaker, Role.USER),
            content=content,
            sent_at=NOW,
            arrived_at=NOW,
            index=i,
            offset=i,
        )
        for i, (speaker, content) in enumerate(said)
    )


def summarize(*said: Said, limit: int = AMPLE) -> SessionSummary:
    return summarize_messages(messages(said), limit, count)


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
    return SummaryRequest(
        request_id="request",
        conversation_id="conversation",
        user_id="ada",
        from_index=0,
        to_index=9,
        messages=messages(said),
        tokens=tokens,
        threshold=1200,
        source=WindowSource(topic="chat.messages.v1", partition=3, first_offset=70, last_offset=99),
        arrived_at=NOW,
        previous=previous,
        replaces=tuple(f"s{i}" for i in range(len(previous))),
        roll_up=bool(previous),
        tenant_id="acme",
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


def test_each_kind_of_sentence_lands_in_its_list() -> None:
    summary = summarize(*TRIP)
    assert summary.profile.preferences == ("I prefer quiet streets, and my father loves old books and maps.",)
    assert summary.profile.constraints == (
        "Our budget is at most 2500 euros for the three of us.",
        "My mother can't climb many stairs.",
    )
    assert summary.decisions == ("Let's go with Hotel Borges.",)
    assert summary.open_questions == (
        "assistant: Do your parents have any food allergies that I should keep in mind?",
    )
    assert summary.todos == (
        "I need to ask my sister whether she can feed the cat that week.",
        "Remind me to book the airport transfer next Tuesday.",
    )
    assert "I want to plan a week in Lisbon for my parents and me in early May." in summary.key_facts


@pytest.mark.parametrize(
    ("sentence", "section"),
    [
        ("We decided to move the launch to the second week of June.", "decisions"),
        ("We'll use Postgres for the billing service.", "decisions"),
        ("I'm going with the blue curtains for the kitchen.", "decisions"),
        ("I have to renew my passport before the summer.", "todos"),
        ("Don't forget the invoice for the plumber.", "todos"),
        ("The next step is a call with the landlord.", "todos"),
    ],
)
def test_decisions_and_to_dos(sentence: str, section: str) -> None:
    assert getattr(summarize(("user", sentence)), section) == (sentence,)


@pytest.mark.parametrize(
    ("sentence", "part"),
    [
        ("I really enjoy long walks along the river.", "preferences"),
        ("My favorite composer is Clara Schumann.", "preferences"),
        ("I can’t stand loud restaurants.", "preferences"),
        ("I'm allergic to peanuts and shellfish.", "constraints"),
        ("Sorry, I don't eat gluten.", "constraints"),
        ("The parcel has to be here by Friday.", "constraints"),
    ],
)
def test_preferences_and_constraints_are_the_persons_own_words(sentence: str, part: str) -> None:
    assert getattr(summarize(("user", sentence)).profile, part) != ()
    assert summarize(("assistant", sentence)).profile == UserProfile()


QUESTION = "Which of the two flats has the larger balcony?"


def test_a_question_is_open_until_somebody_answers() -> None:
    assert summarize(("user", QUESTION)).open_questions == (QUESTION,)
    assert summarize(("user", QUESTION), ("user", "I saw both flats.")).open_questions == (QUESTION,)
    answered = summarize(("user", QUESTION), ("assistant", "The one in Mill Lane has the larger balcony."))
    assert answered.open_questions == ()


def test_a_counter_question_is_no_answer() -> None:
    counter = ("assistant", "Which two flats do you have in mind?")
    assert QUESTION in summarize(("user", QUESTION), counter).open_questions
    told = summarize(
        ("user", QUESTION), counter, ("user", "Mill Lane, High Street."), ("assistant", "Mill Lane.")
    )
    assert told.open_questions == ()


def test_an_answer_that_is_put_off_leaves_the_question_open() -> None:
    assert summarize(("user", QUESTION), ("assistant", "Let me check.")).open_questions == (QUESTION,)


def test_two_people_answer_each_other() -> None:
    assert summarize(("ada", QUESTION), ("ben", "Mill Lane has the larger one.")).open_questions == ()


def test_a_request_is_a_to_do_until_somebody_answers() -> None:
    ask = "Please send me the floor plan of the flat in Mill Lane."
    assert summarize(("user", ask)).todos == (ask,)
    assert summarize(("user", ask), ("assistant", "Here is the floor plan of Mill Lane.")).todos == ()


def test_greetings_code_tables_and_system_messages_are_left_out() -> None:
    summary = summarize(
        ("system", "You are a travel assistant and always answer in English."),
        ("user", "Good morning! How are you? Thanks a lot!"),
        ("assistant", "Hello! How can I help you today? Feel free to ask about travel plans."),
        ("user", "```python\nI prefer = 'tabs in this code block'\n```\n| I like | tables of trains |\n"),
    )
    assert lines(summary) == []


def test_any_language_can_become_a_key_fact() -> None:
    summary = summarize(("user", "明天我和家人去北京旅游。你觉得那里的天气怎么样?"))
    assert summary.key_facts == ("明天我和家人去北京旅游。",)
    assert summary.open_questions == ("你觉得那里的天气怎么样?",)


def test_what_is_said_again_is_summarized_once() -> None:
    again = [
        ("user", "I moved to Hamburg in March 2021."),
        ("user", "In March 2021 I moved to Hamburg, you know."),
    ]
    assert len(lines(summarize(*again * 3))) == 1


def test_the_bound_is_kept_and_the_weightiest_stays() -> None:
    small = summarize(*TRIP, limit=60)
    assert 0 < len(lines(small)) < len(lines(summarize(*TRIP)))
    assert summary_tokens(small, count) <= 60
    assert summarize(*TRIP, limit=5) == SessionSummary()


CONTENTS = st.one_of(
    st.text(st.characters(codec="utf-8"), max_size=200),
    st.lists(
        st.sampled_from(
            [content for _, content in TRIP]
            + [
                "Yes, ",
                "I like tea",
                "```",
                "|",
                "\n- ",
                " ",
                "?",
                "! ",
                "...",
                "🙂 ",
                "Please call Ann.",
                "\r\n",
            ]
        ),
        max_size=8,
    ).map("".join),
)


@settings(max_examples=60, deadline=None)
@given(
    said=st.lists(st.tuples(st.sampled_from([*Role]), CONTENTS), max_size=8),
    limit=st.integers(0, 300),
)
def test_lines_are_substrings_without_repetition_and_within_the_bound(said: list[Said], limit: int) -> None:
    summary = summarize(*said, limit=limit)
    found = lines(summary)
    parts = [
        part.removeprefix("assistant: ").removeprefix("tool: ").removeprefix("system: ")
        for line in found
        for part in line.removesuffix("…").split(" – ")
    ]
    assert all(any(part in content for _, content in said) for part in parts)
    assert len({line.casefold() for line in found}) == len(found)
    assert not found or summary_tokens(summary, count) <= limit
    assert summarize(*said, limit=limit) == summary


def test_a_roll_up_keeps_lines_in_their_lists_and_says_nothing_twice() -> None:
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


def test_a_roll_up_is_bounded_and_prefers_recent_questions() -> None:
    summaries = [
        SessionSummary(
            key_facts=(f"We visited town number {i} on day {i}.",),
            open_questions=(f"Who is guest {i} at dinner?",),
        )
        for i in range(12)
    ]
    merged = roll_up(summaries, 120, count)
    assert summary_tokens(merged, count) <= 120
    assert merged.open_questions[-1] == "Who is guest 11 at dinner?"
    assert set(lines(merged)) <= {line for summary in summaries for line in lines(summary)}


def test_no_summaries_roll_up_into_an_empty_one() -> None:
    assert roll_up((), AMPLE, count) == SessionSummary()


@pytest.mark.parametrize(
    "answer",
    [
        "",
        "not json",
        "[1, 2]",
        '{"key_facts": [',
        "null",
        None,
        7,
        [],
        b"\xff",
        {"key_facts": 7},
        {"profile": []},
    ],
)
def test_an_invalid_answer_is_an_empty_summary(answer: object) -> None:
    assert validate_summary(answer) == SessionSummary()


def test_an_answer_in_prose_is_read_from_its_first_brace_to_its_last() -> None:
    answer = (
        'Here: {"open_questions": ["When?"], "profile": {"preferences": ["Tea."], "constraints": ["No nuts."]},'
        ' "todos": ["Book."]}; that is all.'
    )
    assert validate_summary(answer) == SessionSummary(
        profile=UserProfile(preferences=("Tea.",), constraints=("No nuts.",)),
        open_questions=("When?",),
        todos=("Book.",),
    )


def test_half_a_character_is_replaced() -> None:
    """A decoded answer may hold one, and no record can."""
    assert validate_summary({"key_facts": ["Likes \ud83d tea."]}).key_facts == ("Likes \ufffd tea.",)
    assert validate_summary('{"key_facts": ["Likes \ud83d tea."]}').key_facts == ("Likes \ufffd tea.",)


def test_null_lists_become_empty() -> None:
    answer = '{"profile": null, "key_facts": null, "decisions": ["Go."], "open_questions": null, "todos": []}'
    assert validate_summary(answer) == SessionSummary(decisions=("Go.",))
    assert validate_summary({"profile": {"preferences": None, "constraints": ["No nuts."]}}) == SessionSummary(
        profile=UserProfile(constraints=("No nuts.",))
    )


def test_answers_are_tidied() -> None:
    fenced = (
        'Here you are:\n```json\n{"key_facts": [" A. ", "", null, 3, "A.", "B."], "todos": "Call Ann."}\n```'
    )
    assert validate_summary(fenced) == SessionSummary(key_facts=("A.", "B."), todos=("Call Ann.",))
    assert validate_summary(fenced.encode()) == validate_summary(fenced)


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
    summary = validate_summary(answer)
    assert msgspec.json.decode(msgspec.json.encode(summary), type=SessionSummary) == summary


def test_a_summary_costs_its_json_text_without_empty_lists() -> None:
    summary = SessionSummary(
        profile=UserProfile(constraints=("No nuts.",)), decisions=("Let's go with Hotel Borges.",)
    )
    text = '{"profile":{"constraints":["No nuts."]},"decisions":["Let\'s go with Hotel Borges."]}'
    assert context_text(summary) == text
    assert summary_tokens(summary, count) == count(text)
    assert context_text(SessionSummary()) == ""


def test_the_record_answers_its_request() -> None:
    asked = request(TRIP, previous=(SessionSummary(), SessionSummary()))
    summary = SessionSummary(key_facts=("We fly to Lisbon on May 3.",))
    record = build_summary(asked, summary, count, "builtin-extractive-1")
    assert record.summary_id == "request", "the id of the request that it answers"
    assert (record.request_id, record.from_index, record.to_index) == ("request", 0, 9)
    assert (record.conversation_id, record.user_id, record.tenant_id) == ("conversation", "ada", "acme")
    assert (record.summary, record.tokens) == (summary, summary_tokens(summary, count))
    assert (record.source, record.replaces) == (asked.source, ("s0", "s1"))
    assert (record.summarizer, record.created_at) == ("builtin-extractive-1", NOW)


async def test_the_builtin_summarizer_compresses_as_the_seed_does() -> None:
    """1,220 tokens become about 80: 93 to 95 % less."""
    summarizer: Summarizer = BuiltinSummarizer(count)
    summary = (await summarizer.summarize(request(TRIP, tokens=1220))).summary
    assert 61 <= summary_tokens(summary, count) <= 85
    assert summary.decisions == ("Let's go with Hotel Borges.",)


@pytest.mark.parametrize("tokens", [0, 100, 1220, 50_000])
async def test_the_builtin_summarizer_is_bounded(tokens: int) -> None:
    summary = (await BuiltinSummarizer(count).summarize(request(TRIP * 3, tokens=tokens))).summary
    assert summary_tokens(summary, count) <= max(SMALLEST, min(LARGEST, tokens * 0.07))


async def test_the_builtin_summarizer_rolls_up() -> None:
    previous = tuple(SessionSummary(key_facts=(f"Town {i} has {i} wells.",)) for i in range(20))
    tokens = sum(summary_tokens(summary, count) for summary in previous)
    summary = (await BuiltinSummarizer(count).summarize(request(tokens=tokens, previous=previous))).summary
    assert 0 < len(summary.key_facts) < 20
    assert summary_tokens(summary, count) <= LARGEST


@pytest.mark.parametrize(
    "sentence",
    [
        "Labelling the jars is crucial for a tidy pantry.",
        "Watering the seedlings early can help you avoid mildew.",
        "To make sure that the lid closes even when the jar stands upside down in the cellar over a whole "
        "long winter full of frost you ought to turn the ring twice.",
    ],
)
def test_what_an_assistant_says_is_good_for_everybody_is_not_told(sentence: str) -> None:
    said = summarize(("user", "My pantry shelf holds forty jars."), ("assistant", sentence))
    assert lines(said) == ["My pantry shelf holds forty jars."]


def test_a_worry_is_no_decision_because_something_was_agreed() -> None:
    said = summarize(("user", "I'm worried that I agreed to paint the whole fence by Sunday."))
    assert said.decisions == ()
    assert lines(said) == ["I'm worried that I agreed to paint the whole fence by Sunday."]


def test_an_answer_that_cannot_be_told_leaves_nothing_behind_its_question() -> None:
    answer = "If the " + "very old and heavy gate " * 8 + "sticks turn it."
    assert not any(
        line.rstrip().endswith(("–", ":"))
        for line in lines(summarize(("user", "Which gate sticks?"), ("assistant", answer)))
    )
