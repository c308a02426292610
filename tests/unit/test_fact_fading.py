"""How sure of a fact one is by now, and what becomes of one that faded."""

from __future__ import annotations

from datetime import timedelta
from math import exp, log

import msgspec
import pytest
from told_facts import arrival, candidate, evidence, told

from models.facts import Fact, FactStatus
from models.statements import ATTRIBUTES, Kind, attribute_of
from processors.facts.claims import claim_of
from processors.facts.confidence import (
    ACTIVE_FROM,
    active_until,
    confidence_at,
    falls_below,
    is_lasting,
    passive_until,
    rate_of,
    revived,
)
from processors.facts.evidence import learned

DAY = timedelta(days=1)


def known(attribute: str, **other: object) -> Fact:
    said = candidate("nuts", evidence(1), attribute=attribute)
    return msgspec.structs.replace(learned(said, claim_of(said), 1, None), **other)


def test_what_it_does_harm_to_forget_never_fades_whatever_its_kind_and_writing() -> None:
    lasting = {name for name in ATTRIBUTES if attribute_of(name) and is_lasting(known(name))}
    assert lasting == {"allergy", "constraint", "instruction", "medicine"}
    for written in ("Allergy", "allergy/food", "CONSTRAINT"):
        fact = msgspec.structs.replace(known("like"), attribute=written)
        assert is_lasting(fact)
        assert rate_of(fact, dict.fromkeys(Kind, 0.5)) == 0.0
    for written in ("like/allergy", "allergy food", ""):
        assert not is_lasting(msgspec.structs.replace(known("like"), attribute=written))


def test_it_fades_by_the_days_since_it_was_last_heard_of() -> None:
    fact = told(evidence(1), evidence(5))
    assert confidence_at(fact, arrival(5)) == fact.confidence
    assert confidence_at(fact, arrival(5) + DAY / 2) == pytest.approx(fact.confidence * exp(-0.005))
    assert confidence_at(fact, arrival(5) + 100 * DAY) == pytest.approx(fact.confidence * exp(-1))
    assert confidence_at(fact, arrival(5) + DAY, {Kind.STATE: log(2)}) == pytest.approx(fact.confidence / 2)
    assert confidence_at(fact, arrival(5) - DAY) == fact.confidence


def test_it_falls_below_a_threshold_on_the_day_that_its_rate_says() -> None:
    fact = known("home", confidence=0.8)
    assert (falls_below(fact, 0.4) - arrival(1)) / DAY == pytest.approx(log(2) / 0.01)
    assert falls_below(fact, 0.4, {Kind.STATE: log(2)}) == arrival(1) + DAY
    assert active_until(fact, {Kind.STATE: log(0.8 / 0.3)}) == arrival(1) + DAY
    assert passive_until(fact, {Kind.STATE: log(0.8 / 0.5)}) == arrival(1) + DAY
    assert falls_below(fact, 0.8) == arrival(1), "as sure as that only then"


FADED = FactStatus.DEPRECATED


def test_what_faded_stands_again_from_the_confidence_on_that_answers_a_search() -> None:
    faded = known("home", status=FADED, confidence=ACTIVE_FROM)
    assert revived(faded) == msgspec.structs.replace(faded, status=FactStatus.ACTIVE)
    unsure = known("home", status=FADED, confidence=0.29)
    assert revived(unsure) is unsure
    for other in (
        known("home", status=FADED, valid_to=arrival(1)),
        known("home", status=FactStatus.SUPERSEDED, valid_to=arrival(1)),
    ):
        assert revived(other) is other
