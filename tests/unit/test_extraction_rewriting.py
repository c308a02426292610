"""First person to third."""

from __future__ import annotations

import pytest

from processors.extraction.grammar import conjugate, is_participle, is_past, third_person
from processors.extraction.rewriting import parse


@pytest.mark.parametrize(
    ("clause", "statement"),
    [
        ("I love my dog", "User loves their dog"),
        ("I'm a nurse", "User is a nurse"),
        ("I am not a nurse", "User is not a nurse"),
        ("I've never been to Paris", "User has never been to Paris"),
        ("I haven't eaten meat since May", "User hasn't eaten meat since May"),
        ("I'd been to Rome", "User had been to Rome"),
        ("I'd rather walk", "User would rather walk"),
        ("I'll be in Rome", "User will be in Rome"),
        ("I don't really like it", "User doesn't like it"),
        ("I do not eat meat", "User does not eat meat"),
        ("I do like tea", "User likes tea"),
        ("I do yoga", "User does yoga"),
        ("I have two cats", "User has two cats"),
        ("I have to avoid gluten", "User has to avoid gluten"),
        ("I just love tea", "User loves tea"),
        ("I just started school", "User just started school"),
        ("I always take my coffee black", "User always takes their coffee black"),
        ("I used to smoke", "User used to smoke"),
        ("I read books", "User reads books"),
        ("I read a book yesterday", "User read a book yesterday"),
        ("I live here and work there", "User lives here and works there"),
        ("I like to cook and bake", "User likes to cook and bake"),
        ("I'm vegan and avoid honey", "User is vegan and avoids honey"),
        ("we were in Rome", "User and others were in Rome"),
        ("me and my wife love Rome", "User and their wife love Rome"),
        ("my wife and I love Rome", "User and their wife love Rome"),
        ("my dog Max is old", "User's dog Max is old"),
        ("my dog's name is Max", "User's dog's name is Max"),
        ("my favorite children's book is Matilda", "User's favorite children's book is Matilda"),
        ("my favourite band's Radiohead", "User's favourite band is Radiohead"),
        ("my parents are from Iran", "User's parents are from Iran"),
    ],
)
def test_statement(clause: str, statement: str) -> None:
    predicate = parse(clause)
    assert predicate is not None
    assert predicate.statement == statement


@pytest.mark.parametrize("clause", ["", "I", "he likes tea", "tea is nice", "my thoughts are my own", "i 123"])
def test_what_does_not_fit_is_left_alone(clause: str) -> None:
    assert parse(clause) is None


def test_parts() -> None:
    predicate = parse("I kind of don't always like loud bars")
    assert predicate is not None
    assert (predicate.auxiliary, predicate.verb, predicate.rest) == ("do", "like", "loud bars")
    assert (predicate.negated, predicate.past, predicate.hedged) == (True, False, True)
    assert predicate.adverbs == ("always",)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("my dog and I", "their dog and they"),
        ("when I'm home", "when they're home"),
        ("because I was ill", "because they were ill"),
        ("what I am", "what they are"),
        ("with me and our kids", "with them and their kids"),
        ("some me-time", "some me-time"),
        ('the song "I did it my way"', 'the song "I did it my way"'),
        ("My Neighbor Totoro", "My Neighbor Totoro"),
        ("i.e. tea", "i.e. tea"),
    ],
)
def test_pronouns(text: str, expected: str) -> None:
    assert third_person(text) == expected


@pytest.mark.parametrize(
    ("verb", "third"),
    [("like", "likes"), ("watch", "watches"), ("study", "studies"), ("play", "plays"), ("go", "goes"),
     ("have", "has"), ("do", "does"), ("miss", "misses"), ("fix", "fixes")],
)  # fmt: skip
def test_conjugation(verb: str, third: str) -> None:
    assert conjugate(verb) == third


def test_tenses() -> None:
    assert all(map(is_past, ["went", "used", "visited", "bought"]))
    assert not any(map(is_past, ["need", "like", "read", "feed"]))
    assert all(map(is_participle, ["been", "seen", "lived"]))
    assert not is_participle("a")
