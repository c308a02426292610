"""What a fact rests on: what counts once, what is kept of it, and what follows from what was said when."""

from __future__ import annotations

from collections import Counter

from told_facts import evidence, told

from processors.facts.evidence import PROVENANCE_LIMIT, ceilings, is_counted, is_same, is_under, newest, place
from processors.facts.marks import moment_of


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
