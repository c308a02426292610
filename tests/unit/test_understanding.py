"""What a question refers to, whom it names, and which questions are asked back."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.understanding import Reason
from processors.retrieval.recall.strangers import stranger
from processors.retrieval.understanding.reading import understand

ANNA = ["My sister Anna is vegan.", "How is she?", "Very well, thank you."]
MARIE = [
    "Tell me about Marie Curie.",
    "Marie Curie was a physicist. With her husband Pierre she discovered polonium, as Henri Becquerel hoped.",
]

#: What is asked, after what, with what remembered.
PLAIN: list[tuple[str, list[str], list[str]]] = [
    *(
        (question, [], [])
        for question in (
            "What is the capital of France?",
            "How does a teacher know that her students understand it?",
            "My boss hates mornings. When should I call him?",
            "Remind her to call me.",
            "Translate this: where is she?",
            "Was ist die Hauptstadt von Frankreich?",
        )
    ),
    ("How long does it take?", ["Mix the flour, the eggs and a pinch of salt, then bake."], []),
    ("what does she do again?", ["had lunch with priya, she is great"], []),
]

RESOLVED: list[tuple[str, list[str], list[str], str]] = [
    ("What should she eat?", ANNA, [], "What should Anna eat?"),
    ("What is her job?", ["My wife is away."], [], "What is your wife's job?"),
    ("How do I get there?", ["I will be in Lisbon in May."], [], "How do I get to Lisbon?"),
    ("Is it heavy?", ["I bought a laptop yesterday."], [], "Is the laptop heavy?"),
    ("What does she eat?", [], ["My sister Anna is vegan"], "What does Anna eat?"),
    ("Wann kommt er?", ["Mein Bruder besucht mich."], [], "Wann kommt dein Bruder?"),
    ("Qu'est-ce qu'elle mange ?", ["Ma sœur Camille est végane."], [], "Qu'est-ce que Camille mange ?"),
]

ASKED_BACK: list[tuple[str, list[str], list[str], list[str]]] = [
    ("What does she want?", [], [], []),
    ("When is the concert?", [], [], []),
    ("Wann ist das Konzert?", [], [], []),
    ("Is it heavy?", ["I bought a laptop and a bag."], [], ["Is the bag heavy?", "Is the laptop heavy?"]),
    (
        "What does she eat?",
        [],
        ["My sister Anna is vegan", "My aunt Ruth loves fish"],
        ["What does Anna eat?", "What does Ruth eat?"],
    ),
]


@pytest.mark.parametrize(("question", "turns", "memory"), PLAIN, ids=[each[0] for each in PLAIN])
def test_what_is_plain_is_not_asked_back(question: str, turns: list[str], memory: list[str]) -> None:
    found = understand(question, turns, memory)
    assert (found.is_ambiguous, found.rewritten_query, found.score) == (False, None, 0.0)


@pytest.mark.parametrize(("question", "turns", "memory", "meant"), RESOLVED)
def test_one_antecedent_is_put_in_place(question: str, turns: list[str], memory: list[str], meant: str) -> None:
    found = understand(question, turns, memory)
    assert (found.is_ambiguous, found.rewritten_query) == (False, meant)
    assert found.final_augmented_context == "\n".join([meant, *(f"Known: {each}" for each in memory)])


@pytest.mark.parametrize(("question", "turns", "memory", "readings"), ASKED_BACK)
def test_none_or_two_antecedents_are_asked_back(
    question: str, turns: list[str], memory: list[str], readings: list[str]
) -> None:
    found = understand(question, turns, memory)
    assert found.reasons == (Reason.REFERENCE,) and found.rewritten_query is None
    if readings:
        assert list(found.possible_interpretations) == readings


def test_a_name_that_memory_knows_is_resolved_by_it() -> None:
    said = "I'm adopting one from work. His name is Biscuit"
    found = understand("Who is Biscuit?", [], ["I like tea", said], ["1 Mar 2026", "2 Mar 2026"])
    assert not found.is_ambiguous and found.rewritten_query is None
    meaning = f"{said} (2 Mar 2026)"
    assert [(each.words, each.meanings) for each in found.references] == [("Biscuit", (meaning,))]


@given(
    st.text(max_size=200),
    st.lists(st.text(max_size=80), max_size=3),
    st.lists(st.text(max_size=80), max_size=3),
)
def test_any_text_is_understood(query: str, turns: list[str], memory: list[str]) -> None:
    found = understand(query, turns, memory)
    assert found.is_ambiguous == bool(found.reasons)
    counts = (len(found.possible_interpretations), len(found.clarifying_questions))
    assert (2 <= counts[0] <= 3 and 2 <= counts[1] <= 4) if found.is_ambiguous else counts == (0, 0)


@pytest.mark.parametrize(
    ("query", "begins"),
    [("Tell me about him.", "Who"), ("Was macht er jetzt?", "Wer"), ("¿Dónde vive ella?", "¿Quién")],
)
def test_it_asks_back_in_the_language_of_the_question(query: str, begins: str) -> None:
    found = understand(query, [], [])
    assert found.clarifying_questions[0].startswith(begins)


KNOWN = ["I live in Porto.", "My sister Lea has a dog called Bruno."]


@pytest.mark.parametrize(
    ("query", "name"),
    [
        ("Where does Pia live?", "Pia"),
        ("What is Pia's job?", "Pia"),
        ("Wogegen ist Torvald allergisch?", "Torvald"),
        ("Where does Lea live?", ""),
        ("Where does my brother live?", ""),
        ("What did Mom say?", ""),
    ],
)
def test_a_name_that_nothing_tells_of_is_a_stranger(query: str, name: str) -> None:
    assert stranger(query, KNOWN) == name
