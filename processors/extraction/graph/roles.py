"""Roles of people and animals, and the pronouns for them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from types import MappingProxyType

from processors.text import lexicon

#: What is written, and what is meant.
ROLES: Mapping[str, str] = MappingProxyType(
    {
        **{
            word: word
            for word in (
                "sister brother mother father son daughter child wife husband partner girlfriend "
                "boyfriend fiancé fiancée aunt uncle cousin niece nephew grandmother grandfather "
                "grandson granddaughter stepmother stepfather stepson stepdaughter godmother "
                "godfather goddaughter godson twin friend roommate neighbour colleague boss "
                "teacher professor therapist doctor dentist mentor coach supervisor assistant "
                "accountant lawyer landlord landlady classmate teammate babysitter nanny "
                "mother-in-law father-in-law sister-in-law brother-in-law son-in-law "
                "daughter-in-law"
            ).split()
        },
        "mom": "mother",
        "mum": "mother",
        "mommy": "mother",
        "dad": "father",
        "daddy": "father",
        "kid": "child",
        "spouse": "partner",
        "fiance": "fiancé",
        "fiancee": "fiancée",
        "grandma": "grandmother",
        "granny": "grandmother",
        "grandpa": "grandfather",
        "stepmom": "stepmother",
        "stepdad": "stepfather",
        "pal": "friend",
        "buddy": "friend",
        "flatmate": "roommate",
        "neighbor": "neighbour",
        "coworker": "colleague",
        "co-worker": "colleague",
        "workmate": "colleague",
        "manager": "boss",
        "tutor": "teacher",
        "business partner": "colleague",
        "study partner": "classmate",
        "study buddy": "classmate",
        "work friend": "colleague",
        "academic mentor": "mentor",
        "academic advisor": "mentor",
        "advisor": "mentor",
    }
)

#: The same, of several: "my sisters Anna and Eva".
PLURALS: Mapping[str, str] = MappingProxyType(
    {
        **{f"{word}s": role for word, role in ROLES.items() if not word.endswith(("s", "child", "-law"))},
        "children": "child",
        "wives": "wife",
        "bosses": "boss",
        "buddies": "friend",
        "nannies": "nanny",
    }
)

#: Of whom one speaks as one's own without saying so: "a friend named Bob".
SOCIAL = frozenset(
    "friend pal buddy colleague coworker co-worker workmate roommate flatmate neighbour neighbor cousin "
    "classmate teammate".split()
)

#: Of which a person mostly has one, so that "my sister" is somebody, without a name.
OWN = (
    frozenset(ROLES)
    - SOCIAL
    - frozenset(
        (
            "teacher tutor professor therapist doctor dentist mentor coach supervisor "
            "assistant accountant lawyer child kid babysitter nanny advisor"
        ).split()
    )
    - {word for word in ROLES if " " in word}
)

PETS: Mapping[str, str] = MappingProxyType(
    {
        **{
            word: word
            for word in (
                "dog cat rabbit hamster parrot horse tortoise turtle pony guinea-pig goldfish "
                "lizard gecko snake ferret canary budgie chinchilla hedgehog pet"
            ).split()
        },
        "puppy": "dog",
        "pup": "dog",
        "doggo": "dog",
        "kitten": "cat",
        "kitty": "cat",
        "bunny": "rabbit",
        "guinea pig": "guinea-pig",
    }
)

PET_PLURALS: Mapping[str, str] = MappingProxyType(
    {
        **{f"{word}s": kind for word, kind in PETS.items() if not word.endswith(("y", "fish"))},
        "puppies": "dog",
        "kitties": "cat",
        "bunnies": "rabbit",
        "ponies": "pony",
        "canaries": "canary",
    }
)

_PREFIXES = re.compile(r"^(?:step|god|grand)|-in-law$")


def _of(sex: Iterable[str], *more: str) -> frozenset[str]:
    return frozenset(each for each in ROLES.values() if _PREFIXES.sub("", each) in {*sex, *more})


SHE, HE = _of(lexicon.WOMEN, "landlady"), _of(lexicon.MEN, "landlord")


def may_be(role: str, pronoun: str) -> bool:
    """Return whether "she" or "he" may stand for somebody in this role."""
    others = HE if pronoun == "she" else SHE
    return role not in others
