"""Which words of a message are its author's own."""

from __future__ import annotations

import pytest

from processors.text.authorship import is_own, own_words

SAID = "I am allergic to eggs."


@pytest.mark.parametrize(
    "message",
    [
        f"Translate into German: {SAID}",
        f'How do you say "{SAID}" in French?',
        f"Known facts about the user: lives in Rome. {SAID}",
        f"Please check:\n\nDear Sir,\n{SAID}\nKind regards,\nCarla",
        "Traduis en anglais : Je suis allergique aux œufs.",
    ],
)
def test_text_of_others_is_not_the_authors(message: str) -> None:
    left = own_words(message).lower()
    assert len(left) == len(message)
    assert not any(word in left for word in ("allerg", "alérg", "alerg"))


@pytest.mark.parametrize(
    ("message", "own"),
    [
        (
            "Translate this for my mum, she only speaks Thai: I am allergic to eggs",
            "my mum, she only speaks Thai",
        ),
        ("Can you check if my train is late? I live in Leeds.", "I live in Leeds"),
        ('I call it the "big one", my allotment.', "my allotment"),
        ("I'm my mum's carer.", "my mum's carer"),
    ],
)
def test_the_rest_of_a_message_stays_the_authors(message: str, own: str) -> None:
    at = message.index(own)
    assert is_own(message, at, at + len(own))
