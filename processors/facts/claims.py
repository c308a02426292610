"""Claim of a statement: which slot it speaks of, which fact it is, and which fact would deny it.

Values are compared by what they name, not as they were written: "Dogs", "dogs " and "the dog" are one.
Only what cannot change the meaning is folded: forms of a letter, case, white space, punctuation at the ends, a
leading article or possessive and, in attributes that common nouns fill, the plural of the last word.
"""

from __future__ import annotations

import re
from typing import NamedTuple
from unicodedata import normalize

from models import ids
from models.errors import InvalidRecord
from models.facts import Fact, FactCandidate
from models.statements import Kind, Polarity, attribute_of

#: Attributes whose values are common nouns: "cats" and "cat" are one pet.  Names have no plural.
_COMMON = frozenset({"pet", "possession", "allergy", "like", "favourite", "family", "health"})

_DETERMINERS = frozenset({"a", "an", "the", "my", "our"})
_SPACES = re.compile(r"\s+")
_SIBILANT = ("ses", "xes", "zes", "ches", "shes")


class Claim(NamedTuple):
    """``line_id``: of the claims that exclude one another; the slot itself where it holds one value.

    ``opposite_id``: the fact that denies this one, ``""`` if none can.
    """

    slot_id: str
    line_id: str
    fact_id: str
    opposite_id: str
    polarity: Polarity
    single: bool


def claim_of(said: FactCandidate | Fact) -> Claim:
    """Return the claim of a statement.

    Raises:
        InvalidRecord: ``unknown_attribute``, ``empty_value``: there is no such slot, or nothing fills it.
    """
    tenant, user = said.tenant_id, said.user_id
    if not said.attribute:
        slot = ids.slot_id(tenant, user, "", "")
        own = ids.text_fact_id(tenant, user, said.statement)
        return Claim(slot, own, own, "", Polarity.AFFIRMED, False)
    name = normalized_attribute(said.attribute)
    known = attribute_of(name)
    if known is None:
        raise InvalidRecord("unknown_attribute", f"there is no attribute {said.attribute!r}: see ATTRIBUTES")
    slot = ids.slot_id(tenant, user, normalized_subject(said.subject), name)
    value = normalized_value(name, said.value)
    if not value:
        raise InvalidRecord("empty_value", f"{said.attribute} has no value: say what fills it, or what ended")
    day = said.event_at.date().isoformat() if known.kind is Kind.EVENT and said.event_at is not None else ""
    affirmed, negated = (ids.fact_id(slot, value, each, day) for each in (Polarity.AFFIRMED, Polarity.NEGATED))
    own, opposite = (affirmed, negated) if said.polarity is Polarity.AFFIRMED else (negated, affirmed)
    line = slot if known.single else affirmed
    return Claim(slot, line, own, opposite, said.polarity, known.single)


def normalized_attribute(name: str) -> str:
    """Fold the writing of an attribute: ``Favourite / Cuisine`` is ``favourite/cuisine``."""
    return "/".join(_folded(part) for part in name.split("/"))


def normalized_subject(subject: str) -> str:
    """Fold the writing of whom it is about: "My sister" is "sister"."""
    return _without_determiner(_trimmed(subject)) or _folded(subject)


def normalized_value(attribute: str, value: str) -> str:
    """Fold the writing of a value, and its plural where the attribute is filled by common nouns."""
    folded = _without_determiner(_trimmed(value))
    if attribute.partition("/")[0] not in _COMMON:
        return folded
    head, space, last = folded.rpartition(" ")
    return head + space + singular(last)


def singular(word: str) -> str:
    """Return an English noun without its plural ending, where that is certain by its form."""
    if len(word) < 4 or not (word.isascii() and word.isalpha()):
        return word
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    if word.endswith(_SIBILANT) and len(word) > 4:
        return word[:-2] if not word.endswith(("ses", "zes")) else word[:-1]
    if word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-1]
    return word


def _folded(text: str) -> str:
    return _SPACES.sub(" ", normalize("NFKC", text).casefold()).strip()


def _trimmed(text: str) -> str:
    """Folded, without punctuation at the ends; "C++" and "$5" keep theirs."""
    return _folded(text).strip(" .,;:!?\"'“”‘’«»()[]…-–—") or _folded(text).strip(" .,;:!?")


def _without_determiner(text: str) -> str:
    first, space, rest = text.partition(" ")
    return rest if space and first in _DETERMINERS else text
