"""What becomes of a person's slots: values that follow one another, grow, end and are taken back."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest

from models import ids
from models.facts import Fact, FactCandidate, FactChange, FactStatus, Provenance
from models.statements import Assertion, Kind, Polarity, attribute_of
from streams.agents.memory.facts import FACTS, Facts
from streams.config.settings import Settings
from streams.runtime.testing import START, StageHarness


class Person:
    """Says things, one window each; ``at``: when, in minutes, if not after what was said last."""

    def __init__(self) -> None:
        self.stage = StageHarness(Facts(Settings()).stage())
        self.said = 0

    def says(self, attribute: str, value: str, *given: Assertion, **changes: Any) -> None:
        self.said += 1
        self.stage.feed(self.stage.record(self.candidate(attribute, value, *given, **changes)))

    def candidate(
        self,
        attribute: str,
        value: str,
        assertion: Assertion = Assertion.HOLDS,
        polarity: Polarity = Polarity.AFFIRMED,
        at: int | None = None,
        event_at: datetime | None = None,
        confidence: float = 0.8,
    ) -> FactCandidate:
        number = self.said
        known = attribute_of(attribute)
        evidence = Provenance(
            conversation_id="c",
            window_id=f"w{number}",
            window_end_id=f"m{number}",
            message_ids=(f"m{number}",),
            quote=f"{attribute}: {value}",
            topic="chat.messages.v1",
            partition=0,
            offsets=(number,),
            sent_at=START + timedelta(minutes=number * 10 if at is None else at),
            arrived_at=START + timedelta(days=1, minutes=number),
        )
        return FactCandidate(
            candidate_id=ids.candidate_id(f"{attribute}{value}", "c", evidence.message_ids),
            user_id="ada",
            kind=Kind.STATE if known is None else known.kind,
            attribute=attribute,
            value=value,
            polarity=polarity,
            assertion=assertion,
            event_at=event_at,
            statement=f"{attribute} {value} {polarity.value}",
            confidence=confidence,
            source_message_ids=evidence.message_ids,
            provenance=evidence,
            extractor="test",
        )

    def known(self) -> dict[str, Fact]:
        """The latest version of each fact, by its value; a denial has ``not`` before it."""
        latest = {fact.fact_id: fact for fact in self.stage.values(FACTS, Fact)}
        return {
            ("not " if fact.polarity is Polarity.NEGATED else "") + fact.value: fact for fact in latest.values()
        }

    def holding(self) -> set[str]:
        return {value for value, fact in self.known().items() if fact.status is FactStatus.ACTIVE}


def minute(number: int) -> datetime:
    return START + timedelta(minutes=number)


def test_three_wordings_are_one_fact_with_three_pieces_of_evidence() -> None:
    ada = Person()
    for wording in ("a dog", "Dogs", "  the ＤＯＧ. "):
        ada.says("pet", wording)
    (fact,) = ada.known().values()
    assert (fact.evidence_count, len(fact.provenance), fact.version) == (3, 3, 3)
    assert fact.confidence == pytest.approx(1 - 0.2 * 0.95**2)
    assert [each.change for each in fact.changes] == [
        FactChange.CREATED,
        FactChange.REINFORCED,
        FactChange.REINFORCED,
    ]


def test_a_new_value_takes_the_place_of_the_old_one() -> None:
    ada = Person()
    ada.says("home", "Berlin", at=10)
    ada.says("home", "Munich", at=20)
    berlin, munich = ada.known()["Berlin"], ada.known()["Munich"]
    assert (berlin.status, berlin.valid_from, berlin.valid_to) == (
        FactStatus.SUPERSEDED,
        minute(10),
        minute(20),
    )
    assert (berlin.superseded_by, munich.status) == (munich.fact_id, FactStatus.ACTIVE)
    assert (berlin.changes[-1].fact_id, berlin.changes[-1].window_id) == (munich.fact_id, "w2")


def test_what_was_said_earlier_enters_the_past_whenever_it_arrives() -> None:
    ada = Person()
    ada.says("home", "Munich", at=20)
    ada.says("home", "Berlin", at=10)
    berlin, munich = ada.known()["Berlin"], ada.known()["Munich"]
    assert ada.holding() == {"Munich"}
    assert (berlin.change, berlin.valid_to, berlin.superseded_by) == (
        FactChange.CREATED,
        munich.valid_from,
        munich.fact_id,
    )


def test_who_comes_back_has_lived_there_before() -> None:
    ada = Person()
    for at, where in ((10, "Berlin"), (20, "Munich"), (30, "Berlin")):
        ada.says("home", where, at=at)
    berlin = ada.known()["Berlin"]
    assert (berlin.status, berlin.valid_from, berlin.valid_to) == (FactStatus.ACTIVE, minute(30), None)
    assert [(each.valid_from, each.valid_to) for each in berlin.past] == [(minute(10), minute(20))]


def test_many_valued_slots_grow_and_opposites_contradict_one() -> None:
    ada = Person()
    ada.says("like", "tea")
    ada.says("like", "jazz")
    ada.says("like", "tea", polarity=Polarity.NEGATED)
    assert ada.holding() == {"jazz", "not tea"}
    tea = ada.known()["tea"]
    assert (tea.status, tea.superseded_by) == (FactStatus.CONTRADICTED, ada.known()["not tea"].fact_id)
    ada.says("like", "tea")
    assert ada.holding() == {"jazz", "tea"}


def test_no_longer_ends_a_value() -> None:
    ada = Person()
    for pet in ("a dog", "a cat"):
        ada.says("pet", pet)
    ada.says("pet", "dogs", Assertion.ENDED)
    assert ada.known()["a dog"].status is FactStatus.ENDED
    assert ada.holding() == {"a cat"}


def test_a_correction_says_that_it_never_was_so() -> None:
    ada = Person()
    ada.says("home", "Berlin", at=10)
    ada.says("home", "Munich", Assertion.CORRECTED, at=11)
    berlin, munich = ada.known()["Berlin"], ada.known()["Munich"]
    assert (berlin.status, berlin.change, berlin.valid_to) == (
        FactStatus.DEPRECATED,
        FactChange.CORRECTED,
        berlin.valid_from,
    )
    assert munich.valid_from == minute(10)


class TestWhatWasCorrectedAndSaidAgain:
    """What it rested on before the correction stays known beside the fact."""
