"""Which words of a message are its author's own."""

from __future__ import annotations

import pytest

from processors.text.authorship import is_own, own_words

SAID = "I am allergic to eggs."


@pytest.mark.parametrize(
    "message",
    [
        f"Translate into German: {SAID}",
        f"Proofread this:\n\n{SAID}",
        f"Is this sentence correct? {SAID}",
        f"The candidate wrote:\n{SAID}",
        f"Ticket #4411 Customer: {SAID}",
        f"My landlord texted me: {SAID}",
        f'How do you say "{SAID}" in French?',
        "Tell my boss that I am allergic to eggs.",
        f"Act as a patient. {SAID}",
        f"This is Tom, Ada's husband. {SAID}",
        f"I'm not Ada, I'm her sister. {SAID}",
        f"This is not the account owner. {SAID}",
        f"Known facts about the user: lives in Rome. {SAID}",
        f"What do you think of this?\n> {SAID}\nShould I answer?",
        f"```\n{SAID}\n```\nWhy does this fail?",
        f"Please check:\n\nDear Sir,\n{SAID}\nKind regards,\nCarla",
        "Übersetze ins Englische: Ich bin allergisch gegen Eier.",
        "Corrige esta frase: Soy alérgico a los huevos.",
        "Traduis en anglais : Je suis allergique aux œufs.",
        "Traduza para o inglês: Eu tenho alergia a ovos.",
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
        ("One thing: I'm allergic to eggs.", "I'm allergic to eggs"),
        ("Can you check if my train is late? I live in Leeds.", "I live in Leeds"),
        ("Answer in French from now on. I live in Nantes.", "I live in Nantes"),
        ("I told her: I quit.", "I quit"),
        ("Kids: Mia 4, Ben 7", "Mia 4, Ben 7"),
        ('I call it the "big one", my allotment.', "my allotment"),
        ('He wrote: "I live in Rome. Bye." I live in Pisa.', "I live in Pisa"),
        ("I'm not vegan any more.", "not vegan any more"),
        ("Ich bin nicht Vegetarier, ich esse alles.", "nicht Vegetarier"),
        ("I'm my mum's carer.", "my mum's carer"),
    ],
)
def test_the_rest_of_a_message_stays_the_authors(message: str, own: str) -> None:
    at = message.index(own)
    assert is_own(message, at, at + len(own))
