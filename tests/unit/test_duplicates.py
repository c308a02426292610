"""When does a sentence repeat another one?"""

from __future__ import annotations

import pytest

from processors.responses.duplicates import find_duplicate, similarity
from processors.responses.filter_state import FilterPolicy

REPEATED = FilterPolicy().threshold

OPENING = "The museum opens at nine in the morning."


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (OPENING, OPENING),
        (OPENING, "**The museum opens, at nine, in the morning!**"),
        ("Ralph's has served red gravy since 1900.", "Ralph's has served its red gravy since 1900."),
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
        ("You can park in front of the house.", "You can't park in front of the house."),
        ("The museum opens at nine today?", "The museum opens at nine today."),
        ("Add flour to the bowl and stir.", "Add flour and sugar to the bowl and stir."),
        ("今天的天气真的非常好。", "明天的天气真的非常好。"),
        ("", ""),
    ],
)
def test_a_sentence_that_says_something_else_is_none(first: str, second: str) -> None:
    assert similarity(first, second) < REPEATED


def test_the_most_similar_and_then_the_last_is_found() -> None:
    near = "Also the museum is opening at nine in the morning."
    found = find_duplicate(OPENING, [near, OPENING.upper(), OPENING, "Something else entirely here."], 0.85)
    assert found is not None and (found.sentence, found.score) == (OPENING, 1.0)
    found = find_duplicate(OPENING, ["Something else entirely here.", near], 0.85)
    assert found is not None and found.sentence == near
    assert find_duplicate(OPENING, [], 0.0) is None
