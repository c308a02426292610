"""A line of facts that exclude one another: what a change is called, what is let go, and what stays known."""

from __future__ import annotations

from datetime import timedelta

import msgspec
import pytest
from told_facts import arrival, candidate, claimed, evidence, minute, told

from models.facts import CHANGES_LIMIT, Fact, FactChange, FactStatus, Period, Provenance
from processors.facts.claims import claim_of
from processors.facts.evidence import Floor, ceilings, learned, reinforced
from processors.facts.lines import (
    ENTRIES_LIMIT,
    STUBS_LIMIT,
    Cause,
    Line,
    Stub,
    alone,
    bounded,
    cause_of,
    recorded,
    settled,
    stub_of,
    voided_by,
    with_fact,
    with_stub,
)
from processors.facts.marks import MARKS_LIMIT, Said, mark_of, marked, moment_of
from processors.facts.stubs import Led, Voided
from processors.facts.timeline import verdicts

BERLIN, MUNICH = claimed("home", "Berlin"), claimed("home", "Munich")
EMPTY = Line(True)


def heard(line: Line, value: str, at: int, said: Said = Said.HOLDS, by: str = "") -> Line:
    """The line with what is said at this minute, before anything follows from it."""
    each = candidate(value, evidence(at))
    own = claim_of(each)
    fact = line.fact(own.fact_id)
    if not by:
        line = with_fact(
            line,
            learned(each, own, line.next_version(own.fact_id, None), None)
            if fact is None
            else reinforced(fact, each, own),
        )
    marks = marked(line.marks, mark_of(own, moment_of(each.provenance), said, by))
    return msgspec.structs.replace(line, marks=marks)


def heard_from(evidence_: Provenance, line: Line, value: str) -> Line:
    """The line after what this evidence says."""
    each = candidate(value, evidence_)
    own = claim_of(each)
    told_of = with_fact(line, learned(each, own, line.next_version(own.fact_id, None), None))
    marks = marked(line.marks, mark_of(own, moment_of(evidence_), Said.HOLDS))
    after, _ = settled(line, msgspec.structs.replace(told_of, marks=marks), cause_of(own.fact_id, evidence_))
    return after


def says(line: Line, value: str, at: int, said: Said = Said.HOLDS, by: str = "") -> tuple[Line, list[Fact]]:
    """What follows of it."""
    return settled(
        line, heard(line, value, at, said, by), cause_of(by or claimed("home", value).fact_id, evidence(at))
    )


def lived(*values: str) -> Line:
    """Home, minute by minute."""
    line = EMPTY
    for at, value in enumerate(values, 1):
        line, _ = says(line, value, at)
    return line


def of(line: Line, fact_id: str) -> Fact:
    fact = line.fact(fact_id)
    assert fact is not None
    return fact


class TestWhatIsInIt:
    def test_a_fact_that_is_back_is_merged_no_more_but_what_it_was_before_its_correction_stays_known(
        self,
    ) -> None:
        merged, corrected = Stub(BERLIN.fact_id, 1, "whole"), Stub(BERLIN.fact_id, 1)
        others = Stub("one", 1, "whole"), Stub("other", 1)
        fact, munich = told(evidence(1)), of(lived("Munich"), MUNICH.fact_id)
        line = with_fact(Line(True, facts=(munich,), stubs=(merged, *others)), fact)
        assert (line.facts, line.stubs) == ((fact, munich), others)
        line = with_fact(Line(True, stubs=(corrected, *others)), fact)
        assert line.stubs == (corrected, *others)
        later = reinforced(fact, candidate("Berlin", evidence(2)), BERLIN)
        assert with_fact(Line(True, facts=(munich, fact)), later).facts == (later, munich)

    def test_only_the_latest_that_were_let_go_are_remembered(self) -> None:
        line = EMPTY
        for number in range(STUBS_LIMIT + 1):
            line = with_stub(line, Stub(f"f{number}", 1))
        assert [stub.fact_id for stub in line.stubs] == [f"f{number}" for number in range(1, STUBS_LIMIT + 1)]


class TestWhatChangesIt:
    def test_what_is_read_late_changes_nothing_earlier_than_it_was_changed(self) -> None:
        fact = told(evidence(9))
        late = recorded(fact, FactChange.ENDED, 2, Cause("x", arrival(5)), None)
        assert late.changed_at == late.changes[-1].at == arrival(9)

    def test_only_the_latest_changes_are_named(self) -> None:
        fact = told(evidence(1))
        for version in range(2, CHANGES_LIMIT + 3):
            fact = recorded(fact, FactChange.REINFORCED, version, Cause("", arrival(version)), None)
        assert [each.version for each in fact.changes] == [*range(3, CHANGES_LIMIT + 3)]

    def test_what_state_lets_go_of_names_no_window_of_another_fact(self) -> None:
        own = Cause(BERLIN.fact_id, arrival(2), "w2", "m2")
        fact = recorded(told(evidence(1)), FactChange.REINFORCED, 2, own, 0.5)
        fact = recorded(fact, FactChange.SUPERSEDED, 3, Cause(MUNICH.fact_id, arrival(3), "w3", "m3"), 0.5)
        mine, other = alone(fact).changes
        assert mine == fact.changes[0]
        assert other == msgspec.structs.replace(fact.changes[1], window_id=None, message_id=None, fact_id=None)


class TestWhatFollows:
    @pytest.mark.parametrize(
        ("ahead", "corrected"),
        [(timedelta(hours=20), "Munich"), (timedelta(minutes=6), "Munich"), (timedelta(minutes=4), "Berlin")],
    )
    def test_a_clock_that_runs_ahead_counts_as_its_arrival(self, ahead: timedelta, corrected: str) -> None:
        wrong = evidence(1, sent_at=arrival(1) + ahead)
        line = heard_from(wrong, EMPTY, "Berlin")
        line = heard_from(evidence(2, sent_at=arrival(2)), line, "Munich")
        [active] = [each.value for each in line.facts if each.status is FactStatus.ACTIVE]
        assert active == corrected

    def test_what_ends_is_told_first_so_that_a_slot_never_holds_two_values(self) -> None:
        before = lived("Berlin")
        line, changed = says(before, "Munich", 2)
        assert [(each.value, each.status) for each in changed] == [
            ("Berlin", FactStatus.SUPERSEDED),
            ("Munich", FactStatus.ACTIVE),
        ]
        berlin, munich = changed
        assert (berlin.change, berlin.version, berlin.valid_to) == (FactChange.SUPERSEDED, 2, minute(2))
        assert berlin.superseded_by == munich.fact_id
        assert (berlin.changes[-1].fact_id, berlin.changes[-1].window_id) == (munich.fact_id, "w0/2")
        assert berlin.changes[-1].confidence_before == 0.8
        assert line.facts == (munich, berlin)

    def test_who_came_back_was_there_before_and_what_did_not_change_is_not_told_again(self) -> None:
        line, changed = says(lived("Berlin", "Munich"), "Berlin", 3)
        assert [each.value for each in changed] == ["Munich", "Berlin"]
        berlin = of(line, BERLIN.fact_id)
        assert (berlin.valid_from, berlin.valid_to, berlin.superseded_by) == (minute(3), None, None)
        assert berlin.past == (Period(minute(1), minute(2)),)
        assert settled(line, line, Cause("", arrival(9))) == (line, [])

    def test_what_was_over_already_moves_as_what_it_is(self) -> None:
        """Berlin ended at the third minute; then we learn that it did at the second."""
        line = EMPTY
        for value, at in (("Berlin", 1), ("Munich", 3)):
            line, _ = says(line, value, at)
        line, changed = says(line, "Rome", 2)
        berlin = next(each for each in changed if each.value == "Berlin")
        assert (berlin.change, berlin.valid_to, berlin.version) == (FactChange.SUPERSEDED, minute(2), 3)
        line, (berlin,) = settled(
            line,
            msgspec.structs.replace(line, marks=tuple(m for m in line.marks if m.fact_id == BERLIN.fact_id)),
            Cause("", arrival(9)),
            FactChange.ERASED,
        )
        assert (berlin.change, berlin.status) == (FactChange.ERASED, FactStatus.ACTIVE)

    @pytest.mark.parametrize(
        ("said", "by", "status", "change"),
        [
            (Said.ENDED, "", FactStatus.ENDED, FactChange.ENDED),
            (Said.ENDED, "none", FactStatus.ENDED, FactChange.ENDED),
            (Said.VOIDED, "x", FactStatus.DEPRECATED, FactChange.CORRECTED),
        ],
    )
    def test_an_end_is_called_an_end(self, said: Said, by: str, status: FactStatus, change: FactChange) -> None:
        _, (berlin,) = says(lived("Berlin"), "Berlin", 2, said, by)
        assert (berlin.status, berlin.change, berlin.superseded_by) == (status, change, by or None)

    def test_what_is_said_unsurely_is_marked_as_that_until_it_is_said_surely(self) -> None:
        line = heard(EMPTY, "Berlin", 1)
        unsure = tuple(msgspec.structs.replace(mark, tentative=True) for mark in line.marks)
        line, (berlin,) = settled(EMPTY, msgspec.structs.replace(line, marks=unsure), Cause("", arrival(1)))
        assert berlin.tentative
        _, (berlin,) = says(line, "Berlin", 2)
        assert not berlin.tentative

    def test_what_faded_is_not_back_because_its_line_is_looked_at(self) -> None:
        line = lived("Berlin")
        faded = msgspec.structs.replace(of(line, BERLIN.fact_id), status=FactStatus.DEPRECATED)
        line = with_fact(line, faded)
        assert settled(line, line, Cause("", arrival(9))) == (line, [])
        _, changed = says(line, "Munich", 2)
        assert [each.status for each in changed] == [FactStatus.SUPERSEDED, FactStatus.ACTIVE], "but it ends"


class TestWhatNeverWasSo:
    def test_only_a_trace_is_left_by_which_it_is_known_again(self) -> None:
        before = lived("Berlin", "Munich", "Berlin")
        line, changed = says(before, "Rome", 4, Said.CORRECTED)
        berlin = next(each for each in changed if each.value == "Berlin")
        assert (berlin.status, berlin.change) == (FactStatus.DEPRECATED, FactChange.CORRECTED)
        assert {each.fact_id for each in berlin.changes} == {None}
        assert berlin.changes[-1].window_id is None, "the window of what was said instead may be erased"
        assert line.fact(BERLIN.fact_id) is None
        floors = ceilings((evidence(1), evidence(3)))
        assert line.stubs == (stub_of(berlin, floors, voided_by("w0/4")),)
        assert {each.value for each in line.facts} == {"Munich", "Rome"}

    def test_corrected_twice_it_is_known_up_to_the_last_of_both(self) -> None:
        line = lived("Berlin")
        line, _ = says(line, "Munich", 2, Said.CORRECTED)
        old = Stub(BERLIN.fact_id, 2, floors=(Floor("chat.messages.v1", 1, arrival(8), 8),))
        line = with_stub(line, old)
        line, _ = says(line, "Berlin", 3)
        line, _ = says(line, "Rome", 4, Said.CORRECTED)
        stub = line.stub(BERLIN.fact_id)
        assert stub is not None
        assert stub.floors == ceilings((evidence(3),), old.floors)
        assert len(stub.floors) == 2

    def test_the_trace_says_whose_it_was_and_where_it_was_said(self) -> None:
        said = [
            evidence(1, conversation_id="d"),
            evidence(2, conversation_id="b"),
            evidence(3, conversation_id="d"),
        ]
        fact = msgspec.structs.replace(told(*said), version=9)
        floors = ceilings(said)
        before = Stub(BERLIN.fact_id, 2, voids=(Voided(3),), led=(Led("whole", "line", 1, 2),))
        assert stub_of(fact, floors, "by", 7, before) == Stub(
            BERLIN.fact_id,
            9,
            floors=floors,
            slot_id=BERLIN.slot_id,
            tenant_id="acme",
            user_id="ada",
            conversation_ids=("b", "d"),
            voided_by="by",
            voids=(Voided(3), Voided(7, floors)),
            led=before.led,
        )
        assert (stub_of(fact, ()).voided_by, stub_of(fact, ()).voids) == ("", (Voided(0),))


class TestWhatIsTooMuch:
    def test_the_oldest_beyond_the_limit_goes_and_is_known_by_its_place(self) -> None:
        line = lived(*(f"Place {number}" for number in range(MARKS_LIMIT)))
        assert bounded(line, verdicts(line.marks, True)) is line, "all of it fits"
        first, second = (of(line, claimed("home", f"Place {number}").fact_id) for number in range(2))
        line = with_fact(line, msgspec.structs.replace(first, version=40))
        line = msgspec.structs.replace(line, floors=ceilings([evidence(2, partition=1)]), forgotten_version=5)
        line, _ = says(line, "Another", 90)
        assert line.fact(first.fact_id) is None and line.fact(second.fact_id) is not None
        assert len(line.marks) == len(line.facts) == MARKS_LIMIT
        assert line.forgotten_version == 40
        assert line.floors == ceilings([evidence(1), evidence(2, partition=1)])
        line, _ = says(line, "Yet another", 91)
        assert line.forgotten_version == 40, "the highest of all"
        assert line.floors == ceilings([evidence(2), evidence(2, partition=1)])

    def grown(self, entries: int, *values: str) -> Line:
        """A line whose first fact names as much as is left of ``entries``."""
        line = lived(*values)
        facts = {each.value: each for each in line.facts}
        rest = sum(len(each.changes) + len(each.provenance) for each in line.facts[:-1])
        first = facts[values[0]]
        names = tuple(evidence(100 + each) for each in range(entries - rest - len(first.changes)))
        return with_fact(line, msgspec.structs.replace(first, provenance=names))

    def test_a_line_that_names_too_much_lets_go_of_the_oldest_that_does_not_hold(self) -> None:
        line = self.grown(ENTRIES_LIMIT, "Berlin", "Rome", "Munich")
        found = verdicts(line.marks, True)
        assert bounded(line, found) is line
        line = self.grown(ENTRIES_LIMIT + 1, "Berlin", "Rome", "Munich")
        less = bounded(line, found)
        assert {each.value for each in less.facts} == {"Rome", "Munich"}
        assert [mark.fact_id for mark in less.marks] == [
            claimed("home", each).fact_id for each in ("Rome", "Munich")
        ]
        assert less.forgotten_version == of(line, BERLIN.fact_id).version
        assert less.floors == ceilings(of(line, BERLIN.fact_id).provenance)

    def test_it_lets_go_of_no_more_than_is_too_much_and_of_nothing_that_holds(self) -> None:
        line = self.grown(2 * ENTRIES_LIMIT, "Berlin", "Rome", "Munich", "Berlin")
        less = bounded(line, verdicts(line.marks, True))
        assert {each.value for each in less.facts} == {"Berlin"}, "it holds, however much it is"
        assert {mark.fact_id for mark in less.marks} == {BERLIN.fact_id}
