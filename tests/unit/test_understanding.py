"""What a question means: open or clear, and what it refers to."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.understanding import Reason
from processors.understanding.clarity import HEADS, WHETHER, Clarity, built_in
from processors.understanding.features import MEASURES, PLACES, WORD_PLACES, measures, places, word_places
from processors.understanding.reading import understand
from processors.understanding.references import references
from processors.understanding.word_kinds import kind_of


def clarity(**bias: float) -> Clarity:
    """A model that says of every question what is given here, as log-odds."""
    return Clarity(
        {
            "frame": np.zeros((len(HEADS), PLACES), np.float32),
            "words": np.zeros((len(HEADS), WORD_PLACES), np.float32),
            "measures": np.zeros((len(HEADS), len(MEASURES)), np.float32),
            "bias": np.array([bias.get(head, 0.0) for head in HEADS], np.float32),
            "mean": np.zeros(len(MEASURES), np.float32),
            "deviation": np.ones(len(MEASURES), np.float32),
        }
    )


CLEAR = clarity(**{WHETHER: -9.0})


class TestReferences:
    @pytest.mark.parametrize(
        ("question", "said", "meant"),
        [
            ("What should she eat?", "My sister Anna is vegan.", "What should Anna eat?"),
            ("What is her job?", "My wife is away.", "What is your wife's job?"),
            ("Did you see her?", "My boss is ill.", "Did you see your boss?"),
            ("Does his brother know?", "my husband Tom called.", "Does Tom's brother know?"),
            ("How do I get there?", "I will be in Lisbon in May.", "How do I get to Lisbon?"),
            ("What is good there?", "I will be in Lisbon in May.", "What is good in Lisbon?"),
            ("Is it heavy?", "I bought a laptop yesterday.", "Is the laptop heavy?"),
            ("When do they come?", "My parents will visit.", "When do your parents come?"),
        ],
    )
    def test_one_that_was_spoken_of(self, question: str, said: str, meant: str) -> None:
        found = understand(question, [said, "Good to know."], [], CLEAR)
        assert (found.rewritten_query, found.is_ambiguous) == (meant, False)
        assert found.final_augmented_context == meant

    def test_two_of_a_kind_are_asked_about(self) -> None:
        found = understand("What is her job?", ["My sister Anna met her friend Julia in Leeds."], [], CLEAR)
        assert found.reasons == (Reason.REFERENCE,)
        assert set(found.possible_interpretations) == {"What is Anna's job?", "What is Julia's job?"}
        assert "Julia or Anna" in found.clarifying_questions[0]
        assert found.rewritten_query is None

    def test_nobody_was_spoken_of(self) -> None:
        found = understand("What does she want?", [], [], CLEAR)
        assert found.is_ambiguous
        assert 2 <= len(found.possible_interpretations) <= 3
        assert 2 <= len(found.clarifying_questions) <= 4

    def test_the_latest_turn_decides(self) -> None:
        said = ["My brother Ben sings.", "My uncle Karl paints."]
        assert understand("What does he paint?", said, [], CLEAR).rewritten_query == "What does Karl paint?"

    @pytest.mark.parametrize(
        "question",
        ["Is it raining?", "What time is it?", "Is there a bus at nine?", "Anna called: what does she want?"],
    )
    def test_words_that_refer_to_nothing_before(self, question: str) -> None:
        assert references(question, ["I bought a laptop in Leeds with my sister."]) == []


class TestReading:
    def test_an_open_question_gets_readings_and_questions(self) -> None:
        found = understand("Who won the cup?", [], [], clarity(whether=2.0, when=1.0))
        assert found.reasons == (Reason.WHEN,)
        assert len(found.possible_interpretations) == 2
        assert len(found.clarifying_questions) == 2
        assert found.score > 0.8

    def test_what_memory_answers_is_not_asked_back(self) -> None:
        open_question = clarity(whether=2.0, where=1.0)
        assert understand("Find me a doctor near my home", [], [], open_question).is_ambiguous
        found = understand("Find me a doctor near my home", [], ["Lives in Munich"], open_question)
        assert not found.is_ambiguous
        assert found.needed_context_from_memory == ("Lives in Munich",)
        assert found.final_augmented_context == "Find me a doctor near my home\nKnown: Lives in Munich"

    @pytest.mark.parametrize(
        "question", ["Where do I live?", "What is my dog called?", "Did I tell you my age?"]
    )
    def test_what_only_memory_could_tell_is_not_asked_back_of_who_asks(self, question: str) -> None:
        assert not understand(question, [], [], clarity(whether=5.0, where=1.0)).is_ambiguous

    @pytest.mark.parametrize(
        "question",
        [
            "How do I bake bread?",
            "Hello there!",
            "Tell me a story.",
            "Who wrote Hamlet?",
            "Why is grass green?",
            "What is 12 times 11?",
        ],
    )
    def test_plain_questions_are_answered(self, question: str) -> None:
        assert not understand(question, [], [], built_in()).is_ambiguous

    @pytest.mark.parametrize("question", ["I need to find out who will leave", "Make it better."])
    def test_what_says_too_little_is_asked_back(self, question: str) -> None:
        found = understand(question, [], [], built_in())
        assert found.is_ambiguous
        assert len(found.possible_interpretations) >= 2 and len(found.clarifying_questions) >= 2

    def test_no_name_no_question_about_a_name(self) -> None:
        assert understand("is that so", [], [], clarity(whether=2.0, meanings=5.0)).reasons == (Reason.WHAT,)

    @pytest.mark.parametrize("nothing", ["🙂", "", "  \n", "123 456", "?!"])
    def test_what_holds_no_word_is_not_asked_back(self, nothing: str) -> None:
        assert not understand(nothing, [], [], clarity(whether=9.0)).is_ambiguous

    @given(st.text(max_size=200), st.lists(st.text(max_size=80), max_size=3))
    def test_any_text_is_understood(self, query: str, turns: list[str]) -> None:
        found = understand(query, turns, [], built_in())
        assert 0 <= found.score <= 1
        assert found.is_ambiguous == bool(found.reasons)
        counts = (len(found.possible_interpretations), len(found.clarifying_questions))
        assert (2 <= counts[0] <= 3 and 2 <= counts[1] <= 4) if found.is_ambiguous else counts == (0, 0)

    def test_thirty_thousand_characters_cost_what_four_thousand_do(self) -> None:
        assert places("word " * 6000) == places("word " * 800)
        assert measures("x" * 30_000) == measures("x" * 4_000)


class TestWeights:
    def test_they_fit_the_features(self) -> None:
        assert set(built_in().scores("Who won?")) == set(HEADS)

    def test_others_are_refused(self) -> None:
        with pytest.raises(ValueError, match="run make train"):
            Clarity({"frame": np.zeros((1, 1), np.float32)})

    def test_a_question_that_says_which_is_clearer(self) -> None:
        model = built_in()
        named = model.probability('Who is the performer of the song "Slow Water"?')
        assert named < model.probability("Give me some tips on how to train.")


class TestVerbs:
    """Whom a pronoun means can be told by whether the verb says what somebody feels, and of whom."""

    @pytest.mark.parametrize(
        ("word", "kind"),
        [
            ("annoyed", "amuses"),
            ("surprises", "amuses"),
            ("admired", "admires"),
            ("fears", "admires"),
            ("asked", "says"),
            ("told", "says"),
            ("visited", ""),
            ("harbour", ""),
        ],
    )
    def test_kinds(self, word: str, kind: str) -> None:
        assert kind_of(word) == kind

    @pytest.mark.parametrize(
        ("open_one", "clear"),
        [
            (
                "Ruth told Vera that she baffled the plumber.\nWho baffled the plumber?",
                "Ruth told Vera that she phoned the plumber.\nWho phoned the plumber?",
            ),
            (
                "Karl told Hugo that the plumber revered him.\nWho did the plumber revere?",
                "Karl told Hugo that the plumber vexed him.\nWho did the plumber vex?",
            ),
            (
                "Karl wrote to Hugo because he is changing offices.\nWho is changing offices?",
                "Karl wrote to Hugo because he wished to ask for help.\nWho wished to ask for help?",
            ),
        ],
    )
    def test_who_feels_what_is_open(self, open_one: str, clear: str) -> None:
        model = built_in()
        assert model.probability(open_one) > 0.5 > model.probability(clear)

    def test_words_count_once_and_none_is_louder_in_a_long_question(self) -> None:
        assert word_places("map map map") == word_places("map")
        weights = {
            "frame": np.zeros((len(HEADS), PLACES), np.float32),
            "words": np.ones((len(HEADS), WORD_PLACES), np.float32),
            "measures": np.zeros((len(HEADS), len(MEASURES)), np.float32),
            "bias": np.zeros(len(HEADS), np.float32),
            "mean": np.zeros(len(MEASURES), np.float32),
            "deviation": np.ones(len(MEASURES), np.float32),
        }
        assert Clarity(weights).scores("north south east west")[WHETHER] == pytest.approx(2.0)
