"""How sure the rules are of what: a clause of each kind, and talk that looks like one."""

from __future__ import annotations

import pytest
from test_extraction import window

from models.facts import Category
from processors.extraction.statements import extract

PREFERENCE, PROFILE, EVENT = Category.PREFERENCE, Category.PROFILE, Category.EVENT


@pytest.mark.parametrize(
    ("text", "category", "confidence"),
    [
        ("I got a new bike", EVENT, 0.75),
        ("I got two kittens last week", EVENT, 0.75),
        ("I had surgery in May", EVENT, 0.75),
        ("I'm going to the opera on Friday", EVENT, 0.7),
        ("I'm about to get married in June", EVENT, 0.7),
        ("I've been learning Korean since March", EVENT, 0.7),
        ("I've climbed Kilimanjaro", EVENT, 0.7),
        ("I have an appointment with my dentist", EVENT, 0.7),
        ("My brother moved to Rome", EVENT, 0.7),
        ("I'm moving to Lyon in March", EVENT, 0.6),
        ("I want to learn Portuguese", EVENT, 0.6),
        ("I had to move twice last year", EVENT, 0.6),
        ("I will visit my aunt next week", EVENT, 0.6),
        ("I hope to visit Iceland one day", EVENT, 0.6),
        ("I intend to buy a house next year", EVENT, 0.6),
        ("I can't eat gluten", PREFERENCE, 0.9),
        ("My favorite season is autumn", PREFERENCE, 0.9),
        ("My go-to dish is dal", PREFERENCE, 0.9),
        ("I've always wanted a garden", PREFERENCE, 0.8),
        ("I've loved jazz for years", PREFERENCE, 0.8),
        ("I've been obsessed with sourdough lately", PREFERENCE, 0.8),
        ("I don't drink alcohol", PREFERENCE, 0.8),
        ("I have a sweet tooth", PREFERENCE, 0.8),
        ("I have no interest in football", PREFERENCE, 0.8),
        ("I'd rather stay home", PREFERENCE, 0.8),
        ("I would much rather walk", PREFERENCE, 0.8),
        ("I was obsessed with chess", PREFERENCE, 0.7),
        ("I've been avoiding sugar", PREFERENCE, 0.7),
        ("I care about animal welfare", PREFERENCE, 0.7),
        ("I try to avoid dairy", PREFERENCE, 0.7),
        ("I never eat breakfast", PREFERENCE, 0.7),
        ("I always need a quiet room", PREFERENCE, 0.7),
        ("I usually take the bus", PREFERENCE, 0.7),
        ("I'm in the mood for ramen tonight", PREFERENCE, 0.6),
        ("I don't mind the cold", PREFERENCE, 0.6),
        ("I would always choose the window seat", PREFERENCE, 0.6),
        ("I'm engaged to my college sweetheart", PROFILE, 0.9),
        ("I'm from Ghana", PROFILE, 0.9),
        ("I grew up in Naples", PROFILE, 0.9),
        ("I've got two sisters", PROFILE, 0.8),
        ("I sometimes bake bread", PROFILE, 0.8),
        ("I run every morning", PROFILE, 0.8),
        ("I have a dog", PROFILE, 0.8),
        ("My brother is a pilot", PROFILE, 0.8),
        ("I was a nurse for ten years", PROFILE, 0.7),
        ("I'm German", PROFILE, 0.7),
        ("I'm studying medicine", PROFILE, 0.7),
        ("I've been married for ten years", PROFILE, 0.7),
        ("I've been to Japan twice", PROFILE, 0.7),
        ("I've lived in Oslo since 2019", PROFILE, 0.7),
        ("I used to smoke", PROFILE, 0.7),
        ("I can speak three languages", PROFILE, 0.7),
        ("My brother is moving to Rome", PROFILE, 0.7),
        ("My parents live in Quito", PROFILE, 0.7),
    ],
)
def test_a_clause_of_each_kind(text: str, category: Category, confidence: float) -> None:
    [found] = extract(window(("ann", text)))
    assert (found.category, found.confidence) == (category, pytest.approx(confidence))


@pytest.mark.parametrize(
    "text",
    [
        "I'm a huge fan",
        "I'm a moron sometimes",
        "I'm working on it",
        "I'm working through",
        "I'm going to check the map",
        "I'm excited about the trip",
        "I'm fine",
        "I'm swimming",
        "I've been wondering about that",
        "I've been busy",
        "I've been tired lately",
        "I've had enough",
        "I want to talk about it",
        "I find that interesting",
        "I find a seat",
        "I took a look",
        "I had a question",
        "I had better go",
        "I quit",
        "I have a question about Rome",
        "I have to leave",
        "I can see that",
        "I will let you know tomorrow",
        "My brother is tired",
        "My day is good",
        "I like",
    ],
)
def test_talk_is_no_statement(text: str) -> None:
    assert extract(window(("ann", text))) == []
