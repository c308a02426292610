"""Patterns of one's own: RE2's, so that none takes more than linear time; and what a mask never changes."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.errors import ConfigurationError
from models.patterns import LONGEST_PATTERN, MOST_PATTERNS
from processors.retrieval.recall.cards import is_card_number
from processors.retrieval.recall.masking import Masker
from streams.config.settings import load_settings


def test_what_one_says_is_masked() -> None:
    masker = Masker([r"EMP-\d{6}", r"(?i)project\s+\w+"])
    text, found = masker.mask("EMP-123456 leads Project Nightjar, EMP-12 does not.")
    assert text == "[masked: own pattern] leads [masked: own pattern], EMP-12 does not."
    assert found == {"own pattern": 2}


@pytest.mark.parametrize("pattern", ["(a+)+$", "(a|aa)+$", "(.*a){25}", "(x+x+)+y", r"(\w+\s?)*!"])
def test_a_pattern_that_would_explode_does_not(pattern: str) -> None:
    masker = Masker([pattern])
    masker.mask("a" * 60_000 + "!")  # with a backtracking engine the test would not end
    masker.mask("x" * 60_000)


@pytest.mark.parametrize(
    ("patterns", "said"),
    [
        (["("], "no regular expression of RE2.*missing \\)"),
        ([r"(a)\1"], "no regular expression of RE2"),
        (["a*"], "matches the empty text"),
        (["a" * (LONGEST_PATTERN + 1)], f"{LONGEST_PATTERN} are allowed"),
        (["a"] * (MOST_PATTERNS + 1), f"at most {MOST_PATTERNS}"),
    ],
)
def test_a_pattern_that_cannot_be_is_refused(patterns: list[str], said: str) -> None:
    with pytest.raises(ConfigurationError, match=said):
        Masker(patterns)


def test_a_setting_that_is_right(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SWITCHBOARD_MASK_PATTERNS", r'["EMP-\\d+", "é{2}"]')
    assert load_settings().own_patterns == [r"EMP-\d+", "é{2}"]


@given(st.text(alphabet="0123456789 -.,+aé\n", max_size=80))
def test_masking_digits_is_idempotent_and_leaves_all_else(text: str) -> None:
    masker = Masker()
    once, found = masker.mask(text)
    assert masker.mask(once)[0] == once
    if not found:
        assert once == text


@given(st.integers(0, 2**32), st.sampled_from(["", " ", "-", "."]))
def test_every_card_number_of_sixteen_digits_goes(seed: int, separator: str) -> None:
    chance = random.Random(seed)
    while not is_card_number(number := "4" + "".join(chance.choices("0123456789", k=15))):
        pass
    written = separator.join(number[n : n + 4] for n in range(0, 16, 4))
    assert Masker().mask(f"it is {written}, I think")[0] == "it is [masked: card number], I think"
