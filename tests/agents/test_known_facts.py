"""memory/facts: what an extractor that was shown a fact says of it."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from test_consolidation import Harness
from test_ending_facts import said, steps

from models.consolidation import Step
from models.facts import Fact, FactStatus
from models.statements import Change
from streams.agents.memory.facts import FACTS
from streams.runtime.testing import START

FOOTBALL = "The user plays football on Tuesdays."
HABIT: dict[str, Any] = {"attribute": "habit", "value": "football"}


def told(harness: Harness, text: str, day: int, **changes: Any) -> Fact:
    """Let the person say something; return the fact that was written last."""
    harness.take(harness.record(said(text, day, **changes)))
    return {each.statement: each for each in harness.values(FACTS, Fact)}.get(text) or harness.values(
        FACTS, Fact
    )[-1]


def standing(harness: Harness) -> dict[str, Fact]:
    return {each.fact_id: each for each in harness.values(FACTS, Fact)}


def played() -> tuple[Harness, Fact]:
    harness = Harness()
    return harness, told(harness, FOOTBALL, 1, **HABIT)


def test_the_same_in_other_words_is_evidence_for_what_is_known() -> None:
    harness, football = played()
    told(harness, "The user is a regular five-a-side player.", 9, change=Change.AGAIN, known=football.fact_id)
    (fact,) = standing(harness).values()
    assert (fact.fact_id, fact.evidence_count, fact.statement) == (football.fact_id, 2, FOOTBALL)


@pytest.mark.parametrize(
    ("change", "status"),
    [
        (Change.ENDS, FactStatus.ENDED),
        (Change.REPLACES, FactStatus.SUPERSEDED),
        (Change.CORRECTS, FactStatus.SUPERSEDED),
    ],
)
def test_a_known_fact_ends_when_it_was_said(change: Change, status: FactStatus) -> None:
    harness, football = played()
    over = told(harness, "The user runs now instead.", 9, change=change, known=football.fact_id)
    ended = standing(harness)[football.fact_id]
    assert (ended.status, ended.valid_to, ended.superseded_by) == (
        status,
        START + timedelta(days=9),
        over.fact_id,
    )
    assert over.status is FactStatus.ACTIVE
    (step,) = steps(harness)
    assert (step.step, step.by) == (Step.ENDS if change is Change.ENDS else Step.REPLACES, "test")


def test_a_correction_within_a_slot_takes_the_value_back() -> None:
    harness = Harness()
    cat = told(harness, "The user has a cat.", 1, attribute="pet", value="cat")
    told(
        harness,
        "The user has a dog.",
        2,
        attribute="pet",
        value="dog",
        change=Change.CORRECTS,
        known=cat.fact_id,
    )
    assert [each.status for each in standing(harness).values()] == [FactStatus.DEPRECATED, FactStatus.ACTIVE]
    assert not steps(harness)


@pytest.mark.parametrize("change", [Change.AGAIN, Change.REPLACES, Change.ENDS, Change.CORRECTS])
@pytest.mark.parametrize("known", ["nothing", "somebody else's"])
def test_what_is_not_theirs_is_left_alone(change: Change, known: str) -> None:
    harness, football = played()
    whose: dict[str, Any] = {"user_id": "bob"} if known == "somebody else's" else {}
    fact_id = "f-none" if known == "nothing" else football.fact_id
    found = told(harness, "The user runs.", 9, change=change, known=fact_id, **whose)
    assert standing(harness)[football.fact_id].status is FactStatus.ACTIVE
    assert (found.statement, found.status) == ("The user runs.", FactStatus.ACTIVE)


@pytest.mark.parametrize("change", [Change.REPLACES, Change.ENDS, Change.CORRECTS])
def test_what_was_said_earlier_ends_nothing(change: Change) -> None:
    harness, football = played()
    told(harness, "The user runs.", 0, change=change, known=football.fact_id)
    assert standing(harness)[football.fact_id].status is FactStatus.ACTIVE
