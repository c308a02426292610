"""What becomes of a sentence: a new fact, evidence for one, the end, the correction or a part of others."""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from told_facts import Memory, arrival, candidate, claimed, evidence, minute
from told_facts import told as resting_on

from models.errors import InvalidRecord
from models.facts import Erasure, Fact, FactCandidate, FactChange, FactStatus
from models.statements import Assertion, Polarity
from processors.facts.claims import claim_of
from processors.facts.evidence import PROVENANCE_LIMIT, is_counted, newest
from processors.facts.lines import Line
from processors.facts.marks import Said

ENDED, CORRECTED, NEGATED = Assertion.ENDED, Assertion.CORRECTED, Polarity.NEGATED
ACTIVE, OVER, VOID = FactStatus.ACTIVE, FactStatus.ENDED, FactStatus.DEPRECATED


def fact_id(attribute: str, value: str, polarity: Polarity = Polarity.AFFIRMED) -> str:
    return claimed(attribute, value, polarity).fact_id


def none_of(attribute: str) -> str:
    """The fact that nothing fills the slot."""
    return claim_of(candidate("", evidence(0), attribute=attribute, polarity=NEGATED)).fact_id


def ada(attribute: str, *values: str) -> Memory:
    """Says one after the other, from the first minute on."""
    memory = Memory()
    for at, value in enumerate(values, 1):
        memory.says(attribute, value, at)
    return memory


def grown(attribute: str, *values: str) -> Memory:
    """Each completes the one before."""
    memory, before = Memory(), ""
    for at, value in enumerate(values, 1):
        memory.says(attribute, value, at, refines=(before,) if before else ())
        before = fact_id(attribute, value)
    return memory


def told(changes: list[Fact]) -> list[tuple[str, FactStatus, FactChange]]:
    return [
        (("not " if each.polarity is NEGATED else "") + each.value, each.status, each.change)
        for each in changes
    ]


def slot_line(memory: Memory, attribute: str) -> Line:
    return memory.lines[claimed(attribute, "x").slot_id]


class TestWhatWasErased:
    @pytest.mark.parametrize("erased", ["tea", "green tea"])
    def test_neither_the_part_nor_the_whole_is_said_again_by_what_was_erased(self, erased: str) -> None:
        memory = grown("like", "tea", "green tea")
        memory.erasures[fact_id("like", erased)] = Erasure(until=arrival(5), version=7)
        assert memory.says("like", "tea", 4) == []
        assert told(memory.says("like", "tea", 6)) == [("green tea", ACTIVE, FactChange.REINFORCED)]

    def test_a_whole_inherits_nothing_that_was_erased_of_it(self) -> None:
        memory = ada("like", "tea")
        memory.erasures[fact_id("like", "green tea")] = Erasure(until=arrival(1), version=7)
        memory.says("like", "green tea", 2, refines=(fact_id("like", "tea"),))
        whole = memory.known("like", "green tea")
        assert [each.offsets[0] for each in whole.provenance] == [2]
        assert memory.known("like", "tea").merged_into_id == whole.fact_id


class TestManyValues:
    def test_what_is_told_of_a_time_at_which_there_was_none_any_more_had_ended_by_then(self) -> None:
        memory = ada("pet", "a dog")
        memory.says("pet", "", 9, ENDED)
        (goat,) = memory.says("pet", "a goat", 5)
        assert (goat.status, goat.valid_to, goat.superseded_by) == (OVER, minute(9), none_of("pet"))
        none = memory.says("pet", "a horse", 10)[-1]
        assert (none.value, none.status) == ("", FactStatus.SUPERSEDED)
        assert none.changes[-1].fact_id == fact_id("pet", "horse")
        assert memory.known("pet", "horse").status is ACTIVE
        assert {mark.said for mark in slot_line(memory, "pet").marks} == {Said.HOLDS}
        memory.says("pet", "", 20, ENDED)
        memory.says("pet", "a cow", 12)
        assert memory.known("pet", "cow").valid_to == minute(20)

    def test_none_any_more_ends_all_that_was_said_before_it(self) -> None:
        memory = ada("pet", "a dog", "a cat")
        memory.says("pet", "a cow", 30)
        changes = memory.says("pet", "", 9, ENDED)
        assert told(changes[1:]) == [("a dog", OVER, FactChange.ENDED), ("a cat", OVER, FactChange.ENDED)]
        assert (changes[0].value, changes[0].polarity) == ("", NEGATED)
        assert {each.superseded_by for each in changes[1:]} == {none_of("pet")}
        assert [memory.known("pet", each).valid_to for each in ("dog", "cat", "cow")] == [
            minute(9),
            minute(9),
            None,
        ]
        assert memory.of("pet", "cow").marks == ada_at("pet", "a cow", 30).of("pet", "cow").marks


def ada_at(attribute: str, value: str, at: int) -> Memory:
    memory = Memory()
    memory.says(attribute, value, at)
    return memory


class TestNoIMean:
    def test_it_takes_back_what_was_named_last_in_this_conversation(self) -> None:
        memory = ada("pet", "a dog", "a cat")
        changes = memory.says("pet", "a cow", 3, CORRECTED)
        assert told(changes) == [
            ("a cow", ACTIVE, FactChange.CREATED),
            ("a cat", VOID, FactChange.CORRECTED),
        ]
        assert changes[1].superseded_by == fact_id("pet", "cow")
        assert memory.of("pet", "cat").stub(fact_id("pet", "cat")) is not None

    def test_none_at_all_takes_back_the_last_and_ends_the_others(self) -> None:
        memory = ada("pet", "a dog", "a cat")
        memory.says("pet", "", 9, CORRECTED)
        assert [memory.known("pet", each).status for each in ("dog", "cat")] == [OVER, VOID]
        assert memory.known("pet", "cat").superseded_by == none_of("pet")

    @pytest.mark.parametrize(
        "change",
        [{"conversation_id": "d"}, {"sent_at": minute(1), "arrived_at": arrival(1), "offsets": (1,)}],
        ids=["elsewhere", "earlier"],
    )
    def test_not_what_was_named_elsewhere_or_later(self, change: dict[str, Any]) -> None:
        memory = ada("pet", "a dog", "a cat")
        memory.says("pet", "a cow", 3, CORRECTED, provenance=evidence(3, **change))
        assert [memory.known("pet", each).status for each in ("dog", "cat", "cow")] == [ACTIVE] * 3


class TestPartsOfAWhole:
    def test_in_a_slot_that_holds_one_the_part_ends_before_the_whole_is_told_again(self) -> None:
        memory = ada("home", "Berlin")
        changes = memory.says("home", "Berlin Mitte", 2, refines=(fact_id("home", "Berlin"),))
        assert told(changes) == [
            ("Berlin", FactStatus.SUPERSEDED, FactChange.SUPERSEDED),
            ("Berlin Mitte", ACTIVE, FactChange.CREATED),
            ("Berlin", FactStatus.MERGED_INTO, FactChange.MERGED),
            ("Berlin Mitte", ACTIVE, FactChange.MERGED),
        ]
        assert memory.known("home", "Berlin Mitte").valid_from == minute(1)

    def test_who_says_the_part_says_the_whole(self) -> None:
        memory = grown("like", "tea", "green tea", "hot green tea")
        for value, whole in (("tea", "green tea"), ("green tea", "hot green tea")):
            stub = memory.of("like", value).stub(fact_id("like", value))
            assert stub is not None and stub.into == fact_id("like", whole)
            assert stub.into_line == claimed("like", whole).line_id
        assert told(memory.says("like", "tea", 4)) == [("hot green tea", ACTIVE, FactChange.REINFORCED)]
        assert memory.known("like", "hot green tea").evidence_count == 4
        assert memory.says("like", "tea", 1) == [], "that is known of it"

    def test_who_denies_the_part_denies_the_whole(self) -> None:
        memory = grown("like", "tea", "green tea")
        changes = memory.says("like", "tea", 4, polarity=NEGATED)
        assert told(changes) == [("not tea", ACTIVE, FactChange.CREATED), ("green tea", OVER, FactChange.ENDED)]
        assert changes[1].superseded_by == fact_id("like", "tea", NEGATED)
        memory = grown("home", "Berlin", "Berlin Mitte")
        changes = memory.says("home", "Berlin", 4, polarity=NEGATED)
        assert told(changes) == [
            ("Berlin Mitte", FactStatus.CONTRADICTED, FactChange.CONTRADICTED),
            ("not Berlin", ACTIVE, FactChange.CREATED),
        ]

    def test_who_says_the_part_takes_back_the_denial_of_the_whole(self) -> None:
        for attribute in ("like", "home"):
            memory = grown(attribute, "tea", "green tea")
            memory.says(attribute, "green tea", 3, polarity=NEGATED)
            assert memory.known(attribute, "green tea").status is FactStatus.CONTRADICTED
            memory.says(attribute, "tea", 4)
            assert memory.known(attribute, "green tea").status is ACTIVE
            assert memory.known(attribute, "green tea", NEGATED).status is FactStatus.CONTRADICTED

    def test_what_is_gone_stands_for_nothing(self) -> None:
        memory = grown("like", "tea", "green tea")
        del memory.lines[claimed("like", "green tea").line_id]
        (tea,) = memory.says("like", "tea", 5)
        assert (tea.value, tea.status, tea.evidence_count, tea.version) == ("tea", ACTIVE, 1, 3)

    def test_a_part_of_another_slot_is_refused(self) -> None:
        memory = ada("pet", "a dog")
        dog = fact_id("pet", "dog")
        with pytest.raises(InvalidRecord) as refused:
            memory.says("like", "old dogs", 2, refines=(dog,))
        assert refused.value.reason == "another_slot"
        assert str(refused.value).endswith(f"refines names fact {dog}, which fills another slot")
        line = memory.of("pet", "dog")
        strange = msgspec.structs.replace(line.facts[0], user_id="bob")
        memory.lines[dog] = msgspec.structs.replace(line, facts=(strange,))
        with pytest.raises(InvalidRecord):
            memory.says("pet", "old dogs", 2, refines=(dog,))

    def test_it_takes_in_every_part(self) -> None:
        memory = ada("like", "tea", "green things")
        parts = (fact_id("like", "tea"), "another", fact_id("like", "green things"))
        memory.says("like", "green tea", 3, refines=parts)
        assert [memory.known("like", each).status for each in ("tea", "green things")] == [
            FactStatus.MERGED_INTO
        ] * 2
        assert memory.known("like", "green tea").evidence_count == 3


STORIES: dict[str, Callable[[], tuple[Memory, FactCandidate]]] = {
    "a new value": lambda: (ada("like", "tea"), candidate("jazz", evidence(9), attribute="like")),
    "none any more": lambda: (ada("pet", "a dog", "a cat"), said_of("pet", "", ENDED)),
    "no, I mean": lambda: (ada("pet", "a dog", "a cat"), said_of("pet", "a cow", CORRECTED)),
    "a part that has parts": lambda: (
        grown("like", "tea", "green tea"),
        said_of("like", "hot green tea", refines=(fact_id("like", "green tea"),)),
    ),
    "two parts, the one taken back with it": lambda: (
        ada("like", "tea", "green things"),
        said_of(
            "like", "green tea", CORRECTED, refines=(fact_id("like", "tea"), fact_id("like", "green things"))
        ),
    ),
    "several parts": lambda: (
        grown("like", "tea", "green tea", "green"),
        said_of("like", "hot green tea", refines=(fact_id("like", "green"), fact_id("like", "tea"))),
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


def test_a_part_is_merged_although_its_whole_was_erased_since_the_crash() -> None:
    memory = ada("like", "tea")
    green = claimed("like", "green tea")
    memory.lines[green.line_id], memory.folded = Line(False), {green.line_id}
    changes = memory.says("like", "green tea", 2, refines=(fact_id("like", "tea"),))
    assert told(changes) == [("tea", FactStatus.MERGED_INTO, FactChange.MERGED)]
    assert memory.of("like", "tea").stubs[0].into == green.fact_id
    assert memory.lines[green.line_id] == Line(False)


def test_who_goes_back_to_less_is_taken_at_their_word() -> None:
    memory = grown("like", "tea", "green tea")
    changes = memory.says("like", "tea", 3, assertion=CORRECTED)
    assert told(changes) == [
        ("tea", ACTIVE, FactChange.CREATED),
        ("green tea", VOID, FactChange.CORRECTED),
    ]
    assert memory.says("like", "tea", 1) == [], "what it was part of rested on that"


def test_what_was_corrected_since_a_crash_was_not_when_its_part_was_said() -> None:
    memory = grown("like", "tea", "green tea")
    again = copy.copy(memory)
    again.lines, again.topic = dict(memory.lines), dict(memory.topic)
    memory.says("like", "tea", 3)
    slot = slot_line(memory, "like")
    memory.says("like", "jazz", 4, assertion=CORRECTED)
    green = claimed("like", "green tea").line_id
    again.lines[green], again.folded = memory.lines[green], {green}
    assert again.says("like", "tea", 3) == [], "it was evidence for the whole, which is stored"
    assert slot_line(again, "like") == slot


class TestWhatAWholeInherits:
    def merged(self, parts: int, wholes: int, confidence: float = 0.8) -> Memory:
        """Who says the part so often, then the whole, whose last says that it completes it."""
        memory = Memory()
        for at in range(1, parts + 1):
            memory.says("like", "tea", at)
        for at in range(parts + 1, parts + wholes + 1):
            refines = (fact_id("like", "tea"),) if at == parts + wholes else ()
            memory.says("like", "green tea", at, confidence=confidence, refines=refines)
        return memory

    def test_the_times_and_the_surer_of_both(self) -> None:
        memory = self.merged(3, 2, confidence=0.5)
        part, whole = memory.known("like", "tea"), memory.known("like", "green tea")
        assert whole.evidence_count == 5
        assert [each.offsets[0] for each in whole.provenance] == [1, 2, 3, 4, 5]
        assert whole.confidence == part.confidence > 0.8
        assert (whole.learned_at, whole.last_evidence_at) == (arrival(1), arrival(5))
        assert (whole.status, whole.valid_from) == (ACTIVE, minute(1))
        assert (part.status, part.archived_at) == (FactStatus.MERGED_INTO, arrival(5))
        change = part.changes[-1]
        assert (change.change, change.confidence_before) == (FactChange.MERGED, part.confidence)

    def test_what_had_another_value_before_is_part_of_the_whole_alone(self) -> None:
        memory = Memory()
        memory.says("home", "Berlin", 1)
        memory.says("home", "Rome", 2)
        memory.says("home", "Berlin Mitte", 5, refines=(fact_id("home", "Berlin"),))
        part = memory.known("home", "Berlin")
        assert (part.status, part.superseded_by) == (FactStatus.MERGED_INTO, None)
        whole = memory.known("home", "Berlin Mitte")
        assert [mark.fact_id for mark in memory.of("home", "Rome").marks if mark.fact_id == part.fact_id] == []
        assert (whole.valid_from, whole.past[0].valid_from) == (minute(5), minute(1))
        memory.says("home", "Berlin Mitte", 7, polarity=Polarity.NEGATED)
        assert memory.known("home", "Berlin Mitte").status is FactStatus.CONTRADICTED


def test_of_very_much_evidence_the_newest_is_named_and_all_of_it_counts_once() -> None:
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
