"""What a fact rests on: what counts once, what is kept of it, and what follows from what was said when."""

from __future__ import annotations

from collections import Counter

from told_facts import evidence, told

from processors.facts.evidence import PROVENANCE_LIMIT, is_counted, newest


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
