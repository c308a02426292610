"""The built-in extractor: quotations of what a careful note-taker would keep."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
import samples

from benchmarks.notebook.labels import HERE, people, window_of
from models.messages import Role
from models.statements import Kind, Polarity, Statement
from models.windows import Window
from processors.extraction.affirmations import affirmed_or_denied
from processors.extraction.slots import slots_of
from processors.facts.candidates import objection
from streams.llm.builtin_extractor import BuiltinExtractor
from streams.llm.onnx_reader import OnnxReader

BEGAN = datetime(2026, 3, 2, 9, tzinfo=UTC)


@pytest.fixture(scope="module")
def extractor() -> BuiltinExtractor:
    return BuiltinExtractor(OnnxReader())


def window(*turns: str, overlap: int = 0) -> Window:
    """Return a window; a turn that begins with ``A:`` is the assistant's."""
    messages = [
        samples.window_message(
            index,
            turn.removeprefix("A: "),
            at=BEGAN + timedelta(minutes=index),
            role=Role.ASSISTANT if turn.startswith("A:") else Role.USER,
        )
        for index, turn in enumerate(turns)
    ]
    return samples.window(messages, overlap=overlap)


async def kept(extractor: BuiltinExtractor, *turns: str, overlap: int = 0) -> tuple[Statement, ...]:
    read = window(*turns, overlap=overlap)
    (found,) = await extractor.extract([read])
    assert [objection(each, read) for each in found.statements] == [None] * len(found.statements)
    return found.statements


async def test_a_statement_is_the_persons_own_sentence(extractor: BuiltinExtractor) -> None:
    (found,) = await kept(extractor, "ok go on. Penicillin makes me come out in a rash, never give me that.")
    assert "Penicillin makes me come out in a rash" in found.statement
    assert found.importance == 3
    assert found.why


async def test_a_short_answer_stands_behind_its_question(extractor: BuiltinExtractor) -> None:
    (found,) = await kept(
        extractor, "book me a table", "A: Sure. Any allergies I should mention?", "Shellfish."
    )
    assert found.statement == "Any allergies I should mention? – Shellfish."
    assert found.quote == "Shellfish."
    assert (found.attribute, found.value) == ("allergy", "Shellfish")
    assert found.source_message_ids == ("m2",)


async def test_small_talk_and_plain_questions_are_not_kept(extractor: BuiltinExtractor) -> None:
    turns = ("hi!", "haha ok thanks", "What is the capital of France?", "how long do eggs take", "lol true")
    assert await kept(extractor, *turns) == ()


async def test_messages_of_the_overlap_are_not_read_again(extractor: BuiltinExtractor) -> None:
    turns = ("My daughter Mia starts school in September.", "A: How nice!", "ok")
    assert await kept(extractor, *turns)
    assert await kept(extractor, *turns, overlap=1) == ()


async def test_a_kept_sentence_fills_its_slot(extractor: BuiltinExtractor) -> None:
    (found,) = await kept(extractor, "We moved to Munich in January for my husband's job.")
    assert (found.attribute, found.value, found.kind) == ("home", "Munich", Kind.STATE)
    assert found.since == datetime(2026, 1, 1, tzinfo=UTC)


async def test_a_negation_is_kept_as_what_holds(extractor: BuiltinExtractor) -> None:
    (found,) = await kept(extractor, "I'm not vegetarian any more, by the way.")
    assert (found.attribute, found.polarity) == ("diet", Polarity.NEGATED)


@pytest.mark.parametrize(
    ("said", "home"),
    [
        ("I live in Lyon. Sorry, I meant Lille.", "Lille"),
        ("I live in Lyon. No wait, I mean Lille!", "Lille"),
        ("I live in Lyon. I meant to write to you.", "Lyon"),
    ],
)
async def test_a_correction_replaces_what_was_just_said(
    extractor: BuiltinExtractor, said: str, home: str
) -> None:
    found = await kept(extractor, said)
    assert [each.value for each in found if each.attribute == "home"] == [home]


async def test_other_languages_are_kept(extractor: BuiltinExtractor) -> None:
    found = await kept(extractor, "Meine Tochter Lena ist gegen Erdnüsse allergisch.")
    assert [each.statement for each in found] == ["Meine Tochter Lena ist gegen Erdnüsse allergisch."]


async def test_the_words_of_others_are_not_kept(extractor: BuiltinExtractor) -> None:
    assert await kept(extractor, "Translate into German: I am allergic to eggs and live in Boston.") == ()


async def test_notebook_people_are_remembered(extractor: BuiltinExtractor) -> None:
    """The short form of the Notebook: two people that no weight was fitted to."""
    found = facts = noise = of = 0
    for person in people(HERE / "dev")[:2]:
        statements: list[Statement] = []
        for each in await extractor.extract([window_of(person, session) for session in person["sessions"]]):
            statements += each.statements
        facts += len(statements)
        noise += sum(set(each.source_message_ids) <= set(person["not_notes"]) for each in statements)
        for note in person["notes"]:
            if note["ends"] or note["importance"] < 3:
                continue
            of += 1
            found += any(
                set(each.source_message_ids) & set(note["evidence"])
                and all(
                    any(term.lower() in each.statement.lower() for term in terms) for terms in note["terms"]
                )
                for each in statements
            )
    assert found / of >= 0.8
    assert noise / facts <= 0.15


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("I like jazz.", "I don't like jazz any more."),
        ("I bought a car.", "I sold my car."),
    ],
)
def test_a_denial_fills_the_slot_of_what_it_denies(before: str, after: str) -> None:
    (affirmed,), (denied,) = affirmed_or_denied(before), affirmed_or_denied(after)
    assert (affirmed.attribute, affirmed.value) == (denied.attribute, denied.value)
    assert (affirmed.polarity, denied.polarity) == (Polarity.AFFIRMED, Polarity.NEGATED)


@pytest.mark.parametrize("text", ["I love it", "I have a question.", "I like to walk.", "Do I like tea?"])
def test_other_sentences_fill_no_slot(text: str) -> None:
    assert affirmed_or_denied(text) == []


SAID_AT = datetime(2026, 3, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "partner"),
    [
        ("My girlfriend is called Mia.", "Mia"),
        ("my lovely wife's name is Mia Holt", "Mia Holt"),
        ("I have a new boyfriend called Karim.", "Karim"),
        ("My wife called Mia yesterday.", None),
        ("My ex girlfriend is called Mia.", None),
        ("My business partner is called Sam.", None),
        ("My brother's wife is called Ann.", None),
        ("My wife Kamala makes idli.", None),
        ("My daughter is called Ida.", None),
    ],
)
def test_the_partner_is_who_the_person_names_as_theirs(text: str, partner: str | None) -> None:
    named = [each.value for each in slots_of(text, SAID_AT) if each.attribute == "partner"]
    assert named == ([partner] if partner else [])


@pytest.mark.parametrize(
    ("text", "attribute"),
    [("My wife is called Mia.", "partner"), ("I'm married to Eve.", "relationship")],
)
def test_a_sentence_about_a_partner_fills_one_slot(text: str, attribute: str) -> None:
    """Two slots would be two facts, and "I'm single" ends with a marriage, not with a name."""
    assert [each.attribute for each in slots_of(text, SAID_AT)] == [attribute]
