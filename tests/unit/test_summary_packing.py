"""What goes into a summary of bounded size: the weightiest that fits, once, in the order of time."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from processors.summaries.building import summary_tokens
from processors.summaries.packing import Candidate, Section, pack


def line(
    text: str,
    score: float = 1.0,
    section: Section = Section.KEY_FACTS,
    *,
    position: int = 0,
    words: Sequence[int] = (),
) -> Candidate:
    return Candidate(section, text, score, position, frozenset(map(str, words)))


def packed(candidates: Sequence[Candidate], limit: int = 10_000) -> list[str]:
    """What is said, list by list, within ``limit`` characters."""
    summary = pack(candidates, limit, len)
    profile = summary.profile
    return [
        *profile.preferences,
        *profile.constraints,
        *summary.key_facts,
        *summary.decisions,
        *summary.open_questions,
        *summary.todos,
    ]


EVERYTHING = [
    line(f"{section.name} {number}.", 1.0 + number / 10, section, position=number)
    for number in range(2)
    for section in Section
]


@pytest.mark.parametrize("section", Section)
def test_what_fits_to_the_last_token_is_said(section: Section) -> None:
    candidates = [each for each in EVERYTHING if each.section is section]
    whole = pack(candidates, 10_000, len)
    assert packed(candidates) == [f"{section.name} 0.", f"{section.name} 1."]
    size = summary_tokens(whole, len)
    assert pack(candidates, size, len) == whole
    assert packed(candidates, size - 1) == [f"{section.name} 1."]


@pytest.mark.parametrize("limit", range(0, 300, 7))
def test_the_bound_is_kept_whatever_the_parts_seem_to_take(limit: int) -> None:
    """A tokenizer's count of the whole is not the sum of those of the parts."""

    def count(text: str) -> int:
        return len(text) + len(text) // 9 * 2

    assert summary_tokens(pack(EVERYTHING, limit, count), count) <= limit


def test_the_same_text_is_said_once_where_it_weighs_most() -> None:
    for heavy, light in ((Section.TODOS, Section.DECISIONS), (Section.DECISIONS, Section.TODOS)):
        twice = [line("Book a TABLE.", 2.0, heavy), line("Book a table.", 1.0, light)]
        assert packed(twice) == packed(twice[::-1]) == ["Book a TABLE."]
