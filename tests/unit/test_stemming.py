"""The stem of an English word: the same for its forms, any other word as it is."""

from __future__ import annotations

import pytest

from processors.text.stemming import stem_of


@pytest.mark.parametrize(
    "forms",
    [
        ("walk", "walks", "walked", "walking"),
        ("plan", "plans", "planned", "planning"),
        ("bake", "bakes", "baked", "baking"),
        ("city", "cities"),
        ("box", "boxes"),
    ],
)
def test_the_forms_of_a_word_share_a_stem(forms: tuple[str, ...]) -> None:
    assert len({stem_of(form) for form in forms}) == 1


@pytest.mark.parametrize("word", ["bus", "this", "is", "ring", "1990s", "straßes", "東京"])
def test_what_only_looks_inflected_stays(word: str) -> None:
    assert stem_of(word) == word


def test_other_words_have_other_stems() -> None:
    words = ["walk", "talk", "city", "site", "book", "boot", "glass", "glance"]
    assert len(set(map(stem_of, words))) == len(words)
