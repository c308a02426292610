"""What follows from what was said when, of which facts, and how sure of them one is by now."""

from __future__ import annotations

from datetime import timedelta
from itertools import permutations
from math import exp, log

import msgspec
import pytest
from told_facts import Memory, arrival, candidate, evidence, minute, told

from models.facts import Fact, FactStatus, Period, Provenance
from models.statements import ATTRIBUTES, Assertion, Kind, Polarity, Precision, attribute_of
from processors.facts.claims import claim_of
from processors.facts.confidence import (
    ACTIVE_FROM,
    FOREVER,
    PASSIVE_FROM,
    active_until,
    confidence_at,
    falls_below,
    is_lasting,
    passive_until,
    rate_of,
    revived,
)
from processors.facts.evidence import learned
from processors.facts.marks import MARKS_LIMIT

ENDED, CORRECTED, NEGATED = Assertion.ENDED, Assertion.CORRECTED, Polarity.NEGATED

#: So unsure that it ends nothing.
ASKED = 0.45


@pytest.fixture
def ada() -> Memory:
    return Memory()


def holding(ada: Memory) -> set[str]:
    return {fact.value for fact in ada.topic.values() if fact.status is FactStatus.ACTIVE}


class TestOneValue:
    def test_interjections_part_what_surrounds_them(self, ada: Memory) -> None:
        for value, at in (("Rome", 1), ("Berlin", 3), ("Berlin", 9), ("Oslo", 5)):
            ada.says("home", value, at)
        berlin, rome = ada.known("home", "Berlin"), ada.known("home", "Rome")
        assert (berlin.status, berlin.valid_from) == (FactStatus.ACTIVE, minute(9))
        assert berlin.past == (Period(minute(3), minute(5)),)
        assert (rome.status, rome.valid_from, rome.valid_to) == (FactStatus.SUPERSEDED, minute(1), minute(3))
        assert [mark.first.sent_at for mark in ada.of("home", "Oslo").marks] == [
            minute(n) for n in (1, 3, 5, 9)
        ]

    @pytest.mark.parametrize("order", [("Berlin", "Rome"), ("Rome", "Berlin")])
    def test_of_two_simultaneous_facts_the_later_logged_holds(
        self, ada: Memory, order: tuple[str, str]
    ) -> None:
        said = {
            "Berlin": evidence(1, sent_at=minute(9), arrived_at=arrival(9)),
            "Rome": evidence(2, sent_at=minute(9), arrived_at=arrival(9)),
        }
        for value in order:
            ada.says("home", value, 9, provenance=said[value])
        assert holding(ada) == {"Rome"}

    def test_what_it_is_not_stays_so_whatever_it_is(self, ada: Memory) -> None:
        ada.says("home", "Berlin", 1, polarity=NEGATED)
        ada.says("home", "Rome", 5)
        assert holding(ada) == {"Berlin", "Rome"}
        assert ada.known("home", "Berlin", NEGATED).status is FactStatus.ACTIVE


@pytest.mark.parametrize(("ahead", "holds"), [(6, "Munich"), (4, "Berlin")])
def test_a_clock_that_runs_ahead_counts_as_its_arrival(ada: Memory, ahead: int, holds: str) -> None:
    wrong = arrival(1) + timedelta(minutes=ahead)
    ada.says("home", "Berlin", 1, provenance=evidence(1, sent_at=wrong))
    ada.says("home", "Munich", 2, provenance=evidence(2, sent_at=arrival(2)))
    assert holding(ada) == {holds}


class TestUnsurely:
    def test_from_where_on_it_is_said_surely(self, ada: Memory) -> None:
        ada.says("home", "Berlin", 1, confidence=PASSIVE_FROM)
        ada.says("home", "Rome", 5, confidence=PASSIVE_FROM - 0.01)
        assert [ada.known("home", value).tentative for value in ("Berlin", "Rome")] == [False, True]
        assert holding(ada) == {"Berlin", "Rome"}

    def test_a_sure_saying_holds_since_it_was_asked(self, ada: Memory) -> None:
        ada.says("home", "Berlin", 1, confidence=ASKED)
        ada.says("home", "Berlin", 5)
        berlin = ada.known("home", "Berlin")
        assert (berlin.tentative, berlin.valid_from, berlin.past) == (False, minute(1), ())
        ada.says("home", "Rome", 9, confidence=ASKED)
        assert holding(ada) == {"Berlin", "Rome"}

    def test_of_what_is_asked_for_the_last_holds(self, ada: Memory) -> None:
        ada.says("home", "Berlin", 1)
        ada.says("home", "Rome", 5, confidence=ASKED)
        ada.says("home", "Oslo", 9, confidence=ASKED)
        ada.says("home", "Oslo", 11, confidence=ASKED)
        assert holding(ada) == {"Berlin", "Oslo"}
        assert ada.known("home", "Oslo").valid_from == minute(9)

    def test_frequent_requests_push_out_nothing_valid(self, ada: Memory) -> None:
        ada.says("home", "Berlin", 0)
        for number in range(1, MARKS_LIMIT + 8):
            ada.says("home", ("Rome", "Oslo")[number % 2], number, confidence=ASKED)
        berlin = ada.known("home", "Berlin")
        assert (berlin.status, berlin.valid_from, berlin.version) == (FactStatus.ACTIVE, minute(0), 1)
        marks = ada.of("home", "Berlin").marks
        assert len(marks) == MARKS_LIMIT
        assert [mark.first.sent_at for mark in marks] == [minute(0), *(minute(n) for n in range(9, 40))]


class TestWhatWasFirstHeardOfAsOver:
    def test_it_is_worded_as_itself_once_said(self, ada: Memory) -> None:
        ada.says("home", "Berlin", 5, ENDED, statement="Used to live in Berlin")
        ada.says("home", "Berlin", 6, ENDED, statement="Left Berlin")
        assert ada.known("home", "Berlin").statement == "Used to live in Berlin"
        ada.says("home", "Berlin", 3, statement="Lives in Berlin")
        ada.says("home", "Berlin", 2, statement="Stays in Berlin")
        berlin = ada.known("home", "Berlin")
        assert (berlin.statement, berlin.status) == ("Lives in Berlin", FactStatus.ENDED)
        assert (berlin.valid_from, berlin.valid_to) == (minute(2), minute(5))


def since(at: int, began: int) -> dict[str, Provenance]:
    """Said at a minute, of what began at another."""
    return {"provenance": evidence(at, since=minute(began))}


class TestSince:
    @pytest.mark.parametrize(
        "order", [*permutations([("Berlin", 1, None), ("Munich", 9, 5), ("Munich", 12, 4)])]
    )
    def test_it_began_at_the_earliest_and_ended_the_other(
        self, ada: Memory, order: tuple[tuple[str, int, int | None], ...]
    ) -> None:
        for value, at, began in order:
            ada.says("home", value, at, **({} if began is None else since(at, began)))
        berlin, munich = ada.known("home", "Berlin"), ada.known("home", "Munich")
        assert (berlin.status, berlin.valid_from, berlin.valid_to) == (
            FactStatus.SUPERSEDED,
            minute(1),
            minute(4),
        )
        assert (munich.status, munich.valid_from, munich.evidence_count) == (FactStatus.ACTIVE, minute(4), 2)

    def test_who_is_back_since_earlier_never_left(self, ada: Memory) -> None:
        ada.says("home", "Berlin", 1)
        ada.says("home", "Munich", 5)
        ada.says("home", "Berlin", 9, **since(9, 0))
        berlin, munich = ada.known("home", "Berlin"), ada.known("home", "Munich")
        assert (berlin.valid_from, berlin.past, berlin.valid_to) == (minute(0), (), None)
        assert (munich.status, munich.valid_from, munich.valid_to) == (
            FactStatus.SUPERSEDED,
            minute(5),
            minute(5),
        )


def test_how_precisely_a_day_is_known_is_kept(ada: Memory) -> None:
    ada.says("event", "a move", 1, event_precision=Precision.DAY)
    (fact,) = ada.topic.values()
    assert fact.event_precision is Precision.DAY


DAY = timedelta(days=1)


def known(attribute: str, **other: object) -> Fact:
    said = candidate("nuts", evidence(1), attribute=attribute)
    return msgspec.structs.replace(learned(said, claim_of(said), 1, None), **other)


def test_harmful_to_forget_facts_never_fade() -> None:
    lasting = {name for name in ATTRIBUTES if attribute_of(name) and is_lasting(known(name))}
    assert lasting == {"allergy", "constraint", "instruction", "medicine"}
    for written in ("Allergy", "allergy/food", "CONSTRAINT"):
        fact = msgspec.structs.replace(known("like"), attribute=written)
        assert is_lasting(fact)
        assert rate_of(fact, dict.fromkeys(Kind, 0.5)) == 0.0
    for written in ("like/allergy", "allergy food", ""):
        assert not is_lasting(msgspec.structs.replace(known("like"), attribute=written))


def test_it_fades_by_days_since_last_heard() -> None:
    fact = told(evidence(1), evidence(5))
    assert confidence_at(fact, arrival(5)) == fact.confidence
    assert confidence_at(fact, arrival(5) + DAY / 2) == pytest.approx(fact.confidence * exp(-0.005))
    assert confidence_at(fact, arrival(5) + 100 * DAY) == pytest.approx(fact.confidence * exp(-1))
    assert confidence_at(fact, arrival(5) + DAY, {Kind.STATE: log(2)}) == pytest.approx(fact.confidence / 2)
    assert confidence_at(fact, arrival(5) - DAY) == fact.confidence


def test_it_falls_below_a_threshold_on_the_computed_day() -> None:
    fact = known("home", confidence=0.8)
    assert (falls_below(fact, 0.4) - arrival(1)) / DAY == pytest.approx(log(2) / 0.01)
    assert falls_below(fact, 0.4, {Kind.STATE: log(2)}) == arrival(1) + DAY
    assert active_until(fact, {Kind.STATE: log(0.8 / 0.3)}) == arrival(1) + DAY
    assert passive_until(fact, {Kind.STATE: log(0.8 / 0.5)}) == arrival(1) + DAY
    assert falls_below(fact, 0.8) == arrival(1), "as sure as that only then"
    assert falls_below(fact, 0.4, {Kind.STATE: 1e-12}) == falls_below(fact, 0.0) == FOREVER


FADED = FactStatus.DEPRECATED


def test_faded_facts_return_at_a_search_s_confidence() -> None:
    faded = known("home", status=FADED, confidence=ACTIVE_FROM)
    assert revived(faded) == msgspec.structs.replace(faded, status=FactStatus.ACTIVE)
    unsure = known("home", status=FADED, confidence=0.29)
    assert revived(unsure) is unsure
    for other in (
        known("home", status=FADED, valid_to=arrival(1)),
        known("home", status=FactStatus.SUPERSEDED, valid_to=arrival(1)),
    ):
        assert revived(other) is other
