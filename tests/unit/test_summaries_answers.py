"""An answer is told with its question, a pronoun with what it stands for, a question whole; or nothing is."""

from __future__ import annotations

import pytest

from processors.summaries.antecedents import leaves_open
from processors.summaries.perspective import third_person
from tests.unit.test_summaries_true import lines, summarize, told

ASKED = "How long does the harbour office keep the boat licence?"


def test_what_an_assistant_answers_stands_behind_its_question() -> None:
    answer = "Send the blue form to the harbour office."
    assert told(("user", "How do I renew my boat licence?"), ("assistant", answer)) == (
        f"How do I renew my boat licence? – {answer}"
    )


@pytest.mark.parametrize("answer", ["In less than 2 winters", "The office keeps the licence for nine years."])
def test_what_an_assistant_answers_after_it_asked_back_is_not_told_alone(answer: str) -> None:
    said = [
        ("user", ASKED),
        ("assistant", "Did you register the boat?"),
        ("user", "yes"),
        ("assistant", answer),
    ]
    assert answer not in told(*said)


def test_how_an_assistant_goes_on_from_its_answer_is_not_told_alone() -> None:
    said = [
        ("user", "Where can I register my boat?"),
        ("assistant", "Boats are registered at the harbour office. The office on the hill closes in winter."),
    ]
    assert told(*said) == "Where can I register my boat? – Boats are registered at the harbour office."


@pytest.mark.parametrize(
    "answer",
    ["Sadly, nothing about boats could be found.", "We don't have any information on boats."],
)
def test_that_nothing_was_found_is_no_answer(answer: str) -> None:
    summary = summarize(("user", "Which harbour takes boats with a crew of nine?"), ("assistant", answer))
    assert summary.key_facts == ()
    assert summary.open_questions == ("Which harbour takes boats with a crew of nine?",)


@pytest.mark.parametrize(
    ("asked", "answer"),
    [
        (
            "What sort of soup do you cook for the sailors?",
            "Something milder with fennel and white beans, mostly.",
        ),
        ("How many lanterns hang in the chapel?", "I counted around forty of brass near the tower."),
    ],
)
def test_an_answer_whose_matter_stands_in_the_question_is_told_with_it(asked: str, answer: str) -> None:
    said = lines(summarize(("ada", asked), ("ben", answer), ("ada", "I see.")))
    assert said == [f"ada: {asked} ben: {answer}"]


def test_a_yes_with_a_but_behind_it_is_not_told_as_a_yes() -> None:
    answer = "Yes, the harbour office registers boats. But only boats with a crew, and none in winter."
    assert "Yes" not in told(("user", "Can I register my boat in town?"), ("assistant", answer))


@pytest.mark.parametrize(
    "line",
    [
        "Put your sleeve or glove in it for the night.",
        "The sailors wrote a song for them.",
        "We rowed all morning and it was lovely.",
        "Is that licence only for the summer boats?",
        "I have no such lantern, sadly.",
    ],
)
def test_a_noun_of_the_same_clause_is_not_what_a_pronoun_stands_for(line: str) -> None:
    assert leaves_open(line)


@pytest.mark.parametrize(
    "line",
    [
        "The boat lost its mast.",
        "I bought the lantern to hang it in the chapel.",
        "My sister wrote that she sold her boat.",
        "My uncle keeps bees, and this year he sold forty jars.",
        "I think that people like old boats.",
    ],
)
def test_what_an_earlier_clause_names_a_pronoun_stands_for(line: str) -> None:
    assert not leaves_open(line)


def test_what_another_names_is_not_what_somebody_goes_on_to_speak_of() -> None:
    said = [
        ("ada", "I invited nine captains to supper on the boat."),
        ("ben", "There are several other very fine taverns around the harbour."),
        ("ada", "I can't reach them by radio now, the fog is too thick."),
    ]
    assert "reach them" not in told(*said)


def test_a_question_is_told_whole_or_not_at_all() -> None:
    said = [
        ("ada", "I want to stand on the mast and shout, Rosa, will you sail to Bergen with me?!"),
        ("ben", "You had better not, the mast is old."),
    ]
    assert all("will you" not in line or "shout" in line for line in lines(summarize(*said)))
    cut = "I always row to the cheapest pier, could you find me another?"
    assert "could you" not in told(("user", cut), ("assistant", "The pier of the mill costs two euros."))


def test_whom_it_is_said_to_is_no_part_of_what_is_told() -> None:
    assert third_person("Ooh Rosa, I won the regatta.", "Ben") == "Ben won the regatta."
    assert third_person("In May, I won the regatta.", "Ben") == "In May, Ben won the regatta."


def test_to_like_what_somebody_does_is_no_taste() -> None:
    for said in ("I like where this harbour is heading.", "I love who you are on the boat."):
        assert summarize(("user", said)).profile.preferences == ()


def test_an_open_question_names_what_it_is_about() -> None:
    said = [("user", "Can I get a boat licence?"), ("assistant", "Yes."), ("user", "Is that licence dear?")]
    assert summarize(*said).open_questions == ()


def test_what_was_asked_in_a_part_that_was_cut_off_is_answered_all_the_same() -> None:
    asked = (
        "Because my boat has a mast of nine metres and a crew of five sailors, and because it lies in the old "
        "harbour between the mill and the chapel all winter long, must a pilot come with me?"
    )
    answer = "The harbour office wants a pilot on board."
    assert answer not in told(("user", asked), ("assistant", answer))


def test_half_of_a_long_answer_is_not_told() -> None:
    answer = f"The harbour office registers a boat {'with a mast and a crew of nine sailors ' * 5}in June."
    assert "registers" not in told(("user", "When can I register my boat in town?"), ("assistant", answer))


@pytest.mark.parametrize(
    "line",
    [
        "I wanted to take that boat this winter.",
        "My sister can paint that up on Sunday.",
        "They help me to row.",
        "Rosa, that takes courage!",
        "It's safe with nine sailors of the harbour and our dog.",
    ],
)
def test_what_no_earlier_clause_names_stays_open(line: str) -> None:
    assert leaves_open(line)


@pytest.mark.parametrize(
    ("asked", "answer"),
    [
        ("What papers do I bring?", "Yes, the office has them."),
        ("Can I row there at night?", "Lanterns of brass"),
    ],
)
def test_what_cannot_answer_a_question_is_not_told_as_its_answer(asked: str, answer: str) -> None:
    assert answer not in told(("user", asked), ("assistant", answer))


def test_a_short_answer_is_told_with_what_comes_behind_it() -> None:
    said = [("user", "What does the boat licence cost?"), ("assistant", "Nothing. The office pays until May.")]
    assert told(*said) == "What does the boat licence cost? – Nothing. The office pays until May."


def test_what_can_be_only_the_question_says() -> None:
    asked = "Are you sure that we reach the ferry to Bergen?"
    answer = "Usually we can if nothing breaks and the wind holds all morning."
    assert lines(summarize(("ada", asked), ("ben", answer))) == [f"ada: {asked} ben: {answer}"]


def test_what_asks_without_its_mark_is_no_fact() -> None:
    assert summarize(("user", "can automatically renew my boat licence If I row in winter")).key_facts == ()


def test_a_condition_whose_question_stands_apart_is_no_fact() -> None:
    said = ("ada", "While you wait for the ferry to Bergen, would you like to see the boats?")
    assert "While" not in told(said, ("ben", "The boats are red."))


def test_what_somebody_gives_an_assistant_is_not_to_be_done() -> None:
    said = ("user", "I need to give you both berths in the harbour.")
    assert summarize(said, ("assistant", "Good, the berth is noted.")).todos == ()


def test_what_follows_from_half_a_condition_is_not_told_without_it() -> None:
    answer = "The harbour office gives you a licence for nine weeks."
    said = [("user", "I think of the sailing test. And if I pass it in May"), ("assistant", answer)]
    assert answer not in told(*said)


@pytest.mark.parametrize(
    "said", ["I wasn't planning to.", "It's based on a boat that Rosa loves.", "It's cold."]
)
def test_what_leaves_its_matter_to_what_was_said_before_is_not_told(said: str) -> None:
    assert said not in told(("ada", f"Rosa rows at night. {said}"), ("ben", "The lake is deep."))


def test_a_sentence_is_cut_where_what_was_joined_last_is_whole() -> None:
    cut = (
        "I'm painting the boat of my uncle in the old harbour, and my neighbour, Rosa Lind from the mill by "
        "the chapel on the hill behind the old harbour, wrote that the colour is too dark for the sea."
    )
    line = told(("user", cut), ("assistant", "Noted."))
    assert line.startswith("I'm painting the boat of my uncle in the old harbour") and "neighbour" not in line


def test_an_order_of_a_moment_is_no_to_do() -> None:
    assert summarize(("ada", "Would you like a drink?"), ("ben", "Lemonade, please.")).todos == ()


def test_a_statement_that_leaves_out_its_subject_asks_nothing() -> None:
    summary = summarize(("assistant", "How old is the boat?"), ("user", "Is almost 65."))
    assert summary.open_questions == ()


def test_a_we_with_others_who_were_spoken_of_is_not_told_as_those_who_talk() -> None:
    said = [
        ("Ada", "I rowed home with some crewmates. We shared a love of old maps."),
        ("Ben", "Good for you, I am mending my sails today."),
    ]
    assert "love of old maps" not in told(*said)


def test_nor_as_them_where_another_is_named_beside_who_is_asked() -> None:
    said = [
        ("Ada", "You and Tom make a fine crew."),
        ("Ben", "Indeed, we are about to build a boat of our own."),
    ]
    assert "build a boat" not in told(*said)


def test_good_wishes_are_no_answer() -> None:
    said = [("user", "I was wondering where a boat is registered?"), ("assistant", "Hope all is well.")]
    assert "Hope all is well" not in told(*said)


def test_what_an_assistant_asks_is_not_told_as_the_person_s_question() -> None:
    said = [
        ("user", "Can the harbour office give my fee back?"),
        ("assistant", "Did you hand in your boat licence?"),
    ]
    assert "assistant: Did you hand in your boat licence?" in told(*said)


@pytest.mark.parametrize(
    "answer",
    [
        "Yes, to the nine winters served but I was unable to add any winters at sea.",
        "No, I did not sign up for nine more winters at sea.",
    ],
)
def test_half_of_an_answer_is_not_told_alone(answer: str) -> None:
    said = [
        ("user", "Can I pass my boat on to my son?"),
        ("assistant", "Did you serve nine winters?\nOr did you agree to more of them?"),
        ("user", answer),
        ("assistant", "Then you can."),
    ]
    assert "winters at sea" not in told(*said)


def test_a_matter_that_is_only_named_is_no_fact() -> None:
    assert summarize(("user", "Harbour fees with special rules")).key_facts == ()
