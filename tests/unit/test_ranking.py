"""Ranking what may answer a question, and reading the question."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from models.messages import Role
from processors.retrieval.recall.dating import period_of
from processors.retrieval.recall.features import FEATURES, Candidate, features
from processors.retrieval.recall.question import InvalidQuestion, cleaned, read, words_of
from processors.retrieval.recall.ranking import SOURCE, rank


def turn(text: str, index: int = 0, cosine: float | None = 0.5, **more: object) -> Candidate:
    fields = {"role": Role.USER, "conversation_id": "c-1"} | more
    return Candidate(text=text, index=index, cosine=cosine, **fields)  # type: ignore[arg-type]


def note(text: str, importance: int = 2, cosine: float = 0.5, **more: object) -> Candidate:
    fields = {"role": Role.USER, "importance": importance} | more
    return Candidate(text=text, cosine=cosine, **fields)  # type: ignore[arg-type]


def values(query: str, *candidates: Candidate, name: str) -> list[float]:
    speakers = {each.speaker for each in candidates} - {""}
    seen = features(read(query, speakers), candidates)
    found: list[float] = seen.values[:, [*FEATURES].index(name)].tolist()
    return found


@pytest.mark.parametrize(
    ("query", "text", "asked", "role"),
    [
        ("What does Mara like?", "What does like?", "Mara Voss", None),
        ("what does mara's boat cost", "what does boat cost", "Mara Voss", None),
        ("What did I order?", "What did I order?", "", Role.USER),
        ("Do Mara and Will swim?", "Do and swim?", "", None),
        ("what will it cost?", "what will it cost?", "", Role.USER),
        ("Mara", "Mara", "Mara Voss", None),
    ],
)
def test_a_question_is_read(query: str, text: str, asked: str, role: Role | None) -> None:
    found = read(query, ["Mara Voss", "Will"])
    assert (found.query, found.text, found.asked, found.role) == (query, text, asked, role)


@pytest.mark.parametrize(
    ("query", "text"),
    [
        (
            "Can you list the order in which I brought up different aspects of the herb garden throughout our "
            "conversations, in order? Mention ONLY and ONLY five items.",
            "the herb garden?",
        ),
        ("What price did I mention for the oak table?", "What price for the oak table?"),
        ("Do you have any tips for sharp knives?", "sharp knives?"),
        ("Can you summarize our conversations?", "Can you summarize our conversations?"),
        ("Is there a quiet beach around here?", "Is there a quiet beach?"),
        ("Can you swim?", "Can you swim?"),
    ],
)
def test_a_question_is_compared_without_the_words_that_only_ask(query: str, text: str) -> None:
    assert read(query).text == text


def test_a_name_that_two_share_prefers_neither() -> None:
    assert read("Where does Kim work?", ["Kim Ode", "Kim Lund"]).asked == ""


@pytest.mark.parametrize(
    ("name", "query"),
    [("Ali", "ALİ ne dedi?"), ("İlker", "İlker ne dedi?"), ("Strauß", "WAS TRINKT STRAUSS GERN?")],
)
def test_a_name_is_known_however_its_letters_are_written(name: str, query: str) -> None:
    assert read(query, [name]).asked == name


@pytest.mark.parametrize("query", ["", " \n", "\x00\x1b\x7f", "\ud800", "é" * 4001])
def test_what_is_no_question(query: str) -> None:
    with pytest.raises(InvalidQuestion, match="the query"):
        cleaned(query)


@pytest.mark.parametrize(
    ("text", "question"), [("I walk.\n\nDo you?", 0.5), ("Do you walk?\n\n", 1.0), ("I walk.", 0.0)]
)
def test_questions_are_distinguished_from_statements_that_ask(text: str, question: float) -> None:
    assert values("bikes", turn(text), name="question") == [question]


def test_the_longest_turn_is_read_in_linear_time() -> None:
    """A pattern that begins anew at each place takes minutes, and nothing else runs in the meantime."""
    for text in ("why?" + "\n" * 400_000, "always " * 70_000):
        assert features(read("bikes"), [turn(text)])


def test_a_turn_that_a_better_fact_quotes_stands_behind() -> None:
    said = turn("I am allergic to nuts.", 4, 0.6, message_ids=("m-4",))
    other = turn("I bought tea.", 5, 0.1, message_ids=("m-5",))
    fact = note("I am allergic to nuts.", 3, 0.7, message_ids=("m-4",))
    found = rank(read("What am I allergic to?"), [said, other, fact])
    assert [each.position for each in found] == [2, 1, 0]
    assert found[-1].parts[SOURCE] < 0


@pytest.mark.parametrize(
    ("query", "role"),
    [
        ("How did you suggest sorting my photos?", None),
        ("What was your advice on the fence?", None),
        ("What did I say about the fence?", Role.USER),
    ],
)
def test_what_the_assistant_said_is_not_asked_of_the_person(query: str, role: Role | None) -> None:
    assert read(query).role is role


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("緑茶", ("緑", "茶", "緑茶")),
        ("猫が好き", ("猫", "が", "好", "き", "猫が", "が好", "好き")),
        ("我养了2只cats。", ("我", "养", "了", "我养", "养了", "2", "只", "cat")),
        ("зелёный чай", ("зелёный", "чай")),
    ],
)
def test_where_words_are_not_parted_letters_and_pairs_are(text: str, words: tuple[str, ...]) -> None:
    assert words_of(text) == words


def test_nothing_answers() -> None:
    far = [turn(f"black coffee {index}", index, 0.15) for index in range(24)]
    assert rank(read("violin repairs"), far) == []
    assert rank(read("violin repairs"), []) == []
    assert rank(read("violin repairs"), [turn("coffee", cosine=0.09)]) == []
    assert rank(read("violin repairs"), far[:3]) == []
    assert rank(read("What do I play?"), [turn("I mended fiddles", 0, 0.4), *far[:2]])
    assert rank(read("violin repairs"), [*far, turn("violin repair", 60, None)])
    assert rank(read("violin repairs"), [*far, turn("I mended fiddles", 60, 0.6)])


SAID = {
    "en": ("My cat is ill.", "My brother loves football.", "I am allergic to peanuts."),
    "de": ("Meine Katze ist krank.", "Mein Bruder liebt Fußball.", "Ich bin gegen Erdnüsse allergisch."),
    "fr": ("Mon chat est malade.", "Mon frère adore le foot.", "Je suis allergique aux arachides."),
}


@pytest.mark.parametrize(
    ("language", "asked", "unasked"),
    [
        ("en", "What am I allergic to?", ("asdfgh", "bicycle")),
        ("de", "Wogegen bin ich allergisch?", ("jklö", "Fahrrad")),
        ("fr", "À quoi suis-je allergique ?", ("qsdfgh", "vélo")),
    ],
)
@pytest.mark.parametrize("count", [3, 60])
def test_unsaid_words_find_nothing(language: str, asked: str, unasked: tuple[str, str], count: int) -> None:
    far = [turn(SAID[language][at % 3], at, 0.2) for at in range(count)]
    assert [rank(read(query), far) for query in unasked] == [[], []]
    assert rank(read(asked), [*far, turn(SAID[language][2], count, 0.5)])


@pytest.mark.parametrize("query", ["the", "what is it", "is it the?", "???", "was ist das", "la"])
def test_a_question_without_content_finds_nothing(query: str) -> None:
    assert rank(read(query), [turn("We went to the seaside. What is it?", 0, 0.9)]) == []


@pytest.mark.parametrize("query", ["How old am I?", "Who am I?", "What do I like?", "Wo bin ich?"])
def test_a_short_question_with_content_is_answered(query: str) -> None:
    assert rank(read(query), [turn("I am Ada, 31, from Leeds, and I like tea.", 0, 0.9)])


@pytest.mark.parametrize(
    ("query", "period"),
    [("What did I eat in March?", True), ("Was hab ich im März gegessen?", True), ("Tea?", False)],
)
def test_sayings_before_a_named_time_s_end_come_first(query: str, period: bool) -> None:
    now = datetime(2026, 9, 1, tzinfo=UTC)
    asked = read(query, period=period_of(query, now))
    moments = [datetime(2026, month, 20, tzinfo=UTC).timestamp() for month in (8, 1)]
    after, before = (turn("I eat no meat", at, said_at=moment) for at, moment in enumerate(moments))
    assert (asked.period is not None) is period
    assert rank(asked, [after, before])[0].position == int(period)


def test_without_any_cosine_words_decide() -> None:
    found = rank(read("green tea"), [turn("coffee", cosine=None), turn("green tea", cosine=None)])
    assert found[0].position == 1
    assert rank(read("green tea"), [turn("coffee", cosine=None)]) == []
