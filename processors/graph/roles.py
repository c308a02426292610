"""What people and animals are to the one who speaks, and which pronoun may stand for them."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

#: What is written, and what is meant.
ROLES: Mapping[str, str] = MappingProxyType(
    {
        "sister": "sister",
        "brother": "brother",
        "mother": "mother",
        "mom": "mother",
        "mum": "mother",
        "father": "father",
        "dad": "father",
        "son": "son",
        "daughter": "daughter",
        "wife": "wife",
        "husband": "husband",
        "partner": "partner",
        "girlfriend": "girlfriend",
        "boyfriend": "boyfriend",
        "fiancé": "fiancé",
        "fiance": "fiancé",
        "fiancée": "fiancée",
        "fiancee": "fiancée",
        "aunt": "aunt",
        "uncle": "uncle",
        "cousin": "cousin",
        "niece": "niece",
        "nephew": "nephew",
        "grandmother": "grandmother",
        "grandma": "grandmother",
        "grandfather": "grandfather",
        "grandpa": "grandfather",
        "friend": "friend",
        "roommate": "roommate",
        "flatmate": "roommate",
        "neighbour": "neighbour",
        "neighbor": "neighbour",
        "colleague": "colleague",
        "coworker": "colleague",
        "co-worker": "colleague",
        "boss": "boss",
        "manager": "boss",
        "teacher": "teacher",
        "therapist": "therapist",
        "doctor": "doctor",
    }
)

PETS: Mapping[str, str] = MappingProxyType(
    {
        **{word: word for word in ("dog", "cat", "rabbit", "hamster", "parrot", "horse", "tortoise", "pony")},
        "puppy": "dog",
        "kitten": "cat",
        "bunny": "rabbit",
    }
)

SHE = frozenset(
    "sister mother daughter wife girlfriend fiancée aunt niece grandmother".split()  # noqa: SIM905 - a table
)
HE = frozenset("brother father son husband boyfriend fiancé uncle nephew grandfather".split())  # noqa: SIM905


def may_be(role: str, pronoun: str) -> bool:
    """Whether "she" or "he" may stand for whoever is this to the speaker."""
    others = HE if pronoun == "she" else SHE
    return role not in others
