"""Sentences of chat text: what is cut, what is not, and that spans quote exactly."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from processors.text.sentences import sentence_spans, sentences


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("I like tea. I hate coffee.", ["I like tea.", "I hate coffee."]),
        ("Dr. Smith said hi. Mr. Lee left.", ["Dr. Smith said hi.", "Mr. Lee left."]),
        ("I like tea.It is good", ["I like tea.", "It is good"]),
        ("彼は「行く。」と言った。", ["彼は「行く。」", "と言った。"]),
        ("one line\r\nanother line", ["one line", "another line"]),
        ("😀 !!", []),
    ],
)
def test_examples(text: str, expected: list[str]) -> None:
    assert sentences(text) == expected


@given(st.text(max_size=200))
def test_no_word_is_lost(text: str) -> None:
    covered = {n for start, end in sentence_spans(text) for n in range(start, end)}
    lost = {n for n, character in enumerate(text) if character.isalpha()} - covered
    # The one letter that may go is that of a list mark: "a) milk".
    assert all(text[n + 1 : n + 2] == ")" for n in lost)


@pytest.mark.parametrize("unit", ["a", ".", "!?", "a. ", "😀", "\n", "( ", '"', "。", "x" * 61 + "\nx"])
def test_a_message_of_the_largest_size_is_cut_in_pieces(unit: str) -> None:
    text = (unit * 65536)[:65536]
    assert all(end - start <= 4000 for start, end in sentence_spans(text))
