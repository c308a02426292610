"""A value is a whole phrase, a list is told whole, and of two things done each has its own date."""

from __future__ import annotations

import pytest

from processors.extraction.reading import read_window
from tests.unit.test_reading import only, sentences, window


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("I moved to Rome in 2015 and got a dog.", ["Lives in Rome", "Moved to Rome in 2015", "Has a dog"]),
        ("We bought a barn in 2019 and adopted a goat.", ["Bought a barn in 2019", "Adopted a goat"]),
        ("I graduated in 2010 and moved to Leeds in 2012.", ["Lives in Leeds", "Moved to Leeds in 2012"]),
        ("I won the raffle and went to the park.", ["Won the raffle"]),
        ("I have a dog and work as a nurse.", ["Has a dog", "Works as a nurse"]),
        ("I met a man who fixed and sold my boat.", []),
        ("I want to move north and work as a nurse.", ["Plans to move north"]),
    ],
)
def test_two_things_done_are_two(said: str, told: list[str]) -> None:
    assert sentences(said) == told


def test_a_date_is_of_its_own_half() -> None:
    dates = {
        each.statement: each.event_at
        for each in read_window(window("I bought a van in 2015 and sold my boat."))
    }
    assert dates["Sold their boat"] is None
    assert dates["Bought a van in 2015"] is not None


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("I love War and Peace.", ["Likes War and Peace"]),
        ("I love War and Peace and Emma.", ["Likes War and Peace and Emma"]),
        ("I love fish and chips.", ["Likes fish and chips"]),
        ("I like r and b.", ["Likes r and b"]),
        ("I like tea and cake.", ["Likes tea", "Likes cake"]),
        ("I love hiking, swimming and long walks.", ["Likes hiking", "Likes swimming", "Likes long walks"]),
        (
            "I enjoy reading, painting barns, and exploring caves.",
            ["Likes reading", "Likes painting barns", "Likes exploring caves"],
        ),
        ("I love the sea, the wind and the rain.", ["Likes the sea", "Likes the wind", "Likes the rain"]),
        ("I love reading, painting, and the way that rain falls on roofs.", ["Likes reading"]),
        ("I love old, quiet towns and cities.", ["Likes old, quiet towns and cities"]),
        (
            "I'm allergic to nuts, shellfish and soy.",
            ["Is allergic to nuts", "Is allergic to shellfish", "Is allergic to soy"],
        ),
        ("I have two cats, a dog and a horse.", ["Has two cats", "Has a dog", "Has a horse"]),
        ("I have a fish tank.", []),
        ("I like to sew and eat brunch.", ["Likes sewing"]),
        ("I love the lake and go for most of May.", ["Likes the lake"]),
        ("I prefer bread that is made by small, old mills.", []),
        ("I love to study maps and plan my walks.", ["Likes studying maps"]),
        ("I hate poems and only consume spy novels.", ["Does not like poems", "Prefers spy novels"]),
        ("I don't enjoy being in narrow, dark caves.", []),
        ("I love both my goats.", ["Likes their goats"]),
        ("I prefer not to read any vampire books.", ["Avoids any vampire books"]),
        ("No need for covered parking.", ["Does without covered parking"]),
    ],
)
def test_all_of_a_list_or_nothing(said: str, told: list[str]) -> None:
    assert sentences(said) == told


@pytest.mark.parametrize(
    "said",
    [
        "My job is boring.",
        "My company is great.",
        "My diet is terrible.",
        "My hobby is expensive.",
        "I like gold more.",
        "I bought milk.",
        "I had lunch today.",
        "I went to the shop yesterday.",
        "i will be a 32 on friday.",
        "Once I have sent the form who do I ask?",
        "I did play the flute last year in a choir.",
        "I do not always wear a hat.",
        "I work for money.",
        "I grew up on folk music.",
        "I want to learn about tides.",
        "name 3 country songs",
    ],
)
def test_trifles_and_comparisons_are_not_told(said: str) -> None:
    assert sentences(said) == []


@pytest.mark.parametrize(
    "said", ["i live in fear", "i live in the woods", "i'm from a small town", "i am from far away"]
)
def test_not_every_word_in_lower_case_is_a_place(said: str) -> None:
    assert sentences(said) == []


@pytest.mark.parametrize(
    ("said", "attribute", "value", "sentence"),
    [
        ("i live in ohio", "home", "Ohio", "Lives in Ohio"),
        ("i'm from new zealand and it rains", "origin", "New Zealand", "Is from New Zealand"),
        ("i grew up in rural kansas", "origin", "rural Kansas", "Is from rural Kansas"),
        ("im a baker", "occupation", "baker", "Is a baker"),
        ("ive got two kids", "family", "two kids", "Has two kids"),
        ("i dont like snow", "like", "snow", "Does not like snow"),
        ("I was raised in rural Ohio.", "origin", "rural Ohio", "Is from rural Ohio"),
        ("I'm employed as a nurse.", "occupation", "nurse", "Works as a nurse"),
        ("My wife Anna is a teacher.", "occupation", "teacher", "Wife is a teacher"),
        ("My parents live in Leeds.", "home", "Leeds", "Parents live in Leeds"),
        ("My parents graduated from Leeds.", "education", "Leeds", "Parents graduated from Leeds"),
        (
            "Always tell me your sources.",
            "instruction",
            "always tell them its sources",
            "Wants the assistant to always tell them its sources",
        ),
        ("I teach piano.", "habit", "teaching piano", "Teaches piano"),
        ("I work at a library as a guide.", "employer", "library", "Works at a library"),
        ("I have a severe allergy to sesame seeds.", "allergy", "sesame seeds", "Is allergic to sesame seeds"),
        ("I rarely leave the house.", "habit", "leaving the house", "Rarely leaves the house"),
        ("I can't eat a whole cake.", "constraint", "whole cake", "Cannot eat a whole cake"),
        ("I'm a sucker for any gadget.", "like", "gadget", "Likes any gadget"),
        (
            "I prefer underground or odd bands.",
            "like",
            "underground or odd bands",
            "Prefers underground or odd bands",
        ),
    ],
)
def test_what_was_not_read_is(said: str, attribute: str, value: str, sentence: str) -> None:
    found = only(said)
    assert (found.attribute, found.value, found.statement) == (attribute, value, sentence)
