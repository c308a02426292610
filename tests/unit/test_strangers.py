"""Whom a question asks about by name, and whether anything is known of that name."""

from __future__ import annotations

import pytest

from processors.retrieval.recall.strangers import stranger

KNOWN = ["I live in Porto.", "My sister Lea has a dog called Bruno."]


@pytest.mark.parametrize(
    ("query", "name"),
    [
        ("Where does Pia live?", "Pia"),
        ("What is Pia's job?", "Pia"),
        ("Wogegen ist Torvald allergisch?", "Torvald"),
        ("Where does Lea live?", ""),
        ("Where does my brother live?", ""),
        ("What did Mom say?", ""),
    ],
)
def test_a_name_that_nothing_tells_of_is_a_stranger(query: str, name: str) -> None:
    assert stranger(query, KNOWN) == name
