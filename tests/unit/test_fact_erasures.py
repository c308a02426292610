"""What an erasure leaves of a fact, of what it had ended, and of what was said after it."""

from __future__ import annotations

from datetime import timedelta

import msgspec
import pytest
from told_facts import Memory, arrival, claimed, evidence, minute, told

from models.facts import Erasure, Fact, FactChange, FactStatus, Support
from models.statements import Assertion
from processors.facts.erasure import erase, outlives
from processors.facts.evidence import is_erased
from processors.facts.lines import Given, Line, Stub
from processors.facts.marks import MarkKind

BERLIN, MUNICH, ROME = (claimed("home", value).fact_id for value in ("Berlin", "Munich", "Rome"))
HOME = claimed("home", "Berlin").slot_id
HALF = timedelta(seconds=30)


def home(*said: str | tuple[str, Assertion]) -> Line:
    """Where ada says that she lives, minute by minute."""
    ada = Memory()
    for at, each in enumerate(said, 1):
        value, assertion = each if isinstance(each, tuple) else (each, Assertion.HOLDS)
        ada.says("home", value, at, assertion)
    return ada.lines[HOME]


def fact(line: Line | None, fact_id: str) -> Fact:
    found = None if line is None else line.fact(fact_id)
    assert found is not None
    return found


def test_an_erasure_covers_its_very_moment_and_nothing_after() -> None:
    assert is_erased(evidence(5), Erasure(until=arrival(5)))
    assert not is_erased(evidence(5), Erasure(until=arrival(5) - HALF))
    assert is_erased(evidence(5), Erasure(until=arrival(6)))
    assert not is_erased(evidence(5), None)


def test_a_fact_outlives_what_was_erased_before_it_began() -> None:
    known = told(evidence(3), evidence(5))
    assert outlives(known, arrival(2))
    assert not outlives(known, arrival(3))
    assert not outlives(known, arrival(9))
    anew = msgspec.structs.replace(known, erased_until=arrival(4))
    assert outlives(anew, arrival(4)), "it began anew since that very erasure"
    assert outlives(anew, arrival(3))
    assert not outlives(anew, arrival(4) + HALF)


def test_what_is_named_no_more_counts_as_erased() -> None:
    """Of more evidence than is named, some may have come before."""
    known = msgspec.structs.replace(told(evidence(3), evidence(5)), evidence_count=3)
    assert not outlives(known, arrival(2))


class TestNothingOfItIsLeft:
    @pytest.mark.parametrize("single", [True, False])
    def test_a_line_that_holds_nothing_else_is_gone(self, single: bool) -> None:
        line = home("Berlin", "Berlin") if single else likes("tea", "tea").of("like", "tea")
        fact_id = line.facts[0].fact_id
        erased = erase(line, fact_id, None, arrival(2))
        assert erased == (None, [], Erasure(until=arrival(2), version=2), True)

    def test_what_it_had_ended_holds_again_and_names_it_nowhere(self) -> None:
        line = msgspec.structs.replace(home("Berlin", "Munich"), given=Given(MUNICH))
        before = fact(line, BERLIN)
        assert (before.status, before.changes[-1].fact_id) == (FactStatus.SUPERSEDED, MUNICH)
        after, (berlin,), erasure, is_gone = erase(line, MUNICH, None, arrival(7))
        assert is_gone
        assert erasure == Erasure(until=arrival(7), version=1)
        assert (berlin.status, berlin.change, berlin.version) == (FactStatus.ACTIVE, FactChange.ERASED, 3)
        assert (berlin.valid_from, berlin.valid_to, berlin.superseded_by) == (minute(1), None, None)
        assert berlin.changed_at == arrival(7)
        created, superseded, erased = berlin.changes
        assert created == before.changes[0]
        assert superseded == msgspec.structs.replace(
            before.changes[1], window_id=None, message_id=None, fact_id=None
        )
        assert (erased.fact_id, erased.window_id, erased.message_id) == (None, None, None)
        assert after == msgspec.structs.replace(home("Berlin"), facts=(berlin,))

    def test_the_highest_version_that_is_known_of_it_is_remembered(self) -> None:
        line = home("Berlin", "Berlin")
        assert erase(line, BERLIN, None, arrival(5), 9).erasure.version == 9
        before = Erasure(until=arrival(0), version=7)
        assert erase(line, BERLIN, before, arrival(5), 3).erasure == Erasure(until=arrival(5), version=7)
        assert erase(line, BERLIN, before, arrival(5)).erasure == Erasure(until=arrival(5), version=7)
        late = Erasure(until=arrival(9), version=1)
        assert erase(line, BERLIN, late, arrival(5)).erasure == Erasure(until=arrival(9), version=2)

    def test_a_replacement_has_its_own_day(self) -> None:
        line = home("Berlin", ("Munich", Assertion.CORRECTED))
        assert fact(line, MUNICH).valid_from == minute(1)
        after, (munich,), _, is_gone = erase(line, BERLIN, None, arrival(7))
        assert is_gone and after is not None and after.stubs == ()
        assert (munich.valid_from, munich.changed_at) == (minute(2), arrival(7))
        before = Erasure(until=arrival(9), version=8)
        assert erase(line, BERLIN, before, arrival(7)).erasure == before

    def test_a_trace_alone_leaves_nothing(self) -> None:
        line = Line(True, stubs=(Stub(BERLIN, 4),))
        assert erase(line, BERLIN, None, arrival(1)) == (None, [], Erasure(until=arrival(1), version=4), True)


class TestWhatWasSaidAfterIt:
    def kept(self) -> Line:
        """Said before, and thrice after: what is sent first arrives last."""
        ada = Memory()
        ada.says("home", "Berlin", 1)
        ada.says("home", "Rome", 2)
        for at, sent in ((3, 9), (5, 8), (6, 7)):
            ada.says("home", "Berlin", at, provenance=evidence(at, sent_at=minute(sent)))
        support = tuple(
            Support(
                turn_id=f"t{at}",
                conversation_id="d",
                sent_at=minute(at),
                arrived_at=arrival(at),
                similarity=0.9,
            )
            for at in (3, 4, 9)
        )
        line = ada.lines[HOME]
        berlin = msgspec.structs.replace(fact(line, BERLIN), support=support)
        return msgspec.structs.replace(
            line, facts=(berlin, *(each for each in line.facts if each.fact_id == ROME))
        )

    def test_it_rests_on_that_alone(self) -> None:
        line = self.kept()
        before = fact(line, BERLIN)
        assert before.past and len(before.changes) > 1
        after, changed, erasure, is_gone = erase(line, BERLIN, None, arrival(4))
        assert not is_gone
        assert erasure == Erasure(until=arrival(4), version=before.version)
        berlin = fact(after, BERLIN)
        assert changed[-1] == berlin
        assert (berlin.evidence_count, [each.offsets[0] for each in berlin.provenance]) == (2, [5, 6])
        assert (berlin.version, berlin.change) == (before.version + 1, FactChange.ERASED)
        assert (berlin.valid_from, berlin.learned_at, berlin.changed_at) == (minute(7), arrival(5), arrival(6))
        assert (berlin.last_evidence_at, [each.turn_id for each in berlin.support]) == (arrival(9), ["t9"])
        assert (berlin.past, berlin.erased_until) == ((), arrival(4))
        (erased,) = berlin.changes
        assert (erased.at, erased.window_id, erased.fact_id) == (arrival(6), None, None)
        assert berlin.status is FactStatus.ACTIVE

    @pytest.mark.parametrize("before", [None, Erasure(until=arrival(1), version=9)])
    def test_its_version_continues_from_the_last_erased(self, before: Erasure | None) -> None:
        """Whoever has seen that one erased takes no older one for what is left."""
        _, (*_, berlin), erasure, _ = erase(self.kept(), BERLIN, before, arrival(4), 0 if before else 9)
        assert (berlin.version, erasure.version) == (10, 9)

    def test_a_correction_that_was_said_after_it_stays_one(self) -> None:
        line = home("Berlin", "Rome", ("Berlin", Assertion.CORRECTED))
        assert line.stub(ROME) is not None
        after, _, _, _ = erase(line, BERLIN, None, arrival(1))
        assert after is not None
        assert [(mark.fact_id, mark.kind) for mark in after.marks] == [
            (ROME, MarkKind.HOLDS),
            (BERLIN, MarkKind.CORRECTED),
        ]
        assert fact(after, BERLIN).valid_from == minute(2)

    def test_an_end_said_later_stays_and_earlier_goes(self) -> None:
        line = home("Berlin", ("Berlin", Assertion.ENDED), "Berlin", ("Berlin", Assertion.ENDED))
        after, _, _, _ = erase(line, BERLIN, None, arrival(2))
        assert after is not None
        assert [(mark.kind, mark.first.sent_at) for mark in after.marks if mark.kind is MarkKind.ENDED] == [
            (MarkKind.ENDED, minute(4))
        ]
        assert fact(after, BERLIN).status is FactStatus.ENDED
        after, _, _, _ = erase(line, BERLIN, None, arrival(1))
        assert after is not None
        assert [mark.first.sent_at for mark in after.marks if mark.kind is MarkKind.ENDED] == [
            minute(2),
            minute(4),
        ]


class TestNothingIsToBeDone:
    @pytest.mark.parametrize("line", [None, home("Munich"), home("Munich", "Berlin")])
    def test_that_it_was_erased_is_remembered(self, line: Line | None) -> None:
        assert erase(line, BERLIN, None, arrival(1), 3) == (
            line,
            [],
            Erasure(until=arrival(1), version=3),
            False,
        )


def likes(*values: str) -> Memory:
    ada = Memory()
    for at, value in enumerate(values, 1):
        ada.says("like", value, at)
    return ada


def test_since_when_it_holds_is_erased_with_its_speaker() -> None:
    ada = Memory()
    ada.says("home", "Berlin", 1)
    ada.says("home", "Munich", 5, provenance=evidence(5, since=minute(2)))
    ada.says("home", "Munich", 9, provenance=evidence(9, since=minute(3)))
    left = erase(ada.lines[HOME], MUNICH, None, arrival(5)).line
    assert fact(left, MUNICH).valid_from == fact(left, BERLIN).valid_to == minute(3)
