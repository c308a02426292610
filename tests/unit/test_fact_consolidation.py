"""What becomes of a sentence: a new fact, evidence for one, the end, the correction or a part of others."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from told_facts import Memory, arrival, candidate, claimed, evidence, minute

from models.errors import InvalidRecord
from models.facts import Erasure, Fact, FactCandidate, FactChange, FactStatus
from models.statements import Assertion, Polarity
from processors.facts.claims import claim_of
from processors.facts.evidence import ceilings
from processors.facts.lines import VALUES_LIMIT, Latest, Line, Stub, with_stub
from processors.facts.marks import Said, moment_of

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


class TestOneSentence:
    def test_read_again_it_changes_nothing(self) -> None:
        for attribute in ("home", "like"):
            memory = ada(attribute, "Berlin", "Rome", "Berlin")
            before = dict(memory.lines)
            for at, value in enumerate(("Berlin", "Rome", "Berlin"), 1):
                assert memory.says(attribute, value, at) == []
            assert memory.lines == before

    def test_a_slot_that_holds_one_value_is_stored_alone_and_one_of_many_after_its_values(self) -> None:
        done = Memory().fold(candidate("Berlin", evidence(1)))
        assert (done.lines, done.slot.single) == ({}, True)
        assert [each.value for each in done.slot.facts] == ["Berlin"]
        done = Memory().fold(candidate("tea", evidence(1), attribute="like"))
        tea = claimed("like", "tea")
        assert [*done.lines] == [tea.line_id]
        assert (done.slot.single, done.lines[tea.line_id].single) == (False, False)
        assert (done.slot.facts, done.slot.values) == ((), (tea.line_id,))

    def test_the_same_window_can_still_end_what_it_said_and_counts_once(self) -> None:
        memory = ada("pet", "a dog")
        assert told(memory.says("pet", "a dog", 1, ENDED)) == [("a dog", OVER, FactChange.ENDED)]
        assert memory.known("pet", "dog").evidence_count == 1
        assert memory.says("pet", "a dog", 1, ENDED) == []

    def test_what_was_let_go_is_not_learned_again_from_the_same(self) -> None:
        tea = claimed("like", "tea")
        for line in (
            Line(False, floors=ceilings([evidence(5)])),
            with_stub(Line(False), Stub(tea.fact_id, 3, floors=ceilings([evidence(5)]))),
        ):
            memory = Memory()
            memory.lines[tea.line_id] = line
            assert memory.says("like", "tea", 5) == []
            assert memory.says("like", "tea", 4) == []
            assert memory.lines == {tea.line_id: line, tea.slot_id: Line(False)}, (
                "it is not noted as a value either"
            )
            assert told(memory.says("like", "tea", 6)) == [("tea", ACTIVE, FactChange.CREATED)]

    def test_what_is_known_counts_although_older_things_were_let_go_of_its_line(self) -> None:
        memory = ada("home", "Berlin", "Rome")
        line = slot_line(memory, "home")
        memory.lines[claimed("home", "x").slot_id] = msgspec.structs.replace(
            line, floors=ceilings([evidence(9)])
        )
        assert memory.says("home", "Munich", 8) == []
        assert memory.says("home", "Rome", 8)[0].evidence_count == 2

    def test_what_a_correction_took_back_counts_once_when_it_is_said_again(self) -> None:
        memory = ada("home", "Berlin")
        memory.says("home", "Munich", 2, CORRECTED)
        memory.says("home", "Berlin", 5)
        assert memory.says("home", "Berlin", 1) == [], "that was before it was corrected"
        assert memory.known("home", "Berlin").evidence_count == 1
        assert memory.says("home", "Berlin", 6)[0].evidence_count == 2

    def test_what_is_said_unsurely_is_marked_as_that(self) -> None:
        memory = ada("favourite/cuisine", "Italian")
        (thai,) = memory.says("favourite/cuisine", "Thai", 2, confidence=0.45)
        assert thai.tentative and memory.known("favourite/cuisine", "Italian").status is ACTIVE
        assert slot_line(memory, "favourite/cuisine").marks[-1].tentative


class TestWhatWasErased:
    def test_what_came_until_then_is_ignored_and_what_came_later_goes_on_from_there(self) -> None:
        memory = Memory()
        memory.erasures[fact_id("like", "tea")] = Erasure(until=arrival(5), version=7)
        assert memory.says("like", "tea", 5) == []
        assert memory.lines == {claimed("like", "tea").slot_id: Line(False)}
        (tea,) = memory.says("like", "tea", 6)
        assert (tea.version, tea.erased_until) == (8, arrival(5))

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

    def test_said_at_the_very_moment_it_has_not_ended(self) -> None:
        memory = Memory()
        memory.says("pet", "", 9, ENDED)
        memory.says("pet", "a goat", 9, provenance=evidence(9, window_id="w", message_ids=("m",)))
        assert memory.known("pet", "goat").status is ACTIVE

    def test_of_one_moment_the_later_word_counts(self) -> None:
        memory = ada("pet", "a dog")
        memory.says("pet", "", 1, ENDED, provenance=evidence(1, window_id="w", message_ids=("m",)))
        assert memory.known("pet", "dog").status is OVER

    def test_where_one_fits_what_was_before_is_over_by_what_was_said_alone(self) -> None:
        memory = Memory()
        memory.says("home", "", 9, ENDED)
        (berlin,) = memory.says("home", "Berlin", 5)
        assert (berlin.status, berlin.valid_to) == (OVER, minute(9))
        assert [mark.said for mark in slot_line(memory, "home").marks] == [Said.HOLDS, Said.HOLDS]

    def test_who_never_had_any_ended_them_at_every_time_at_which_it_was_said(self) -> None:
        memory = Memory()
        for at in (9, 19):
            memory.says("pet", "", at, ENDED)
        memory.says("pet", "a goat", 5)
        line = memory.of("pet", "goat")
        assert [(mark.said, mark.first.sent_at) for mark in line.marks] == [
            (Said.HOLDS, minute(5)),
            (Said.ENDED, minute(9)),
            (Said.ENDED, minute(19)),
        ]
        assert {mark.by for mark in line.marks[1:]} == {none_of("pet")}

    def test_a_denial_says_nothing_of_the_others(self) -> None:
        memory = Memory()
        memory.says("pet", "", 9, ENDED)
        memory.says("pet", "a goat", 5, polarity=NEGATED)
        assert memory.known("pet", "goat", NEGATED).status is ACTIVE
        assert slot_line(memory, "pet").values == ()
        assert slot_line(memory, "pet").latest is None

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

    def test_the_slot_names_its_latest_values_once_each(self) -> None:
        memory = ada("like", "tea", "jazz", "tea")
        tea, jazz = claimed("like", "tea"), claimed("like", "jazz")
        assert slot_line(memory, "like").values == (tea.line_id, jazz.line_id)
        memory = Memory()
        for at in range(VALUES_LIMIT + 1):
            memory.says("like", f"thing {at}", at)
        names = [claimed("like", f"thing {at}").line_id for at in range(1, VALUES_LIMIT + 1)]
        assert [*slot_line(memory, "like").values] == names

    def test_the_slot_knows_which_value_was_named_last_and_where(self) -> None:
        memory = ada("like", "tea", "jazz")
        tea, jazz = claimed("like", "tea"), claimed("like", "jazz")
        said = evidence(7, conversation_id="d")
        memory.says("like", "tea", 7, provenance=said)
        latest = Latest(tea.line_id, tea.fact_id, moment_of(said), "d")
        assert slot_line(memory, "like").latest == latest
        memory.says("like", "jazz", 5)
        assert slot_line(memory, "like").latest == latest, "that was before"
        memory.says("like", "jazz", 9, ENDED)
        assert slot_line(memory, "like").latest == latest, "an end names nothing that is liked"
        same = evidence(7, conversation_id="e", window_id="w", message_ids=("m",))
        memory.says("like", "jazz", 7, provenance=same)
        assert slot_line(memory, "like").latest == Latest(jazz.line_id, jazz.fact_id, moment_of(same), "e")

    def test_what_fits_no_slot_is_no_value_of_one(self) -> None:
        memory = Memory()
        said = candidate("", evidence(1), attribute="like")
        free = msgspec.structs.replace(said, attribute="", statement="hums", value="")
        memory.hears(free)
        other = candidate("", evidence(2), attribute="like", assertion=CORRECTED)
        memory.hears(msgspec.structs.replace(other, attribute="", statement="sings", value=""))
        assert memory.lines[claim_of(free).slot_id] == Line(False)
        assert [each.status for each in memory.topic.values()] == [ACTIVE, ACTIVE]


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

    def test_at_the_same_moment_it_does(self) -> None:
        memory = ada("pet", "a dog", "a cat")
        said = evidence(2, window_id="w", message_ids=("m",))
        memory.says("pet", "a cow", 2, CORRECTED, provenance=said)
        assert memory.known("pet", "cat").status is VOID

    def test_who_says_it_again_takes_nothing_back(self) -> None:
        memory = ada("pet", "a dog")
        memory.says("pet", "a dog", 2, CORRECTED)
        assert memory.known("pet", "dog").status is ACTIVE

    def test_who_names_what_is_wrong_takes_back_that_alone(self) -> None:
        memory = ada("pet", "a dog", "a cat")
        changes = memory.says("pet", "a cow", 3, CORRECTED, corrects=fact_id("pet", "dog"))
        assert told(changes) == [("a cow", ACTIVE, FactChange.CREATED), ("a dog", VOID, FactChange.CORRECTED)]
        assert changes[1].superseded_by == fact_id("pet", "cow")
        assert memory.known("pet", "cat").status is ACTIVE

    def test_what_is_named_of_another_slot_or_person_or_of_nobody_stays(self) -> None:
        memory = ada("pet", "a dog")
        memory.says("like", "tea", 2, corrects=fact_id("pet", "dog"))
        memory.says("pet", "a cow", 3, corrects="another")
        line = memory.of("pet", "dog")
        strange = msgspec.structs.replace(line.facts[0], user_id="bob")
        memory.lines[claimed("pet", "dog").line_id] = msgspec.structs.replace(line, facts=(strange,))
        memory.says("pet", "a cat", 4, corrects=fact_id("pet", "dog"))
        assert memory.known("pet", "dog").status is ACTIVE

    def test_the_part_that_is_said_instead_of_its_whole_stands_for_itself_again(self) -> None:
        memory = grown("like", "tea", "green tea")
        memory.says("like", "tea", 3, corrects=fact_id("like", "green tea"))
        assert memory.known("like", "tea").status is ACTIVE
        assert memory.known("like", "green tea").status is VOID


class TestPartsOfAWhole:
    def test_the_whole_is_told_then_what_it_has_taken_in(self) -> None:
        memory = ada("like", "tea")
        done = memory.fold(
            candidate("green tea", evidence(2), attribute="like", refines=(fact_id("like", "tea"),))
        )
        tea, green = claimed("like", "tea"), claimed("like", "green tea")
        assert told(done.changes) == [
            ("green tea", ACTIVE, FactChange.CREATED),
            ("green tea", ACTIVE, FactChange.MERGED),
            ("tea", FactStatus.MERGED_INTO, FactChange.MERGED),
        ]
        _, whole, part = done.changes
        assert [*done.lines] == [green.line_id, tea.line_id], "a line before those of its parts"
        assert done.lines[green.line_id].facts == (whole,)
        assert (whole.evidence_count, part.merged_into_id) == (2, green.fact_id)
        assert part.changes[-1].fact_id == green.fact_id
        assert done.lines[tea.line_id].stubs == (
            Stub(
                tea.fact_id,
                2,
                green.fact_id,
                green.line_id,
                since=memory.position,
                slot_id=tea.slot_id,
                tenant_id="acme",
                user_id="ada",
                conversation_ids=("c",),
            ),
        )

    def test_the_history_of_the_whole_goes_on_saying_that_it_took_something_in(self) -> None:
        for attribute in ("like", "home"):
            memory = grown(attribute, "tea", "green tea")
            memory.says(attribute, "green tea", 3)
            assert [each.change for each in memory.known(attribute, "green tea").changes] == [
                FactChange.CREATED,
                FactChange.MERGED,
                FactChange.REINFORCED,
            ]
            memory.says(attribute, "tea leaves", 4)
            memory.says(attribute, "green tea", 5, refines=(fact_id(attribute, "tea leaves"),))
            known = memory.known(attribute, "green tea")
            assert [each.version for each in known.changes] == [*range(1, known.version + 1)]
            assert [each.change for each in known.changes][-1] is FactChange.MERGED
            assert [each.change for each in known.changes].count(FactChange.MERGED) == 2

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

    def test_another_value_that_changes_with_it_is_not_called_merged(self) -> None:
        memory = ada("home", "Berlin", "Rome", "Berlin Mitte")
        changes = memory.says("home", "Berlin Mitte", 4, refines=(fact_id("home", "Berlin"),))
        assert {each.change for each in changes if each.value == "Rome"} <= {FactChange.SUPERSEDED}
        assert memory.known("home", "Berlin Mitte").past[0].valid_from == minute(1)

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

    def test_what_was_corrected_before_it_became_a_part_is_no_evidence_of_the_whole(self) -> None:
        memory = ada("home", "Berlin")
        memory.says("home", "Munich", 2, CORRECTED)
        memory.says("home", "Berlin", 5)
        memory.says("home", "Berlin Mitte", 6, refines=(fact_id("home", "Berlin"),))
        assert memory.says("home", "Berlin", 1) == []
        assert memory.known("home", "Berlin Mitte").evidence_count == 2
        assert memory.says("home", "Berlin", 7)[-1].evidence_count == 3

    def test_that_it_is_denied_no_longer_ends_nothing(self) -> None:
        memory = grown("like", "tea", "green tea")
        memory.says("like", "tea", 4, ENDED, polarity=NEGATED)
        assert memory.known("like", "green tea").status is ACTIVE

    def test_who_says_a_part_of_a_part_says_the_whole(self) -> None:
        """Where nobody has told the one that what stands for it has become a part itself."""
        memory = ada("like", "tea")
        memory.says("like", "hot green tea", 2)
        tea, green, hot = (claimed("like", each) for each in ("tea", "green tea", "hot green tea"))
        for part, into in ((tea, green), (green, hot)):
            stub = Stub(part.fact_id, 2, into.fact_id, into.line_id, since=1)
            memory.lines[part.line_id] = with_stub(Line(False), stub)
        assert told(memory.says("like", "tea", 4)) == [("hot green tea", ACTIVE, FactChange.REINFORCED)]

    def test_what_is_gone_stands_for_nothing(self) -> None:
        memory = grown("like", "tea", "green tea")
        del memory.lines[claimed("like", "green tea").line_id]
        (tea,) = memory.says("like", "tea", 5)
        assert (tea.value, tea.status, tea.evidence_count, tea.version) == ("tea", ACTIVE, 1, 3)

    def test_what_is_read_again_from_before_they_were_one_is_of_the_part(self) -> None:
        memory = grown("like", "tea", "green tea")
        memory.position = 0  # the next one stands before
        (tea,) = memory.says("like", "tea", 5)
        assert tea.value == "tea"
        memory = grown("like", "tea", "green tea")
        memory.position = 1  # the next one is that which has merged them
        assert memory.says("like", "tea", 5)[0].value == "green tea"

    def test_a_denial_that_says_more_denies_less(self) -> None:
        memory = ada("like", "tea")
        memory.says("like", "green tea", 2, polarity=NEGATED, refines=(fact_id("like", "tea"),))
        assert memory.known("like", "tea").status is ACTIVE
        memory.says("like", "jazz", 3, polarity=NEGATED)
        memory.says("like", "old jazz", 4, refines=(fact_id("like", "jazz", NEGATED),))
        assert memory.known("like", "jazz", NEGATED).status is ACTIVE

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

    def test_what_is_unknown_or_itself_is_no_part(self) -> None:
        memory = Memory()
        tea = fact_id("like", "tea")
        changes = memory.says("like", "tea", 1, refines=("another", tea))
        assert told(changes) == [("tea", ACTIVE, FactChange.CREATED)]

    def test_it_takes_in_every_part(self) -> None:
        memory = ada("like", "tea", "green things")
        parts = (fact_id("like", "tea"), "another", fact_id("like", "green things"))
        memory.says("like", "green tea", 3, refines=parts)
        assert [memory.known("like", each).status for each in ("tea", "green things")] == [
            FactStatus.MERGED_INTO
        ] * 2
        assert memory.known("like", "green tea").evidence_count == 3

    def test_what_says_nothing_new_takes_nothing_in(self) -> None:
        """A replay could meet a part that is younger."""
        memory = ada("like", "green tea", "tea")
        assert memory.says("like", "green tea", 1, refines=(fact_id("like", "tea"),)) == []
        assert told(memory.says("like", "green tea", 1, ENDED)) == [("green tea", OVER, FactChange.ENDED)]
        assert memory.says("like", "green tea", 1, ENDED, refines=(fact_id("like", "tea"),)) == []

    def test_none_any_more_ends_what_the_parts_became(self) -> None:
        memory = grown("pet", "a dog", "a big dog")
        memory.says("pet", "", 9, ENDED)
        assert memory.known("pet", "big dog").status is OVER


STORIES: dict[str, Callable[[], tuple[Memory, FactCandidate]]] = {
    "a new value": lambda: (ada("like", "tea"), candidate("jazz", evidence(9), attribute="like")),
    "none any more": lambda: (ada("pet", "a dog", "a cat"), said_of("pet", "", ENDED)),
    "no, I mean": lambda: (ada("pet", "a dog", "a cat"), said_of("pet", "a cow", CORRECTED)),
    "a part": lambda: (ada("like", "tea"), said_of("like", "green tea", refines=(fact_id("like", "tea"),))),
    "a part of a whole that is known": lambda: (
        ada("like", "tea", "green tea"),
        said_of("like", "green tea", refines=(fact_id("like", "tea"),)),
    ),
    "a part that has parts": lambda: (
        grown("like", "tea", "green tea"),
        said_of("like", "hot green tea", refines=(fact_id("like", "green tea"),)),
    ),
    "two parts": lambda: (
        ada("like", "tea", "green things"),
        said_of("like", "green tea", refines=(fact_id("like", "tea"), fact_id("like", "green things"))),
    ),
    "two parts, the one taken back with it": lambda: (
        ada("like", "tea", "green things"),
        said_of(
            "like", "green tea", CORRECTED, refines=(fact_id("like", "tea"), fact_id("like", "green things"))
        ),
    ),
    "a denial of a part": lambda: (grown("like", "tea", "green tea"), said_of("like", "tea", polarity=NEGATED)),
    "instead of another": lambda: (
        ada("like", "tea", "jazz"),
        said_of("like", "rock", corrects=fact_id("like", "tea")),
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


def test_what_was_stored_with_it_and_took_no_part_in_it_is_left_as_it_is() -> None:
    memory = ada("like", "tea")
    memory.folded = {claimed("like", "tea").line_id}
    changes = memory.says("like", "green tea", 2, refines=(fact_id("like", "tea"),))
    assert told(changes) == [("green tea", ACTIVE, FactChange.CREATED)]
    assert memory.of("like", "tea") == ada("like", "tea").of("like", "tea")


def test_a_part_is_merged_although_its_whole_was_erased_since_the_crash() -> None:
    memory = ada("like", "tea")
    green = claimed("like", "green tea")
    memory.lines[green.line_id], memory.folded = Line(False), {green.line_id}
    changes = memory.says("like", "green tea", 2, refines=(fact_id("like", "tea"),))
    assert told(changes) == [("tea", FactStatus.MERGED_INTO, FactChange.MERGED)]
    assert memory.of("like", "tea").stubs[0].into == green.fact_id
    assert memory.lines[green.line_id] == Line(False)


def test_what_was_completed_stands_for_itself_once_the_whole_was_corrected() -> None:
    memory = grown("like", "tea", "green tea")
    memory.says("like", "jazz", 3, assertion=CORRECTED)
    changes = memory.says("like", "tea", 4)
    assert told(changes) == [("tea", ACTIVE, FactChange.CREATED)]
    assert (changes[0].fact_id, changes[0].version) == (fact_id("like", "tea"), 3)
    assert memory.topic[fact_id("like", "green tea")].status is VOID
    assert [memory.says("like", "tea", at) for at in (1, 4)] == [[], []], "that is known"
    assert memory.says("like", "tea", 5)[0].evidence_count == 2


def test_who_goes_back_to_less_is_taken_at_their_word() -> None:
    memory = grown("like", "tea", "green tea")
    changes = memory.says("like", "tea", 3, assertion=CORRECTED)
    assert told(changes) == [
        ("tea", ACTIVE, FactChange.CREATED),
        ("green tea", VOID, FactChange.CORRECTED),
    ]
    assert memory.says("like", "tea", 1) == [], "what it was part of rested on that"


def test_what_was_merged_follows_what_it_is_part_of_until_that_was_corrected() -> None:
    """A line may be younger than a candidate that is read again: positions tell."""
    memory = grown("like", "tea", "green tea")
    before = copy.copy(memory)
    before.lines = dict(memory.lines)
    memory.says("like", "tea", 3)
    memory.says("like", "jazz", 4, assertion=CORRECTED)
    memory.says("like", "tea", 5)
    line = memory.of("like", "tea")
    before.lines[claimed("like", "tea").line_id] = line
    assert told(before.says("like", "tea", 3)) == [("green tea", ACTIVE, FactChange.REINFORCED)]


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


def test_who_puts_less_right_with_what_it_is_part_of_has_said_so() -> None:
    """ "I like tea, no, I mean green tea": what tea is part of by now is not taken back."""
    memory = grown("like", "tea", "green tea")
    memory.says("like", "tea", 3)
    assert told(memory.says("like", "green tea", 4, assertion=CORRECTED)) == [
        ("green tea", ACTIVE, FactChange.REINFORCED)
    ]


def test_who_goes_back_from_a_part_to_less_is_taken_at_their_word() -> None:
    """Tea and green tea are part of strong green tea: that is what is taken back, and not all that is known."""
    memory = grown("like", "tea", "green tea")
    memory.says("like", "strong green tea", 3, refines=(fact_id("like", "green tea"),))
    memory.says("like", "green tea", 4)
    assert told(memory.says("like", "tea", 5, assertion=CORRECTED)) == [
        ("tea", ACTIVE, FactChange.CREATED),
        ("strong green tea", VOID, FactChange.CORRECTED),
    ]
    assert memory.known("like", "strong green tea").superseded_by == fact_id("like", "tea")


def test_what_was_merged_and_named_last_is_not_taken_back_by_itself() -> None:
    memory = grown("like", "tea", "green tea")
    memory.says("like", "tea", 3)
    assert told(memory.says("like", "tea", 4, assertion=CORRECTED)) == [
        ("green tea", ACTIVE, FactChange.REINFORCED)
    ]
