"""What a sentence claims: which slot, which fact, what would deny it, and how values are written."""

from __future__ import annotations

import msgspec
import pytest
from told_facts import candidate, claimed, evidence

from models import ids
from models.facts import FactCandidate
from models.statements import Polarity
from processors.facts.claims import (
    claim_of,
    normalized_subject,
    normalized_value,
    singular,
)

AFFIRMED, NEGATED = Polarity.AFFIRMED, Polarity.NEGATED


def said(attribute: str, value: str, **other: object) -> FactCandidate:
    return msgspec.structs.replace(candidate(value, evidence(1)), attribute=attribute, **other)


def slot(attribute: str, subject: str = "user") -> str:
    return ids.slot_id("acme", "ada", subject, attribute)


def test_subject_and_speaker_distinguish_facts() -> None:
    told_of = [
        ("user", "acme", "ada"),
        ("my sister", "acme", "ada"),
        ("user", "b", "ada"),
        ("user", "acme", "bo"),
    ]
    claims = [
        claim_of(said("home", "Berlin", subject=subject, tenant_id=tenant, user_id=user))
        for subject, tenant, user in told_of
    ]
    assert len({each.fact_id for each in claims}) == len({each.slot_id for each in claims}) == 4
    assert claims[1].slot_id == slot("home", "sister")
    free = {claim_of(said("", "", tenant_id=tenant, user_id=user)) for _, tenant, user in told_of}
    assert len(free) == len({each.slot_id for each in free}) == 3
    assert claim_of(said("home", "Berlin")).fact_id == claimed("home", "berlin").fact_id


def test_a_subject_is_one_however_it_is_written() -> None:
    for written in ("My  Sister", "sister", "our sister.", "the SISTER", "“a sister”", "an sister"):
        assert normalized_subject(written) == "sister"
    assert normalized_subject("myself") == "myself"
    assert normalized_subject("a") == "a", "an article alone is a name"
    assert normalized_subject("My...") == "my"
    assert normalized_subject("Sister  Anna") == "sister anna"
    assert normalized_subject(" . ") == ".", "whoever it is, not nobody"


@pytest.mark.parametrize(
    "attribute", ["pet", "possession", "allergy", "like", "favourite/x", "family", "health"]
)
def test_one_and_many_of_a_common_noun_are_the_same(attribute: str) -> None:
    assert normalized_value(attribute, "my old Dogs") == normalized_value(attribute, "an old dog") == "old dog"
    assert normalized_value(attribute, "dogs") == "dog"
    assert normalized_value(attribute, "dogs of war") == "dogs of war"


def test_a_plural_is_folded_only_where_its_form_is_certain() -> None:
    folded = {
        "dogs": "dog", "cats": "cat", "berries": "berry", "ties": "tie", "pies": "pie", "boxes": "box",
        "axes": "axe", "spies": "spy", "watches": "watch", "dishes": "dish", "roses": "rose", "mazes": "maze",
        "houses": "house", "sizes": "size",
        "uses": "use", "ches": "che", "shoes": "shoe", "babies": "baby", "cars": "car",
    }  # fmt: skip
    assert {word: singular(word) for word in folded} == folded
    for kept in (
        "bus",
        "glass",
        "café",
        "x-rays",
        "",
    ):
        assert singular(kept) == kept
