"""What becomes of a sentence: a new fact, evidence for one, the end, the correction or a part of others."""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest
from told_facts import Memory, arrival, candidate, claimed, evidence, minute
from told_facts import told as resting_on

from models.facts import Erasure, Fact, FactCandidate, FactChange, FactStatus
from models.statements import Assertion, Polarity
from processors.facts.evidence import PROVENANCE_LIMIT, is_counted, newest

ENDED, CORRECTED, NEGATED = Assertion.ENDED, Assertion.CORRECTED, Polarity.NEGATED
ACTIVE, OVER, VOID = FactStatus.ACTIVE, FactStatus.ENDED, FactStatus.DEPRECATED


def fact_id(attribute: str, value: str, polarity: Polarity = Polarity.AFFIRMED) -> str:
    return claimed(attribute, value, polarity).fact_id


def ada(attribute: str, *values: str) -> Memory:
    """Says one after the other, from the first minute on."""
    memory = Memory()
    for at, value in enumerate(values, 1):
        memory.says(attribute, value, at)
    return memory


def grown(attribute: str, *values: str) -> Memory:
    """Each becomes part of the next as soon as that is said."""
    memory = ada(attribute, *values[:1])
    for at, (part, whole) in enumerate(pairwise(values), 2):
        memory.says(attribute, whole, at)
        memory.merges(attribute, part, whole, at)
    return memory


def told(changes: list[Fact]) -> list[tuple[str, FactStatus, FactChange]]:
    return [
        (("not " if each.polarity is NEGATED else "") + each.value, each.status, each.change)
        for each in changes
    ]


class TestWhatWasErased:
    @pytest.mark.parametrize("erased", ["tea", "iced tea"])
    def test_erasures_repeat_neither_part_nor_whole(self, erased: str) -> None:
        memory = grown("like", "tea", "iced tea")
        memory.erasures[fact_id("like", erased)] = Erasure(until=arrival(5), version=7)
        assert memory.says("like", "tea", 4) == []
        assert told(memory.says("like", "tea", 6)) == [("iced tea", ACTIVE, FactChange.REINFORCED)]

    def test_a_whole_inherits_nothing_that_was_erased_of_it(self) -> None:
        memory = ada("like", "tea")
        memory.erasures[fact_id("like", "iced tea")] = Erasure(until=arrival(1), version=7)
        memory.says("like", "iced tea", 2)
        memory.merges("like", "tea", "iced tea", 2)
        whole = memory.known("like", "iced tea")
        assert [each.offsets[0] for each in whole.provenance] == [2]
        assert memory.known("like", "tea").merged_into_id == whole.fact_id


def test_a_correction_takes_back_the_fact_that_it_names() -> None:
    memory = ada("pet", "a dog", "a cat")
    changes = memory.says("pet", "a cow", 3, CORRECTED, corrects=fact_id("pet", "cat"))
    assert told(changes) == [("a cow", ACTIVE, FactChange.CREATED), ("a cat", VOID, FactChange.CORRECTED)]
    assert changes[1].superseded_by == fact_id("pet", "cow")
    assert memory.of("pet", "cat").stub(fact_id("pet", "cat")) is not None
    assert memory.known("pet", "dog").status is ACTIVE


class TestPartsOfAWhole:
    def test_who_says_the_part_says_the_whole(self) -> None:
        memory = grown("like", "tea", "iced tea", "sweet iced tea")
        for value, whole in (("tea", "iced tea"), ("iced tea", "sweet iced tea")):
            stub = memory.of("like", value).stub(fact_id("like", value))
            assert stub is not None and stub.into == fact_id("like", whole)
            assert stub.into_line == claimed("like", whole).line_id
        assert told(memory.says("like", "tea", 4)) == [("sweet iced tea", ACTIVE, FactChange.REINFORCED)]
        assert memory.known("like", "sweet iced tea").evidence_count == 4
        assert memory.says("like", "tea", 1) == [], "that is known of it"

    def test_who_denies_the_part_denies_the_whole(self) -> None:
        memory = grown("like", "tea", "iced tea")
        changes = memory.says("like", "tea", 4, polarity=NEGATED)
        assert told(changes) == [("not tea", ACTIVE, FactChange.CREATED), ("iced tea", OVER, FactChange.ENDED)]
        assert changes[1].superseded_by == fact_id("like", "tea", NEGATED)

    def test_saying_the_part_retracts_the_whole_s_denial(self) -> None:
        memory = grown("like", "tea", "iced tea")
        memory.says("like", "iced tea", 3, polarity=NEGATED)
        assert memory.known("like", "iced tea").status is FactStatus.CONTRADICTED
        memory.says("like", "tea", 4)
        assert memory.known("like", "iced tea").status is ACTIVE
        assert memory.known("like", "iced tea", NEGATED).status is FactStatus.CONTRADICTED

    def test_what_is_gone_stands_for_nothing(self) -> None:
        memory = grown("like", "tea", "iced tea")
        del memory.lines[claimed("like", "iced tea").line_id]
        (tea,) = memory.says("like", "tea", 5)
        assert (tea.value, tea.status, tea.evidence_count, tea.version) == ("tea", ACTIVE, 1, 3)


STORIES: dict[str, Callable[[], tuple[Memory, FactCandidate]]] = {
    "a new value": lambda: (ada("like", "tea"), candidate("jazz", evidence(9), attribute="like")),
    "a correction": lambda: (
        ada("pet", "a dog", "a cat"),
        said_of("pet", "a cow", CORRECTED, corrects=fact_id("pet", "cat")),
    ),
    "a denial of a part": lambda: (
        grown("like", "tea", "iced tea"),
        said_of("like", "tea", polarity=NEGATED),
    ),
}


def said_of(attribute: str, value: str, assertion: Assertion = Assertion.HOLDS, **other: Any) -> FactCandidate:
    return candidate(value, evidence(9), attribute=attribute, assertion=assertion, **other)


@pytest.mark.parametrize("story", STORIES)
def test_a_crash_between_two_lines_changes_nothing(story: str) -> None:
    """Whatever was stored before it, the same is stored in the end, and nothing is told that was not before."""
    memory, said = STORIES[story]()
    memory.position += 1
    whole = memory.fold(said)
    assert whole.changes
    for stored in range(1, len(whole.lines) + 1):
        again = copy.copy(memory)
        first = dict([*whole.lines.items()][:stored])
        again.lines, again.folded = {**memory.lines, **first}, {*first}
        done = again.fold(said)
        assert done.slot == whole.slot
        assert {**again.lines, **done.lines} == {**memory.lines, **whole.lines}
        assert not {*done.lines} & {*first}, "what was stored is left as it is"
        assert [each for each in done.changes if each not in whole.changes] == []
        rest = [
            fact.fact_id for line_id, line in done.lines.items() for fact in line.facts if line_id not in first
        ]
        assert {*rest} <= {each.fact_id for each in whole.changes} | {*memory.topic}


def test_who_goes_back_to_less_is_taken_at_their_word() -> None:
    memory = grown("like", "tea", "iced tea")
    changes = memory.says("like", "tea", 3, CORRECTED, corrects=fact_id("like", "iced tea"))
    assert told(changes) == [
        ("tea", ACTIVE, FactChange.KEPT),
        ("tea", ACTIVE, FactChange.REINFORCED),
        ("iced tea", VOID, FactChange.CORRECTED),
    ]
    assert memory.says("like", "tea", 1) == [], "what it was part of rested on that"


def test_corrections_since_a_crash_came_after_their_part() -> None:
    memory = grown("like", "tea", "iced tea")
    again = copy.copy(memory)
    again.lines, again.topic = dict(memory.lines), dict(memory.topic)
    memory.says("like", "tea", 3)
    memory.says("like", "jazz", 4, CORRECTED, corrects=fact_id("like", "iced tea"))
    green = claimed("like", "iced tea").line_id
    again.lines[green], again.folded = memory.lines[green], {green}
    assert again.says("like", "tea", 3) == [], "it was evidence for the whole, which is stored"


class TestWhatAWholeInherits:
    def merged(self, parts: int, wholes: int, confidence: float = 0.8) -> Memory:
        """The part is said so often, then the whole, and both become one."""
        memory = Memory()
        for at in range(1, parts + 1):
            memory.says("like", "tea", at)
        for at in range(parts + 1, parts + wholes + 1):
            memory.says("like", "iced tea", at, confidence=confidence)
        memory.merges("like", "tea", "iced tea", parts + wholes)
        return memory

    def test_the_times_and_the_surer_of_both(self) -> None:
        memory = self.merged(3, 2, confidence=0.5)
        part, whole = memory.known("like", "tea"), memory.known("like", "iced tea")
        assert whole.evidence_count == 5
        assert [each.offsets[0] for each in whole.provenance] == [1, 2, 3, 4, 5]
        assert whole.confidence == part.confidence > 0.8
        assert (whole.learned_at, whole.last_evidence_at) == (arrival(1), arrival(5))
        assert (whole.status, whole.valid_from) == (ACTIVE, minute(1))
        assert (part.status, part.archived_at) == (FactStatus.MERGED_INTO, arrival(5))
        change = part.changes[-1]
        assert (change.change, change.confidence_before) == (FactChange.MERGED, part.confidence)


def test_of_much_evidence_the_newest_is_named() -> None:
    order = [*range(5, 25), *range(5)]
    fact = resting_on(*(evidence(offset) for offset in order))
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
