"""What a fact rests on: what counts once, what is kept of it, and what follows from what was said when."""

from __future__ import annotations

from collections import Counter

from told_facts import NOON, candidate, evidence, minute, told

from models.facts import FactStatus, Period
from processors.facts.claims import claim_of
from processors.facts.evidence import (
    PROVENANCE_LIMIT,
    ceilings,
    is_counted,
    is_same,
    is_under,
    learned,
    newest,
    place,
)
from processors.facts.marks import Mark, Said, mark_of, marked, moment_of
from processors.facts.timeline import verdicts


def test_a_fact_claims_what_its_candidate_did() -> None:
    for said in (candidate("Berlin", evidence(1)), candidate("Rome", evidence(1), attribute="event")):
        fact = learned(said, claim_of(said), 1, None)
        assert claim_of(fact) == claim_of(said)
        assert (fact.tenant_id, fact.user_id, fact.event_at) == ("acme", "ada", NOON)
        assert (fact.valid_from, fact.learned_at) == (said.provenance.sent_at, said.provenance.arrived_at)


def test_of_very_much_evidence_the_newest_is_named_and_all_of_it_counts_once() -> None:
    order = [*range(5, 25), *range(5)]
    fact = told(*(evidence(offset) for offset in order))
    assert fact.evidence_count == 25
    assert sorted(each.offsets[0] for each in fact.provenance) == list(range(5, 25))
    # What is named no more is known by its place, whatever window it is read in again.
    assert is_counted(fact, evidence(3, window_id="another", message_ids=("m",)))
    assert is_counted(fact, evidence(5, window_id="another", message_ids=("m",)))
    assert is_counted(fact, evidence(24))
    assert not is_counted(fact, evidence(6, window_id="another", message_ids=("m",)))
    assert not is_counted(fact, evidence(25))
    assert not is_counted(fact, evidence(3, partition=1))


def test_as_long_as_all_is_named_nothing_else_counts() -> None:
    fact = told(*(evidence(offset) for offset in range(5, 5 + PROVENANCE_LIMIT)))
    assert len(fact.provenance) == fact.evidence_count == PROVENANCE_LIMIT
    assert not is_counted(fact, evidence(3))


def test_every_partition_keeps_some_of_its_evidence() -> None:
    """They do not go on side by side: the old evidence of one is what a replay of it is known by."""
    kept = newest([evidence(0, partition=1), *(evidence(offset) for offset in range(10, 40))])
    assert Counter(each.partition for each in kept) == {0: 19, 1: 1}
    assert min(each.offsets[0] for each in kept if each.partition == 0) == 21
    kept = newest([evidence(offset, partition) for offset in range(30) for partition in range(2)])
    assert Counter(each.partition for each in kept) == {0: 10, 1: 10}
    assert {each.offsets[0] for each in kept} == set(range(20, 30))
    many = [evidence(1, partition) for partition in range(PROVENANCE_LIMIT + 2)]
    assert newest(many) == tuple(many)


def test_a_message_of_the_same_window_or_the_very_same_messages_are_one_piece() -> None:
    said = evidence(1)
    assert is_same(said, evidence(1, message_ids=("asked", *said.message_ids)))
    assert not is_same(said, evidence(1, message_ids=("other",)))
    assert is_same(said, evidence(1, window_id="another"))
    assert not is_same(said, evidence(1, window_id="another", conversation_id="d"))
    assert not is_same(said, evidence(1, window_id="another", message_ids=("other",)))


def test_what_was_let_go_whole_is_known_up_to_its_last_place() -> None:
    floors = ceilings([evidence(3), evidence(1), evidence(7, partition=1)])
    assert [is_under(evidence(offset), floors) for offset in (2, 3, 4)] == [True, True, False]
    assert is_under(evidence(7, partition=1), floors)
    assert not is_under(evidence(2, partition=2), floors)
    assert not is_under(evidence(2, topic="other"), floors)
    assert ceilings([evidence(2)], floors) == floors
    assert place(evidence(1, offsets=())) == (evidence(1).arrived_at, 0)
    assert moment_of(evidence(1, offsets=())).offset == 0


def marks_of(*said: tuple[str, int, float]) -> tuple[Mark, ...]:
    """Marks of a value, when it was said (minutes) and how surely, in the order in which it is read."""
    marks: tuple[Mark, ...] = ()
    for value, at, confidence in said:
        found = candidate(value, evidence(at))
        marks = marked(
            marks, mark_of(claim_of(found), moment_of(found.provenance), Said.HOLDS, tentative=confidence < 0.5)
        )
    return marks


BERLIN, MUNICH = (claim_of(candidate(value, evidence(0))).fact_id for value in ("Berlin", "Munich"))


def test_what_was_said_in_between_is_read_later_and_stands_between() -> None:
    marks = marks_of(("Berlin", 10, 0.8), ("Berlin", 30, 0.8), ("Munich", 20, 0.8))
    found = verdicts(marks, single=True)
    assert (found[BERLIN].status, found[BERLIN].valid_from) == (FactStatus.ACTIVE, minute(30))
    assert found[BERLIN].past == (Period(minute(10), minute(20), False),)
    assert (found[MUNICH].valid_from, found[MUNICH].valid_to) == (minute(20), minute(30))
    assert marks == marks_of(("Munich", 20, 0.8), ("Berlin", 30, 0.8), ("Berlin", 10, 0.8))


def test_however_often_it_is_said_it_is_one_claim() -> None:
    marks = marks_of(*(("Berlin", at, 0.8) for at in (10, 30, 20, 5, 40)))
    assert [(mark.first.sent_at, mark.last.sent_at) for mark in marks] == [(minute(5), minute(40))]
    again = mark_of(
        claim_of(candidate("Berlin", evidence(20))), moment_of(evidence(20)), Said.HOLDS, tentative=True
    )
    assert marked(marks, again) is marks, "said unsurely, it adds nothing to what was said surely"


def test_a_past_that_was_told_unsurely_stays_unsure() -> None:
    marks = marks_of(("Berlin", 10, 0.2), ("Munich", 20, 0.8), ("Berlin", 30, 0.8))
    assert verdicts(marks, single=True)[BERLIN].past == (Period(minute(10), minute(20), True),)
