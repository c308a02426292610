"""What a question refers to, and which questions are asked back."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.understanding import Reason
from processors.understanding.reading import understand

ANNA = ["My sister Anna is vegan.", "How is she?", "Very well, thank you."]
TWO = ["My sister Anna met her friend Julia in Leeds."]
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
            "Who wrote Hamlet?",
            "Why do cats purr when they are happy?",
            "How do they make glass?",
            "What does a king do when he dies?",
            "Before she died, what did Marie Curie find?",
            "Is it raining in Oslo?",
            "What time is it?",
            "How many planets are there?",
            "Is there a bus at nine?",
            "Who is the president?",
            "When was the car invented?",
            "What should I wear to the wedding?",
            "Is it safe to eat raw eggs?",
            "How does a teacher know that her students understand it?",
            "What's the difference between affect and effect?",
            "What is my dog called?",
            "Who is Zorblax?",
            "Who won the cup?",
            "Anna called: what does she want?",
            "My boss hates mornings. When should I call him?",
            "met priya for lunch. what does she do again?",
            "Remind her to call me.",
            "Make it better.",
            "Find me a doctor near my home",
            "Book a table there for two.",
            "Translate this: where is she?",
            "Thanks, that helps!",
            "Thank you, she will love it.",
            "She said no.",
            "I don't know where he is.",
            "I need to find out who will leave",
            "Hello there!",
            "🙂",
            "123 456",
            "Was ist die Hauptstadt von Frankreich?",
            "Wie spät ist es?",
            "Können Sie mir helfen?",
            "¿Cuál es la capital de Francia?",
            "¿Qué hora es?",
            "Quelle heure est-il ?",
            "Pourquoi le ciel est-il bleu ?",
            "Est-ce qu'il pleut à Paris ?",
        )
    ),
    ("Why?", ["You should sleep more."], []),
    ("What does that mean?", ["The loan is amortized."], []),
    ("How long does it take?", ["Mix the flour, the eggs and a pinch of salt, then bake."], []),
    ("And when are they open?", ["The shops in the old town are lovely."], []),
    ("How do they make cheese?", [], ["My parents love cheese"]),
    ("what does she do again?", ["had lunch with priya, she is great"], []),
]

RESOLVED: list[tuple[str, list[str], list[str], str]] = [
    ("What should she eat?", ANNA, [], "What should Anna eat?"),
    ("What should she eat?", ["Anna is coming on Friday."], [], "What should Anna eat?"),
    ("What is her job?", ["My wife is away."], [], "What is your wife's job?"),
    ("What does she want for her birthday?", ANNA, [], "What does Anna want for her birthday?"),
    ("Did you see her?", ["My boss is ill."], [], "Did you see your boss?"),
    ("Does his brother know?", ["my husband Tom called."], [], "Does Tom's brother know?"),
    ("What does she want?", ["My wife saw Tom."], [], "What does your wife want?"),
    ("What does he paint?", ["My brother Ben sings.", "My uncle Karl paints."], [], "What does Karl paint?"),
    ("When did she die?", MARIE, [], "When did Marie Curie die?"),
    ("Tell me more about him.", ["I talked to Noah."], [], "Tell me more about Noah."),
    ("How do I get there?", ["I will be in Lisbon in May."], [], "How do I get to Lisbon?"),
    (
        "What's the weather like there?",
        ["I fly from Berlin to Lisbon."],
        [],
        "What's the weather like in Lisbon?",
    ),
    ("Is it heavy?", ["I bought a laptop yesterday."], [], "Is the laptop heavy?"),
    ("When do they come?", ["My parents will visit."], [], "When do your parents come?"),
    ("What does she eat?", [], ["My sister Anna is vegan"], "What does Anna eat?"),
    ("What's the weather like there?", [], ["I live in Munich"], "What's the weather like in Munich?"),
    ("When is the concert?", [], ["My choir concert is on 3 June"], "When is the choir concert?"),
    ("Was isst sie?", ["Meine Schwester Anna ist vegan."], [], "Was isst Anna?"),
    ("Wann kommt er?", ["Mein Bruder besucht mich."], [], "Wann kommt dein Bruder?"),
    ("¿Qué come ella?", ["Mi hermana Lucía es vegana."], [], "¿Qué come Lucía?"),
    ("Qu'est-ce qu'elle mange ?", ["Ma sœur Camille est végane."], [], "Qu'est-ce que Camille mange ?"),
]

ASKED_BACK: list[tuple[str, list[str], list[str], list[str]]] = [
    ("What does she want?", [], [], []),
    ("What does she want?", ["I bought a laptop."], ["I live in Munich"], []),
    ("Tell me about him.", [], [], []),
    ("What does she eat?", [], ["Lives in Munich"], []),
    ("Who lives there?", [], [], []),
    ("How much does it cost?", [], [], []),
    ("How much is that one?", [], [], []),
    ("When are they coming?", [], [], []),
    ("When is the concert?", [], [], []),
    ("Was macht er jetzt?", [], [], []),
    ("Wann ist das Konzert?", [], [], []),
    ("¿Dónde vive ella?", [], [], []),
    ("Où est-ce qu'elle habite ?", [], [], []),
    ("What is her job?", TWO, [], ["What is Julia's job?", "What is Anna's job?"]),
    ("Is it heavy?", ["I bought a laptop and a bag."], [], ["Is the bag heavy?", "Is the laptop heavy?"]),
    (
        "Is it cheap there?",
        ["I'll be in Lisbon and Porto."],
        [],
        ["Is it cheap in Porto?", "Is it cheap in Lisbon?"],
    ),
    (
        "What does she eat?",
        [],
        ["My sister Anna is vegan", "My aunt Ruth loves fish"],
        ["What does Anna eat?", "What does Ruth eat?"],
    ),
    (
        "When is the concert?",
        [],
        ["My choir concert is on 3 June", "I have tickets for the Radiohead concert"],
        ["When is the choir concert?", "When is the Radiohead concert?"],
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
    found = understand("Who is Biscuit?", [], ["I like tea", said])
    assert not found.is_ambiguous and found.rewritten_query is None
    assert [(each.words, each.meanings) for each in found.references] == [("Biscuit", (said,))]


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
