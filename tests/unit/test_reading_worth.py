"""What the built-in extractor leaves out, because it tells a later reader nothing, and what it must keep."""

from __future__ import annotations

import pytest

from processors.extraction.reading import read_window
from tests.unit.test_reading import ASSISTANT, only, sentences, window


@pytest.mark.parametrize(
    "said",
    [
        "I'm going to do that in 3 weeks.",
        "I am going to start that in June.",
        "I don't like doing that anymore.",
        "I no longer like painting it anymore.",
        "I'm moving in with mine next month.",
        "I will move in with mine in June.",
        "I sold mine in May.",
        "I bought one last year.",
    ],
)
def test_what_only_points_is_not_told(said: str) -> None:
    assert sentences(said) == []


@pytest.mark.parametrize(
    "said",
    [
        "I'm interested in learning more about comets.",
        "I am also interested in learning about the tides.",
        "I'm really interested in knowing more about old clocks.",
        "I'd like to learn more about comets.",
        "I would love to know more about tides.",
        "I want to learn more about comets.",
    ],
)
def test_what_somebody_asks_to_be_told_is_no_liking(said: str) -> None:
    assert sentences(said) == []


@pytest.mark.parametrize(
    "said",
    [
        "You should always use a vest when you row.",
        "You should always include a margin.",
        "You must never use sea water for a kettle.",
        "Always remember that if you sail alone you need a vest.",
        "Always keep in mind that the tide turns when you row.",
        "Yes, always be sure to check the rope.",
        "Always be careful to check the rope.",
        "Then do not respond.",
        "Well, then don't reply at all.",
    ],
)
def test_advice_and_retorts_are_no_instructions(said: str) -> None:
    assert sentences((ASSISTANT, "Is there anything else to think of?"), said) == []


@pytest.mark.parametrize(
    ("said", "sentence"),
    [
        ("I'm going to do that exam in June.", "Is going to do that exam in June"),
        ("I no longer like painting boats.", "No longer likes painting boats"),
        ("I'm moving in with my sister next month.", "Is moving in with their sister in June 2024"),
        ("I sold my boat in May.", "Sold their boat in May 2024"),
        ("I bought an old mill last year.", "Bought an old mill in 2023"),
        ("I'm interested in old clocks.", "Likes old clocks"),
        ("I like learning about comets.", "Likes learning about comets"),
        ("I want to learn to sail.", "Plans to learn to sail"),
        ("I like eating Thai food.", "Likes eating Thai food"),
        ("I usually drink water with dinner.", "Usually drinks water with dinner"),
        ("I gave up coffee for good.", "Gave up coffee"),
        ("I'm off sugar.", "No longer likes sugar"),
    ],
)
def test_what_says_something_stays(said: str, sentence: str) -> None:
    assert sentences(said) == [sentence]


@pytest.mark.parametrize(
    ("said", "sentence"),
    [
        ("Always answer in French.", "Wants the assistant to always answer in French"),
        ("Please always use metric units.", "Wants the assistant to always use metric units"),
        ("You should always answer in French.", "Wants the assistant to always answer in French"),
        ("You must never use emojis.", "Wants the assistant to never use emojis"),
        ("From now on be brief.", "Wants the assistant to be brief from now on"),
        ("Always be honest with me.", "Wants the assistant to be honest with them from now on"),
        ("Don't respond in English.", "Wants the assistant not to respond in English"),
    ],
)
def test_an_instruction_stays(said: str, sentence: str) -> None:
    assert sentences(said) == [sentence]


@pytest.mark.parametrize("said", ["Always call me Ada.", "Please call me Ada."])
def test_a_name_to_be_called_by_is_told(said: str) -> None:
    found = only(said)
    assert (found.attribute, found.value, found.statement) == ("name", "Ada", "Is called Ada")


@pytest.mark.parametrize(
    "said", ["I have been off work for July.", "I've been off sick.", "I am off the market.", "I'm off school."]
)
def test_where_one_is_not_is_no_taste(said: str) -> None:
    assert sentences(said) == []


@pytest.mark.parametrize("said", ["Call me Monday.", "Call me Tonight."])
def test_when_to_call_is_no_name(said: str) -> None:
    assert sentences(said) == []


@pytest.mark.parametrize(
    "said",
    [
        "I love the green shutters.",
        "I hate the fourth chapter.",
        "I prefer the left.",
        "I prefer covered.",
        "I love the grey sky.",
        "I used to love sitting on the quay.",
        "I finished the report.",
        "I failed several.",
        "I have a deadline on 3 June.",
        "I can't have misplaced my oars.",
        "I own a stake in a boat.",
        "I have played chess with a duke.",
        "I'm in Leeds now. Find Harrogate.",
        "I work on Sundays. Especially rowing.",
    ],
)
def test_what_only_the_talk_explains_is_not_told(said: str) -> None:
    assert sentences(said) == []


@pytest.mark.parametrize(
    ("said", "sentence"),
    [
        ("I like gluten-free.", "Likes gluten-free food"),
        ("I prefer dairy-free.", "Prefers dairy-free food"),
        ("I love the beach.", "Likes the beach"),
        ("I love the music of Ana Lund.", "Likes the music of Ana Lund"),
        ("I don't like the coffee at work.", "Does not like the coffee at work"),
        ("I like to run and juggle.", "Likes running"),
        ("I like to rock climb.", "Likes rock climbing"),
        ("I finished the report on 3 May.", "Finished the report on 3 May 2024"),
        ("I'll be leaving Oslo on 3 June.", "Will be leaving Oslo on 3 June 2024"),
        ("I have a sailing exam on 3 June.", "Has a sailing exam on 3 June 2024"),
        ("I have played chess for ten years.", "Plays chess"),
        ("I have lived in Oslo all my life.", "Lives in Oslo"),
    ],
)
def test_what_is_told_can_be_read_alone(said: str, sentence: str) -> None:
    assert sentences(said) == [sentence]


def test_who_teaches_something_beside_his_work_has_both() -> None:
    found = {each.attribute: each.value for each in read_window(window("I'm a nurse.", "I teach piano."))}
    assert found == {"occupation": "nurse", "habit": "teaching piano"}


@pytest.mark.parametrize(
    "said",
    [
        "I'm a driver under 20.",
        "I'm just an assistant.",
        "I love playing the game.",
        "I love relaxing.",
        "Making a difference is essential to me.",
        "I'm hoping to learn more about tides.",
        "I never have seasonal allergies.",
        "I've painted a scene of a shipwreck during the Great Storm in 1987.",
        "Is there a faster road?",
        "Are there any new books that you like?",
        "Change my hotel preference to no preference.",
        "Change my film settings to avoid gore.",
        "Set the seat to my usual temperature.",
    ],
)
def test_what_is_so_for_the_moment_is_not_told(said: str) -> None:
    assert sentences(said) == []


@pytest.mark.parametrize(
    ("said", "sentence"),
    [
        ("I'm a truck driver.", "Is a truck driver"),
        ("I'm a receptionist at a harbour office.", "Is a receptionist"),
        ("I love playing the piano.", "Likes playing the piano"),
        ("My name's Ada.", "Is called Ada"),
        ("I have one dog.", "Has one dog"),
        ("I've developed a walnut allergy.", "Is allergic to walnut"),
        ("Is there a Greek restaurant nearby?", "Asks for Greek restaurants"),
        ("Could you start playing reggae music?", "Asks for reggae music"),
        ("I want a book called Nights with the Heron.", "Asks for Nights with the Heron"),
        ("Always use metric units, set a course home.", "Wants the assistant to always use metric units"),
    ],
)
def test_what_lasts_or_is_wanted_is_told_whole(said: str, sentence: str) -> None:
    assert sentences(said) == [sentence]


@pytest.mark.parametrize(
    ("said", "attribute", "value"),
    [
        ("Set Nordwind as my top podcast.", "favourite/podcast", "Nordwind"),
        ("Set Greenfield as my restaurant preference.", "favourite/restaurant", "Greenfield"),
        ("Update our supermarket choice to Greenfield for next time.", "favourite/shop", "Greenfield"),
        ("Update our route priority to fastest for good.", "favourite/route", "fastest"),
        ("Switch my news source to Lanternpost.", "favourite/news", "Lanternpost"),
        ("Use Wavelet as my music streaming service.", "favourite/streaming", "Wavelet"),
        (
            "Add Night Boat by Ada Lund to our favourite tunes.",
            "favourite/music",
            "Night Boat by Ada Lund",
        ),
    ],
)
def test_what_is_set_as_a_favourite_fills_the_slot_of_its_subject(
    said: str, attribute: str, value: str
) -> None:
    found = only(said)
    assert (found.attribute, found.value, found.confidence) == (attribute, value, 0.8)
