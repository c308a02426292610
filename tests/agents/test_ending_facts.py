"""memory/facts: a fact that another one ends by what it says, in whatever order they come."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from memory_samples import candidate, crashing
from test_consolidation import Harness, _id, consolidate, line_state, result, untimed

from models import ids
from models.consolidation import ConsolidationStep, Saying, Step
from models.facts import Fact, FactCandidate, FactChange, FactStatus
from models.statements import Change, Kind
from processors.facts.lines import Line
from processors.facts.rebuilding import rebuilt
from streams.agents.memory.consolidation_records import CONSOLIDATION
from streams.agents.memory.fact_store import STATE
from streams.agents.memory.facts import FACTS
from streams.agents.vectors.requests import EMBEDDINGS
from streams.clients.records import Record
from streams.runtime.testing import START

CAR, SOLD = "I have a car.", "I sold my car."
ONE, NEAR = (1.0, 0.0, 0.0), (0.8, 0.6, 0.0)


def said(text: str, day: int, conversation: str = "", **changes: Any) -> FactCandidate:
    found = candidate(text, day, conversation=conversation or f"c{day}")
    at = START + timedelta(days=day)
    evidence = msgspec.structs.replace(found.provenance, sent_at=at, arrived_at=at)
    return msgspec.structs.replace(found, **({"kind": Kind.STATE, "provenance": evidence} | changes))


def know(harness: Harness, text: str, day: int, vector: tuple[float, ...] = ONE, **changes: Any) -> None:
    harness.take(harness.record(said(text, day, **changes)))
    harness.take(harness.record(result(text, vector), EMBEDDINGS))


def sold(*, is_late: bool = False) -> Harness:
    """Somebody who has a car on the first day, and has sold it on the 30th."""
    harness, story = Harness(), [(CAR, 1, ONE), (SOLD, 30, NEAR)]
    for text, day, vector in reversed(story) if is_late else story:
        know(harness, text, day, vector)
    return harness


def steps(harness: Harness) -> list[ConsolidationStep]:
    return harness.values(CONSOLIDATION, ConsolidationStep)


@pytest.mark.parametrize("is_late", [False, True])
def test_a_fact_ends_when_the_other_was_said(is_late: bool) -> None:
    harness = sold(is_late=is_late)
    car, over = harness.fact(CAR), harness.fact(SOLD)
    assert car.status in (FactStatus.ENDED, FactStatus.SUPERSEDED)
    assert (car.superseded_by, car.valid_to) == (over.fact_id, START + timedelta(days=30))
    assert car.valid_from == START + timedelta(days=1)
    last = car.changes[-1]
    assert last.change in (FactChange.ENDED, FactChange.SUPERSEDED)
    assert (last.fact_id, last.window_id, last.message_id) == (over.fact_id, "w30", "m30")
    assert over.status is FactStatus.ACTIVE
    (step,) = steps(harness)
    assert (step.fact_id, step.other_id, step.similarity) == (
        over.fact_id,
        car.fact_id,
        pytest.approx(0.8, abs=0.01),
    )


@pytest.mark.parametrize("text", [CAR, SOLD])
def test_only_quotations_end_each_other(text: str) -> None:
    """A language model's words are unlike what the comparison knows; it has said itself what ends."""
    harness = Harness()
    for each, day, vector in ((CAR, 1, ONE), (SOLD, 30, NEAR)):
        found = said(each, day)
        if each == text:
            quoted = msgspec.structs.replace(found.provenance, quote="yes, that old thing")
            found = msgspec.structs.replace(found, provenance=quoted)
        harness.take(harness.record(found))
        harness.take(harness.record(result(each, vector), EMBEDDINGS))
    assert not steps(harness)


def test_what_is_said_unsurely_ends_nothing() -> None:
    harness = Harness()
    know(harness, CAR, 1)
    know(harness, SOLD, 30, NEAR, confidence=0.4)
    assert not steps(harness)


@pytest.mark.parametrize("what", ["fact", "conversation"])
def test_erasing_what_ended_a_fact_revives_it(what: str) -> None:
    harness = sold()
    over = harness.fact(SOLD)
    harness.arrived += timedelta(days=60)
    if what == "fact":
        harness.take(harness.record(None, FACTS, key=over.fact_id.encode()))
    else:
        harness.erase("", "c30", days=60)
    car = harness.fact(CAR)
    assert (car.status, car.valid_to, car.superseded_by) == (FactStatus.ACTIVE, None, None)
    assert over.fact_id not in {each.fact_id for each in car.changes}
    for record in [each for each in harness.log if each.topic == CONSOLIDATION]:
        harness.feed(harness.record(record.value, CONSOLIDATION, key=record.key))
    assert harness.fact(CAR).status is FactStatus.ACTIVE


def test_what_is_said_again_holds_again_and_ends_the_other() -> None:
    harness = sold()
    harness.take(harness.record(said(CAR, 40)))
    car, over = harness.fact(CAR), harness.fact(SOLD)
    assert (car.status, car.valid_from) == (FactStatus.ACTIVE, START + timedelta(days=40))
    assert (car.past[0].valid_from, car.past[0].valid_to) == (
        START + timedelta(days=1),
        START + timedelta(days=30),
    )
    assert (over.status, over.superseded_by) == (FactStatus.SUPERSEDED, car.fact_id)
    harness.take(harness.record(said(SOLD, 50)))
    assert harness.fact(CAR).superseded_by == over.fact_id
    assert harness.fact(SOLD).status is FactStatus.ACTIVE


def test_nobody_elses_fact_is_ended() -> None:
    harness = sold()
    (step,) = steps(harness)
    other = msgspec.structs.replace(step, user_id="mallory", fact_id=step.other_id, other_id=step.fact_id)
    harness.take(harness.record(other, CONSOLIDATION))
    assert harness.fact(SOLD).status is FactStatus.ACTIVE


def test_an_end_that_says_no_time_is_refused() -> None:
    harness = sold()
    bare = ConsolidationStep(
        step_id="s", step=Step.ENDS, at=START, by="test", user_id="ada",
        fact_id=ids.text_fact_id("default", "ada", CAR), other_id=ids.text_fact_id("default", "ada", SOLD),
    )  # fmt: skip
    harness.take(harness.record(bare, CONSOLIDATION))
    assert [letter.reason for letter in harness.dead_letters] == ["incomplete_step"]


@given(st.randoms(use_true_random=False))
@settings(deadline=None, max_examples=15)
def test_however_often_it_crashes_the_same_facts_end(chance: Random) -> None:
    harness = sold()
    know(harness, "The recital is on 4 April.", 30, (0.0, 0.0, -1.0), kind=Kind.EVENT)
    know(harness, "We're going to Malta in June.", 31, (0.0, 0.0, 1.0), kind=Kind.EVENT)
    know(harness, "We are not going to Malta any more.", 40, (0.0, 0.6, 0.8), kind=Kind.EVENT)
    harness.take(harness.record(said(CAR, 45)))

    def ends(seed: Random, crashes: int) -> dict[str, tuple[FactStatus, str | None]]:
        trial = crashing(untimed(), harness.log, seed, crashes, causal=True)
        facts = [msgspec.json.decode(each.value, type=Fact) for each in trial.outputs if each.topic == FACTS]
        return {fact.fact_id: (fact.status, fact.superseded_by) for fact in facts}

    found = ends(chance, 4)
    assert found == ends(Random(0), 0)
    assert sum(status is FactStatus.ACTIVE for status, _ in found.values()) == 2


EXAM = "My driving test is on 14 March."


def exam(*, is_late: bool = False) -> Harness:
    """Somebody who tells of a test on 14 March and says something else on the 16th."""
    harness = Harness()
    know(harness, "The garden party is on 28 June.", 0, (0.0, 1.0, 0.0), kind=Kind.EVENT)
    story = [(EXAM, 1, Kind.EVENT, ONE), ("I love tea.", 15, Kind.PREFERENCE, (0.0, 0.0, 1.0))]
    for text, day, kind, vector in reversed(story) if is_late else story:
        know(harness, text, day, vector, kind=kind)
    return harness


@pytest.mark.parametrize("is_late", [False, True])
def test_a_plan_ends_after_its_day_with_the_next_message(is_late: bool) -> None:
    harness = exam(is_late=is_late)
    plan = harness.fact(EXAM)
    assert (plan.status, plan.superseded_by) == (FactStatus.ENDED, None)
    assert plan.valid_to == datetime(2026, 3, 14, 23, 59, 59, tzinfo=UTC)
    assert harness.fact("The garden party is on 28 June.").status is FactStatus.ACTIVE
    (step,) = steps(harness)
    assert (step.step, step.fact_id, step.by) == (Step.PASSES, plan.fact_id, "calendar")
    line = rebuilt([plan])[plan.fact_id]
    assert isinstance(line, Line)
    assert line.marks[-1] == line_state(harness, plan.fact_id).marks[-1]


def test_a_plan_holds_while_nothing_is_said_after_its_day() -> None:
    harness = Harness()
    know(harness, EXAM, 1, kind=Kind.EVENT)
    know(harness, "I love tea.", 10, (0.0, 0.0, 1.0), kind=Kind.PREFERENCE)
    assert harness.fact(EXAM).status is FactStatus.ACTIVE


def test_a_passed_plan_ends_once_and_never_early() -> None:
    harness = exam()
    (step,) = steps(harness)
    count = len(harness.values(FACTS, Fact))
    harness.take(harness.record(step, CONSOLIDATION))
    party = ids.text_fact_id("default", "ada", "The garden party is on 28 June.")
    harness.take(harness.record(msgspec.structs.replace(step, fact_id=party), CONSOLIDATION))
    assert len(harness.values(FACTS, Fact)) == count


def test_erasing_later_messages_leaves_a_plan_ended() -> None:
    harness = exam()
    harness.arrived += timedelta(days=60)
    tea = ids.text_fact_id("default", "ada", "I love tea.")
    harness.take(harness.record(None, FACTS, key=tea.encode()))
    assert harness.fact(EXAM).status is FactStatus.ENDED


def states(harness: Harness) -> dict[bytes, Line]:
    stored = harness.stored(STATE, lambda key: b"/" not in key)
    return {key: line for key, line in stored.items() if isinstance(line, Line)}


def test_an_ending_fact_keeps_its_link_when_it_ends() -> None:
    """A ends B, and C ends A in the same batch: an erasure of A must find B after any crash."""
    texts = "User plays chess", "User gave up chess", "User plays chess again"

    def batch(harness: Harness) -> list[Record]:
        for day, text in enumerate(texts):
            harness.feed(harness.record(said(text, day)))
        return [
            harness.record(ended(texts[0], by=texts[1], day=1), CONSOLIDATION),
            harness.record(ended(texts[1], by=texts[2], day=2), CONSOLIDATION),
        ]

    whole = Harness()
    whole.feed(*batch(whole))
    for stored in range(1, len(whole.last.changes)):
        harness = Harness()
        records = batch(harness)
        before = len(harness.changelog)
        harness.feed(*records)
        harness.recover(before + stored)
        harness.feed(*records)
        assert states(harness) == states(whole)


def ended(text: str, by: str, day: int) -> ConsolidationStep:
    at = START + timedelta(days=day)
    saying = Saying(conversation_id=f"c{day}", sent_at=at, arrived_at=at)
    return consolidate(
        step=Step.ENDS,
        step_id=f"end-{text}",
        fact_id=_id(by),
        other_id=_id(text),
        at=at,
        saying=saying,
    )


# -- what an extractor that was shown a fact says of it ---

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


def test_a_paraphrase_is_evidence_for_a_known_fact() -> None:
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
