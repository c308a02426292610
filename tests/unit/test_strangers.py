"""Whom a question asks about by name, and whether anything is known of that name."""

from __future__ import annotations

import pytest

from processors.recall.strangers import stranger

KNOWN = ["I live in Porto.", "My sister Lea has a dog called Bruno."]


@pytest.mark.parametrize(
    ("query", "name"),
    [
        ("Where does Pia live?", "Pia"),
        ("where does zelda live?", "zelda"),
        ("what is Nina allergic to?", "Nina"),
        ("What is Pia's job?", "Pia"),
        ("Who is Quentin?", "Quentin"),
        ("Wo wohnt Zelda?", "Zelda"),
        ("Wogegen ist Torvald allergisch?", "Torvald"),
        ("¿Dónde vive Zelda?", "Zelda"),
        ("À quoi Torvald est-il allergique ?", "Torvald"),
        ("Onde mora a Zelda?", "Zelda"),
        ("Wer ist Bruno?", ""),
        ("Wo wohnt Mutter?", ""),
        ("Where does Lea live?", ""),
        ("What is Bruno's favourite toy?", ""),
        ("Did Pia meet Lea's dog?", ""),
        ("Where does my brother live?", ""),
        ("Is Monday free?", ""),
        ("What's my favourite colour?", ""),
        ("did dinner go well", ""),
        ("What did Mom say?", ""),
    ],
)
def test_a_name_that_nothing_tells_of_is_a_stranger(query: str, name: str) -> None:
    assert stranger(query, KNOWN) == name
