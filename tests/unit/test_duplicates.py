"""When does a sentence repeat another one?"""

from __future__ import annotations

import math

import pytest

from processors.responses.duplicates import find_duplicate, similarity
from processors.responses.filter_state import FilterPolicy

REPEATED = FilterPolicy().threshold

OPENING = "The museum opens at nine in the morning."


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (OPENING, OPENING),
        (OPENING, "the museum opens at nine in the morning"),
        (OPENING, "**The museum opens, at nine, in the morning!**"),
        (OPENING, "The museum is opening at nine in the morning."),
        ("Ralph's has served red gravy since 1900.", "Ralph's has served its red gravy since 1900."),
        ("You don't need a ticket for this.", "You do not need a ticket for this."),
        ("Die Küche ist bis zehn Uhr geöffnet.", "Die Küche ist bis zehn Uhr geöffnet!"),
        ("今天的天气真的非常好。", "今天的天气真的非常好！"),
        ("It is what it is and that was it.", "It is what it is, and that was it!"),
        ("Leave by exit X at the harbour.", "Leave by exit x at the harbour."),
        ("It is −5 degrees outside now.", "It is -5 degrees outside now."),
        ("今天的・天气，真的非常好。", "今天的天气真的非常好。"),
        ("The café opens at nine today.", "The cafe\u0301 opens at nine today."),
        # What nobody sees parts no words.
        (OPENING, "The mu\u00adse\ufe00u\ufe0fm opens at nine in the morn\u200ding."),
    ],
)
def test_a_sentence_said_again_is_a_duplicate(first: str, second: str) -> None:
    assert similarity(first, second) >= REPEATED


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("Room 12 is free for the whole week.", "Room 13 is free for the whole week."),
        ("Turn the big light in the hall on.", "Turn the big light in the hall off."),
        ("You can park in front of the house.", "You can't park in front of the house."),
        ("The table is booked for Anna Weber.", "The table is booked for Hanna Weber."),
        ("Arrive before the meeting in the hall.", "Arrive after the meeting in the hall."),
        ("You must pay by card at the museum.", "You can pay by card at the museum."),
        ("The museum opens at nine today?", "The museum opens at nine today."),
        ("The ticket for adults costs $5 a day.", "The ticket for adults costs €5 a day."),
        ("The ticket for adults costs ฿500 a day.", "The ticket for adults costs ៛500 a day."),
        ("A man is carrying a dog in a canoe.", "A dog is carrying a man in a canoe."),
        ("Add flour to the bowl and stir.", "Add flour and sugar to the bowl and stir."),
        ("It is minus: -5 degrees outside now.", "It is minus: 5 degrees outside now."),
        ("The old field measures 10² metres.", "The old field measures 102 metres."),
        ("Run `make install` before the tests.", "Run `make Install` before the tests."),
        ("今天的天气真的非常好。", "明天的天气真的非常好。"),
        ("Add ½ cup of milk to the flour.", "Add ¼ cup of milk to the flour."),
        ("It is so.", "It was there."),
        ("It was so.", "It was so good."),
        ("", ""),
        ("...", "..."),
    ],
)
def test_a_sentence_that_says_something_else_is_none(first: str, second: str) -> None:
    assert similarity(first, second) < REPEATED


def test_one_content_word_more_in_ten_is_still_the_same() -> None:
    long = "We met the guide at the old town hall and walked along the river towards the castle gardens"
    assert similarity(f"{long}.", f"{long} together.") >= REPEATED
    assert similarity("The guide waits at the hall.", "The guide waits at the old hall.") < REPEATED


def test_an_ampersand_is_the_word() -> None:
    assert similarity("Open on Monday & Tuesday.", "Open on Monday and Tuesday.") == 1.0


def test_a_score_of_exactly_the_default_threshold_is_a_repetition() -> None:
    said = "Anna Weber met the old guide near our river and bridge"
    assert similarity(f"{said}.", f"{said} together.") == REPEATED
    found = find_duplicate(f"{said}.", ["Something else entirely here.", f"{said} together."], REPEATED)
    assert found is not None and found.score == REPEATED


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("The museum opens at nine today?", "The museum opens at nine today."),
        ("Room 12 is free for the whole week.", "Room 13 is free for the whole week."),
        ("He said that the plant will close.", "The plant will close, he said."),
    ],
)
def test_what_says_something_else_is_not_similar_at_any_threshold(first: str, second: str) -> None:
    assert similarity(first, second) == 0.0
    assert find_duplicate(first, [second], math.nextafter(0.0, 1.0)) is None


def test_nothing_is_like_nothing() -> None:
    assert similarity("", "") == similarity("", OPENING) == similarity(OPENING, "") == 0.0


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (OPENING, "Also the museum is opening at nine in the morning."),
        ("The guide waits at the hall.", "The guide waits at the old hall."),
        ("Yes.", "No."),
    ],
)
def test_threshold_is_exact_on_both_sides(first: str, second: str) -> None:
    """Seed 003, property 3: a duplicate if and only if the score reaches the threshold."""
    score = similarity(first, second)
    found = find_duplicate(second, [first], score)
    assert found is not None and found.score == score
    assert find_duplicate(second, [first], math.nextafter(score, 2)) is None


def test_the_most_similar_and_then_the_last_is_found() -> None:
    near = "Also the museum is opening at nine in the morning."
    found = find_duplicate(OPENING, [near, OPENING.upper(), OPENING, "Something else entirely here."], 0.85)
    assert found is not None and (found.sentence, found.score) == (OPENING, 1.0)
    found = find_duplicate(OPENING, ["Something else entirely here.", near], 0.85)
    assert found is not None and found.sentence == near
    assert find_duplicate(OPENING, [], 0.0) is None
