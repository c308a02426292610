"""Summaries of long talks: what cheers, advises or lays out is no decision and no fact, and words come back."""

from __future__ import annotations

import pytest

from models.summaries import SessionSummary
from tests.unit.test_summaries_true import lines, summarize, told

#: Somebody talks of other things for so many turns.
WEATHER = [
    (("ada", "ben")[i % 2], f"The {colour} clouds over the {place} look like wool.")
    for i, (colour, place) in enumerate(
        zip(
            ["white", "grey", "pale", "dark", "thin", "low", "high", "soft", "long", "flat", "dull", "wide"]
            * 2,
            12 * ["bay", "hill"],
            strict=True,
        )
    )
]


@pytest.mark.parametrize(
    "cheer",
    [
        "Let's keep working hard on the garden!",
        "We should cherish every evening in the garden.",
        "We can definitely make a difference for the garden!",
        "Let's make happy memories in the garden.",
        "Let's all work together for the garden!",
        "Let's make it happen for the garden!",
        "We gotta push ourselves for the garden!",
        "Let's all bring some kindness into the garden!",
        "Maybe we can paint the shed or plant the tulips.",
    ],
)
def test_encouragement_decides_nothing(cheer: str) -> None:
    summary = summarize(("ada", cheer), ("ben", "Yes, sounds great!"), ("ada", "See you soon!"))
    assert (summary.decisions, summary.todos) == ((), ())


def test_a_decision_names_what_was_decided() -> None:
    assert summarize(("ada", "The tulips look lovely this spring."), ("ben", "Agreed!")).decisions == ()
    for said in ("Agreed, Ada!", "I'm going for a walk by the river.", "I picked up two loaves at the bakery."):
        assert summarize(("ben", said), ("ada", "The river is high.")).decisions == ()
    assert summarize(("ben", "Agreed: the fence gets painted green.")).decisions != ()


def test_what_is_said_to_the_other_stays_in_its_speakers_words() -> None:
    line = told(("ada", "I'm sure your brother finds the keys in the drawer."), ("ben", "Hopefully."))
    assert "ada: I'm sure your brother finds the keys in the drawer." in line


@pytest.mark.parametrize(
    ("said", "telling"),
    [
        (
            "I cherish the letters from Oslo and the old maps.",
            "ada cherishes the letters from Oslo and the old maps.",
        ),
        ("I see, so the letters from Oslo came by boat.", "ada: the letters from Oslo came by boat."),
    ],
)
def test_what_somebody_says_of_themselves(said: str, telling: str) -> None:
    assert telling in lines(summarize(("ada", said), ("ben", "The boat was late by a week.")))


def test_thanks_answer_no_question() -> None:
    asked = "Could my sister help with the cakes for the bazaar?"
    assert asked not in told(("ada", asked), ("ben", "Thanks, Ada!"), ("ada", "The bazaar begins at noon."))


def test_what_somebody_will_do_with_a_favourite_is_no_preference() -> None:
    assert summarize(("user", "I walk along some of my favorite streams.")).profile.preferences == ()
    for said in ("My favorite dishes are the soups.", "The soups are my favorite dishes."):
        assert summarize(("user", said)).profile.preferences == (said,)


def test_what_names_no_matter_undoes_nothing_that_lies_far_back() -> None:
    decided = "I decided to run for mayor of our village again."
    later = ("ben", "You never had a village band, did you? Our village has not one trumpet.")
    assert "decided to run" not in told(("ada", decided), ("ben", "Our village has no mayor."))
    assert "decided to run" in told(("ada", decided), *WEATHER, later)
    proposed = [("ada", "Let's paint the fence green on Sunday."), ("ben", "Yes, sounds good.")]
    intended = ("ada", "I want to learn the cello next winter.")
    assert "cello" not in told(intended, *proposed)
    assert "cello" in told(intended, *WEATHER, *proposed)


@pytest.mark.parametrize(
    "advice",
    [
        "- **Light**: The desk gets more light by the window.",
        "2. The desk gets more light by the window.",
        "## The desk by the window",
        "Move the desk closer to the window.",
        "Use belts of leather to carry desks.",
        "You might want to move the desk closer to the window.",
        "If you have any further questions about the desk by the window, feel free to ask!",
        "Would you like to focus on any specific part of the desk?",
        "Proofread your letter about the desk by the window.",
        "First, create a list of the windows near the desk.",
        "By following these steps, you can move the desk to the window.",
        "The desk stands in the light of my window.",
        "## The desk\nDear Sir, the desk by the window is for sale.\nCarpenter with thirty years of desks.",
        "I can help you to carry the desk to the window.",
        "The desk by [the window] costs 40 euros.",
        "It's important to keep the desk by the window.",
        "However, your desk should stand by the window.",
        "Instead of the hall, you can light the desk by the window.",
        r"\[ desk = \frac{light}{window} \times 4 \]",
    ],
)
def test_what_an_assistant_advises_or_lays_out_is_no_fact(advice: str) -> None:
    said = "The study is dark in winter."
    assert lines(summarize(("user", said), ("assistant", advice))) == [said]


def test_where_nothing_else_is_told_an_assistant_says_what_it_said() -> None:
    advice = (
        "You should move the desk closer to the window of the study.\n- It is dark by the door.\nGood luck!"
    )
    told_as = ("assistant: You should move the desk closer to the window of the study.",)
    assert summarize(("assistant", advice)) == SessionSummary(key_facts=told_as)
    assert summarize(("user", "🙂"), ("assistant", "Feel free to ask!")) == SessionSummary()


def test_what_an_assistant_does_is_told_as_its_own() -> None:
    said = summarize(("user", "The desk is too dark."), ("assistant", "I ordered a brass lamp for the desk."))
    assert said.key_facts == ("The desk is too dark.", "assistant: I ordered a brass lamp for the desk.")


def test_an_assistant_decides_nothing_but_repeats_what_was_decided() -> None:
    repeated = "Decided: Jo waters the tulips from 1 April, the shed stays closed."
    assert summarize(("user", "Fine."), ("assistant", repeated)).decisions == (f"assistant: {repeated}",)
    said = "We'll use a chart of the light on the desk."
    assert summarize(("user", "Fine."), ("assistant", said)).decisions == ()
    assert summarize(("user", said)).decisions == (said,)


def test_what_an_assistant_was_asked_and_did_is_over() -> None:
    asked = "Could you explain to me how the brass lamp is wired to the desk?"
    assert summarize(("user", asked), ("assistant", "Certainly!")) == SessionSummary()
    assert (
        summarize(("user", "Got any tips for the old desk?"), ("assistant", "Absolutely!")) == SessionSummary()
    )


def test_a_question_that_is_cut_still_asks() -> None:
    cut = "Can two ladders carry the desk, " + "which is old and dark and stands in the study, " * 4 + "or not?"
    assert summarize(("user", cut)).open_questions != ()
    asked = (
        "What is the best way to carry the old desk from the study to the window of the hall, considering "
        "that the stairs are narrow, that the lamp is wired to it, and that nobody has a free hand on Sunday?"
    )
    assert summarize(("user", asked)).open_questions != ()


def test_what_an_assistant_asks_again_takes_nothing_back() -> None:
    """Many end each answer with the same offer; what a person says next is no answer that it corrects."""
    offer = "Would you like to look at another lamp or a different part of the desk?"
    said = "I measured the brass lamp of the desk at 42 centimetres."
    assert said in told(("assistant", offer), ("user", said), ("assistant", f"That is tall. {offer}"))


def test_what_an_assistant_says_of_a_decision_undoes_none() -> None:
    decided = "I decided to move the desk from the hall to the study."
    praise = "Moving the desk to the study instead of the hall is a smart decision for the desk."
    assert summarize(("user", decided), ("assistant", praise)).decisions == (decided,)
    for speaker, changed in (
        ("user", "I'll put the desk in the hall instead of the study."),
        ("assistant", "I moved the desk back to the hall instead of the study."),
    ):
        assert decided not in summarize(("user", decided), ("user", "Hm."), (speaker, changed)).decisions
    asked = ("assistant", "Shall we move the desk to the hall instead of the study?")
    assert decided not in summarize(("user", decided), asked, ("user", "Yes, sounds good.")).decisions
    assert decided in summarize(("user", decided), asked, ("user", "The lamp is brass.")).decisions


def test_a_name_behind_a_yes_leads_in() -> None:
    line = told(("ada", "Yeah Ben, I hope to get the desk by the window."), ("ben", "The window is small."))
    assert "ada hopes to get the desk by the window." in line


@pytest.mark.parametrize(
    "said",
    [
        "Your plan for the harbour is sound, and the ferry of nine o'clock reaches it in time.",
        "The crossing takes you past the lighthouse and ends in the old harbour.",
        "For the crossing we counted two hours from the lighthouse to the old harbour.",
    ],
)
def test_whose_you_and_we_it_is_stands_before_what_an_assistant_said(said: str) -> None:
    """Among the person's own lines it read as if the person had said it to somebody."""
    assert (
        lines(summarize(("user", "I'm a ferry pilot in Aberdeen."), ("assistant", said)))[-1]
        == f"assistant: {said}"
    )


def test_what_an_assistant_says_and_what_a_person_lists_are_told() -> None:
    said = "The window of the study faces the old harbour."
    for told_by_both in (said, "Rent is 900 euros for the study by the old harbour."):
        assert lines(summarize(("user", "Good morning!"), ("assistant", told_by_both))) == [
            f"assistant: {told_by_both}"  # what nobody but a model says is not the person's own
        ]
    assert lines(summarize(("user", f"Two things:\n- {said}"))) == [said]
    laid_out = f"- {said}"
    asked = "Where does the window of the study face?"
    assert summarize(("user", asked), ("assistant", laid_out)).open_questions == ()


@pytest.mark.parametrize(
    "said",
    ["That way, I can carry it if the desk is late.", "The people of the harbour did it the same way!"],
)
def test_what_only_the_sentence_before_it_explains_is_no_fact(said: str) -> None:
    assert "way" not in told(("user", f"The brass lamp stands in the study. {said}"))
    assert "way" not in told(("ada", f"The brass lamp stands in the study. {said}"), ("ben", "Good lamp."))
    assert "same way" in told(("user", "I wired the brass lamp the same way as the old one."))


def test_how_to_be_answered_is_a_preference() -> None:
    said = "Always name the harbour when I ask about boats."
    assert summarize(("user", said), ("assistant", "I will.")).profile.preferences == (said,)
    assert summarize(("user", "The shop always rings when I ask for oars.")).profile.preferences == ()


def test_a_favourite_that_only_a_question_names_is_no_preference() -> None:
    asked = ("ada", "Are wooden boats your favourites, or rowing boats?")
    said = ("ben", "They are still my favourites and I love how they smell of tar.")
    assert summarize(asked, said).profile.preferences == ()
    named = ("ben", "Wooden boats are still my favourites.")
    assert summarize(("ada", "The harbour is calm."), named).profile.preferences == (
        "Wooden boats are still ben's favourites.",
    )
