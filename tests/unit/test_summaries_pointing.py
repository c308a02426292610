"""A summary has no line that only the sentence before it explains, and what is seen to is no to-do."""

from __future__ import annotations

import pytest

from processors.summaries.perspective import third_person
from processors.summaries.pointing import is_seen, points_back
from tests.unit.test_summaries_true import lines, summarize, told

OTHER = ("ben", "The harbour museum opens a second hall for old maps in April.")


@pytest.mark.parametrize(
    "said",
    [
        "It taught me a lot about patience and old maps.",
        "That was a significant step for the museum.",
        "This reminds me of the harbour in winter.",
        "Started when I was ten and lived by the harbour.",
        "Reminds me how lucky we are with the harbour.",
        "That's a great way to see the old harbour.",
        "It's like walking to another harbour in winter.",
        "Really made me proud of the old harbour.",
        "I chose them because of the harbour.",
        "Their maps of the harbour spoke to me.",
        "Makes the long evenings at the museum worth it.",
    ],
)
def test_what_points_back_is_not_told_by_itself(said: str) -> None:
    assert points_back(said)
    alone = told(("ada", f"Do you think so? {said}"), OTHER)
    assert " ".join(said.split()[-3:]) not in alone


def test_what_points_back_is_told_with_what_it_points_to() -> None:
    said = told(
        ("ada", "I walked the coast path from Porto to Lisbon. It taught me a lot about patience."), OTHER
    )
    assert "ada walked the coast path from Porto to Lisbon. It taught ada a lot about patience." in said


def test_an_answer_that_points_back_is_told_with_its_question() -> None:
    said = told(("ada", "How was the walk from Porto to Lisbon?"), ("ben", "It was long and took eleven days."))
    assert "ada: How was the walk from Porto to Lisbon? ben: It was long and took eleven days." in said


@pytest.mark.parametrize(
    "said",
    [
        "It's important to keep the maps dry.",
        "It was great to see the harbour again.",
        "It's my mother's birthday on Sunday.",
        "This week I painted the fence.",
        "That evening we ate in the harbour.",
        "I walked the coast path.",
        "Started a new job at the museum in May.",
        "Started taking the new tablets on Monday.",
        "Made an appointment with the surgeon for Friday.",
        "Brought the car to the garage this morning.",
        "Ended the lease on the flat in Porto.",
        "Looks like the roof needs to be replaced this year.",
        "Turned out that the boiler was never serviced.",
        "It turned out that the boiler was never serviced.",
        "It looks like we move to Porto in May.",
        "It seems that my sister sails to Porto.",
    ],
)
def test_what_says_it_all_points_nowhere(said: str) -> None:
    assert not points_back(said)


@pytest.mark.parametrize(
    ("said", "seen"),
    [
        ("Here's a picture of the boat that I cherish.", True),
        ("The photo takes me back to the harbour.", True),
        ("Life is fine, just taking care of this.", True),
        ("The photograph of the harbour hangs in the museum.", False),
        ("Here are the keys of the museum.", False),
        ("The photos of the roof are with the insurance.", False),
        ("Check out of the hotel is at eleven.", False),
    ],
)
def test_what_is_shown_is_seen_by_no_reader(said: str, seen: bool) -> None:
    assert is_seen(said) == seen


def test_a_to_do_names_what_is_to_be_done() -> None:
    assert summarize(("ada", "I will check them out."), OTHER).todos == ()
    assert summarize(("ada", "I will check the rudder of the boat."), OTHER).todos != ()


def test_what_an_assistant_was_asked_for_and_answered_is_not_to_be_done() -> None:
    said = "I need to find the height of the mast, can you help with that?"
    answer = ("assistant", "The mast is as high as its shadow is long at four o'clock.")
    assert summarize(("user", said)).todos != ()
    summary = summarize(("user", said), answer)
    assert summary.todos == ()
    assert any("height of the mast" in line for line in summary.key_facts)


@pytest.mark.parametrize(
    "laid_out",
    [
        "You want to draw three maps from this box.",
        "**Problem:** A box holds nine maps of the harbour. Three maps are drawn from the box.",
        "Great job on sorting nine maps of the harbour!",
        "Congratulations on sorting the maps of the harbour!",
        "Sorting your maps of the harbour is a great idea.",
        "Additionally, you can use the maps of the harbour master.",
        "If the harbour is closed, you can look at the charts of the bay.",
    ],
)
def test_what_an_assistant_sets_as_a_problem_or_praises_is_no_fact(laid_out: str) -> None:
    said = lines(summarize(("user", "I sort nine maps of the harbour by year."), ("assistant", laid_out)))
    assert said == ["I sort nine maps of the harbour by year."]


def test_a_bare_yes_is_told_with_what_comes_behind_it() -> None:
    said = told(
        ("ada", "Do you collect any maps of the old harbour?"),
        ("ben", "For sure! The charts of 1880 and 1912."),
    )
    assert "For sure! The charts of 1880 and 1912." in said


@pytest.mark.parametrize(
    "phatic",
    [
        "I really appreciate your support with the maps of the harbour.",
        "Appreciate the support with all the maps.",
        "Your support with the maps of the harbour means a lot to me.",
        "I'm so glad to see my words about the harbour encourage you, Ada.",
        "If the boat ever leaks again, let me know what I can bring.",
        "Remember Ada, the harbour never sleeps!",
        "Keep going with the maps of the harbour!",
        "Love to hear more about the harbour.",
        "If you ever sail to the harbour, let me know, I'd be glad to help.",
        "Ada, your support with the harbour means a lot to me.",
        "It's great to hear how the harbour made you feel better.",
        "Keep up the rowing and don't forget your joy in the harbour.",
    ],
)
def test_thanks_and_cheers_are_no_facts(phatic: str) -> None:
    assert "harbour" not in told(("ben", phatic), ("ada", "See you on Sunday."))
    assert told(("ben", phatic), ("ada", "See you on Sunday.")) == ""


@pytest.mark.parametrize(
    "said",
    [
        "My landlord lowered the rent and I appreciate it.",
        "I appreciate that the museum opens on Sundays.",
        "The regatta was called off by the harbour, let me know what to do.",
        "The surgeon moved my appointment to Friday, so let me know whether you can drive me.",
        "I'm happy to have a new job at the museum.",
        "I'm glad to have found a flat in Porto.",
        "I'm very happy to see my sister again in Lisbon.",
        "I'd love to see Japan next spring.",
        "I would love to try diving with my brother.",
        "I'd love to know who broke the kitchen window.",
        "I would love to share the garden with the neighbours.",
        "It's great to know that the insurance pays for the roof.",
        "I'll be there to help with the regatta on Saturday.",
        "I'm here to support my mother after her operation.",
        "Remember my sister is allergic to peanuts.",
        "Remember we moved the regatta to Monday.",
        "Stay safe, the bridge to the harbour is closed until Friday.",
        "Enjoy your meal, the cake is for my sister's birthday.",
        "Appreciate the news about the roof, we will pay the roofer on Monday.",
        "Don't forget to take the tablets at noon.",
        "These days I work from home in Porto.",
    ],
)
def test_what_only_sounds_like_thanks_or_cheers_is_told(said: str) -> None:
    assert len(lines(summarize(("ada", said), OTHER))) == 2


@pytest.mark.parametrize(
    "said",
    [
        "These tablets make me dizzy in the morning.",
        "These days I work from home in Porto.",
        "They say the bridge closes in June.",
    ],
)
def test_who_they_are_is_not_needed_where_it_is_about_oneself(said: str) -> None:
    assert told(("user", said), ("assistant", "Noted.")) == said


def test_a_question_that_was_cut_off_is_no_fact() -> None:
    long = "For example, how would the part that reads the charts of the harbour hand them over to what draws "
    summary = summarize(
        ("user", f"{long}them, and how would that one tell the museum which of the charts it has drawn?")
    )
    assert summary.key_facts == ()


def test_a_favourite_part_is_no_taste() -> None:
    assert (
        summarize(("ada", "Seeing the boats come home was my favorite part."), OTHER).profile.preferences == ()
    )
    assert summarize(("ada", "Fennel soup is my favorite dish."), OTHER).profile.preferences != ()


def test_a_verb_without_its_subject_stays_in_its_speakers_words() -> None:
    assert third_person("Did a survey of the bay and I think it went well.", "Ben").startswith(
        "Ben: Did a survey"
    )


def test_a_verb_of_two_parts_and_a_slurred_one_are_told_right() -> None:
    assert (
        third_person("I colour-code the charts of the bay.", "Ben")
        == "Ben: I colour-code the charts of the bay."
    )
    assert third_person("I wanna learn to sail.", "Ben") == "Ben wants to learn to sail."
    assert third_person("at noon I also stock shelves.", "Ben") == "At noon Ben also stocks shelves."
    assert third_person("iBoat told me so, I think.", "Ben") == "iBoat told Ben so, Ben thinks."


def test_how_long_is_told_with_what() -> None:
    answer = "I've been practising every evening for four months now, thankfully."
    said = told(("ada", "How long have you played the cello?"), ("ben", answer))
    assert f"ada: How long have you played the cello? ben: {answer}" in said


def test_what_was_asked_anywhere_in_the_message_and_answered_is_not_to_be_done() -> None:
    said = "I need to log each visit to the museum. The log is a list. Can you review my list of visits?"
    answer = ("assistant", "The list of visits lacks the year of each visit.")
    assert summarize(("user", said), answer).todos == ()


@pytest.mark.parametrize(
    ("said", "there"),
    [
        ("We must start doing that every evening, or write down the ships.", False),
        ("I will read them and check the old ones.", False),
        ("I really should start writing down the names of the ships.", True),
        ("I need to do that tax form before Friday.", True),
        ("We need to try that diet from the doctor.", True),
        ("I need to do that before Friday.", False),
    ],
)
def test_a_to_do_says_what_is_to_be_done(said: str, there: bool) -> None:
    assert bool(summarize(("ada", said), OTHER).todos) == there


def test_what_was_decided_is_named() -> None:
    seen = "I finished the book about the harbour, and we decided to include this at its end."
    assert summarize(("ada", seen), OTHER).decisions == ()


def test_a_second_verb_has_the_same_subject() -> None:
    assert (
        third_person("When I face storms, I reflect on the charts.", "Ben")
        == "When Ben faces storms, Ben reflects on the charts."
    )


@pytest.mark.parametrize(
    "asked", ["can I have some help with that?", "could someone have a look?", "can you help?"]
)
def test_what_is_asked_for_is_told_without_the_asking(asked: str) -> None:
    said = f"I'm trying to bring the list of ships under 250 lines, {asked}"
    answer = ("assistant", "**Shorter lists:** Leave out the boats.")
    assert lines(summarize(("user", said), answer)) == ["I'm trying to bring the list of ships under 250 lines"]


def test_an_answer_that_points_at_something_says_nothing() -> None:
    said = told(("ada", "Want to share some stories?"), ("ben", "Yes, these have been mine for years."))
    assert "these" not in said


def test_an_answer_to_one_of_two_questions_stands_alone() -> None:
    asked = "Which instrument do you practise? What songs of the sea do you want to learn?"
    assert "songs of the sea" not in told(("ada", asked), ("ben", "I practise the cello."))


def test_what_reminds_somebody_is_no_to_do() -> None:
    assert (
        summarize(("ada", "A chart in my room is there to remind me to keep calm at sea."), OTHER).todos == ()
    )
    assert summarize(("ada", "Please remind me to oil the rudder on Sunday."), OTHER).todos != ()


def test_a_sentence_is_not_cut_before_what_takes_it_back() -> None:
    said = (
        "I checked the height of the mast in the old chart of the harbour, and I found that the first "
        "measurement was 14.5 metres, but it was corrected to 14.8 metres by the harbour master and his sons."
    )
    line = told(("user", said))
    assert "14.5" not in line and line.startswith("I checked the height of the mast")
    assert "14.5" not in told(("user", said.replace(", and I found", " and I found")))


def test_to_an_assistant_who_they_are_is_told_with_what_was_said_before() -> None:
    said = "I will begin with the charts of the bay. They are simpler than the charts of the open sea."
    assert told(("user", said)) == said
    assert "They" not in told(("user", "What about the charts of the bay? They are simpler than the sea's."))


def test_how_much_is_no_word_that_leads_in() -> None:
    assert told(("user", "So much paint went into the hull of the old boat.")).startswith("So much paint")
    assert told(("user", "So the paint went into the hull of the old boat.")).startswith("the paint")


@pytest.mark.parametrize(
    "said",
    [
        "However, it cost the harbour a lot of money in winter.",
        "But they leaked all winter in the old harbour.",
        "Still, this gave the harbour master a lot of work.",
        "Though it rained, I loved it a lot.",
        "Instead, they moved to the old harbour hall.",
        "Otherwise it floods the harbour hall in winter.",
        "Given that, the harbour hall stays closed in winter.",
        "But I painted it green for the harbour festival.",
    ],
)
def test_a_turn_of_the_thought_is_told_behind_what_it_turns_or_not_at_all(said: str) -> None:
    end = " ".join(said.split()[-3:])
    assert end not in told(("ada", f"Do you think so? {said}"), OTHER)
    assert end not in told(("ada", f"Do you think so? {said}"), ("assistant", "The museum has two halls."))
    first = "We bought nine oak doors for the museum."
    behind = [line for line in lines(summarize(("ada", f"{first} {said}"), OTHER)) if end in line]
    assert behind and all(first in line for line in behind)


def test_what_a_turn_of_the_thought_begins_with_is_told() -> None:
    said = told(("ada", "We bought nine oak doors. But they leaked all winter."), OTHER)
    assert "bought nine oak doors. But they leaked all winter." in said


@pytest.mark.parametrize(
    "said",
    [
        "However, the harbour hall is flooded in winter.",
        "But the boat leaks when it rains in the harbour.",
        "However, it is hard to keep the harbour maps dry.",
        "Still, my sister says that the harbour hall is dry.",
        "Instead, we rent the hall that they built in the harbour.",
        "Though the harbour is small, it has nine piers.",
        "Given that the harbour is closed, we sail on Monday.",
        "But this week I painted the harbour fence.",
        "Still, I like the harbour in winter.",
        "Otherwise the old maps get wet in the harbour.",
    ],
)
def test_a_turn_of_the_thought_that_names_its_thing_stays(said: str) -> None:
    assert " ".join(said.split()[-3:]) in told(("ada", f"Do you think so? {said}"), OTHER)


def test_whom_only_the_other_named_a_line_is_not_about() -> None:
    said = told(
        ("ben", "My neighbours sail a lot."), ("ada", "But they always want me to paint the boat in winter.")
    )
    assert "want" not in said
