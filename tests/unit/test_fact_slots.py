"""Slots of a person: values that follow one another, grow, end and are taken back."""

from __future__ import annotations

import pytest
from told_facts import Memory, minute

from models.facts import Fact, FactChange, FactStatus
from models.statements import Assertion, Polarity


def test_three_wordings_are_one_fact_with_three_pieces_of_evidence() -> None:
    ada = Memory()
    for at, wording in enumerate(("a dog", "Dogs", "  the ＤＯＧ. ")):
        ada.says("pet", wording, at)
    (fact,) = ada.topic.values()
    assert (fact.evidence_count, len(fact.provenance), fact.version) == (3, 3, 3)
    assert fact.confidence == pytest.approx(1 - 0.2 * 0.95**2)
    assert [each.change for each in fact.changes] == [FactChange.CREATED] + [FactChange.REINFORCED] * 2


def homes(*said: tuple[str, int], last: Assertion = Assertion.HOLDS) -> tuple[Fact, Fact]:
    """Return Berlin and Munich after Ada has said where she lives, at these minutes, in this order."""
    ada = Memory()
    for at, (where, sent) in enumerate(said, 1):
        ada.says("home", where, sent, last if at == len(said) else Assertion.HOLDS)
    return ada.known("home", "Berlin"), ada.known("home", "Munich")


def test_a_new_value_takes_the_place_of_the_old_one() -> None:
    berlin, munich = homes(("Berlin", 10), ("Munich", 20))
    assert (berlin.status, munich.status) == (FactStatus.SUPERSEDED, FactStatus.ACTIVE)
    assert (berlin.valid_from, berlin.valid_to) == (minute(10), minute(20))
    assert berlin.superseded_by == berlin.changes[-1].fact_id == munich.fact_id


def test_an_earlier_value_that_arrives_late_becomes_history() -> None:
    berlin, munich = homes(("Munich", 20), ("Berlin", 10))
    assert (berlin.status, munich.status) == (FactStatus.SUPERSEDED, FactStatus.ACTIVE)
    assert (berlin.change, berlin.valid_to) == (FactChange.CREATED, munich.valid_from)
    assert berlin.superseded_by == munich.fact_id


def test_a_home_returned_to_keeps_its_earlier_time() -> None:
    berlin, _ = homes(("Berlin", 10), ("Munich", 20), ("Berlin", 30))
    assert (berlin.status, berlin.valid_from, berlin.valid_to) == (FactStatus.ACTIVE, minute(30), None)
    assert [(each.valid_from, each.valid_to) for each in berlin.past] == [(minute(10), minute(20))]


def test_a_correction_says_that_it_never_was_so() -> None:
    berlin, munich = homes(("Berlin", 10), ("Munich", 11), last=Assertion.CORRECTED)
    assert (berlin.status, berlin.change) == (FactStatus.DEPRECATED, FactChange.CORRECTED)
    assert berlin.valid_from == berlin.valid_to == munich.valid_from == minute(10)


def holding(ada: Memory) -> set[tuple[str, Polarity]]:
    return {(fact.value, fact.polarity) for fact in ada.topic.values() if fact.status is FactStatus.ACTIVE}


def test_many_valued_slots_grow_and_opposites_contradict_one() -> None:
    ada = Memory()
    ada.says("like", "tea", 1)
    ada.says("like", "jazz", 2)
    ada.says("like", "tea", 3, polarity=Polarity.NEGATED)
    assert holding(ada) == {("jazz", Polarity.AFFIRMED), ("tea", Polarity.NEGATED)}
    tea = ada.known("like", "tea")
    assert tea.status is FactStatus.CONTRADICTED
    assert tea.superseded_by == ada.known("like", "tea", Polarity.NEGATED).fact_id
    ada.says("like", "tea", 4)
    assert holding(ada) == {("jazz", Polarity.AFFIRMED), ("tea", Polarity.AFFIRMED)}


def test_no_longer_ends_a_value() -> None:
    ada = Memory()
    ada.says("pet", "a dog", 1)
    ada.says("pet", "a cat", 2)
    ada.says("pet", "dogs", 3, Assertion.ENDED)
    assert ada.known("pet", "a dog").status is FactStatus.ENDED
    assert holding(ada) == {("a cat", Polarity.AFFIRMED)}
