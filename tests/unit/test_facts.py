"""What becomes of candidates and vectors (seeds 000 and 002)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import msgspec
import pytest

from models.errors import InvalidRecord
from models.facts import (
    Category,
    Erasure,
    Fact,
    FactCandidate,
    FactChange,
    FactStatus,
    Provenance,
)
from models.ids import candidate_id, fact_id
from models.messages import Role
from models.ports import ExtractedStatement
from models.windows import Window, WindowMessage, WindowReason, WindowSource
from processors.facts.consolidation import (
    already_extracted,
    apply_candidate,
    apply_refinement,
    consolidate,
    fresh,
    resolve,
    target_of,
    to_candidate,
)
from processors.facts.erasure import erase
from processors.facts.evidence import PROVENANCE_LIMIT

NOON = datetime(2025, 3, 1, 12, tzinfo=UTC)
LATER = NOON + timedelta(days=1)
PARTIAL = "User likes blueberries"
COMPLETE = "User likes blueberries, especially in smoothies"


def candidate(
    statement: str = PARTIAL,
    *,
    number: int = 1,
    partition: int = 0,
    user: str = "ann",
    refines: tuple[str, ...] = (),
    valid_from: datetime = NOON,
    arrived_at: datetime | None = None,
    confidence: float = 0.8,
) -> FactCandidate:
    fact = fact_id("default", user, statement)
    return FactCandidate(
        candidate_id=candidate_id(fact, f"c{number}", [f"m{number}"]),
        user_id=user,
        category=Category.PREFERENCE,
        statement=statement,
        confidence=confidence,
        source_message_ids=(f"m{number}",),
        provenance=Provenance(
            conversation_id=f"c{number}",
            window_id=f"w{number}",
            window_end_id=f"m{number}",
            message_ids=(f"m{number}",),
            quote="blueberries.",
            topic="chat.messages.v1",
            partition=partition,
            offsets=(number,),
            arrived_at=arrived_at or NOON + timedelta(seconds=number),
        ),
        valid_from=valid_from,
        extractor="test",
        refines=tuple(fact_id("default", user, each) for each in refines),
    )


def created(statement: str = PARTIAL, **changes: object) -> Fact:
    return msgspec.structs.replace(apply_candidate(None, candidate(statement)), **changes)


class TestCandidate:
    def test_unknown_becomes_a_fact(self) -> None:
        fact = apply_candidate(None, candidate())
        assert (fact.status, fact.change, fact.version) == (FactStatus.ACTIVE, FactChange.CREATED, 1)
        assert (fact.evidence_count, fact.provenance) == (1, (candidate().provenance,))
        assert (fact.valid_from, fact.recorded_at) == (NOON, candidate().provenance.arrived_at)
        assert fact.fact_id == fact_id("default", "ann", PARTIAL)

    def test_the_same_statement_again_reinforces(self) -> None:
        again = apply_candidate(created(), candidate(number=2))
        assert (again.change, again.version, again.evidence_count) == (FactChange.REINFORCED, 2, 2)
        assert again.confidence == pytest.approx(0.8 + 0.05 * 0.2)
        assert [evidence.window_id for evidence in again.provenance] == ["w1", "w2"]

    def test_a_fact_is_recorded_when_its_latest_message_arrived(self) -> None:
        fact = apply_candidate(created(), candidate(number=2, arrived_at=LATER))
        assert fact.recorded_at == LATER
        assert apply_candidate(fact, candidate(number=3)).recorded_at == LATER, "older news are no later news"

    def test_status_stays(self) -> None:
        active = created(status=FactStatus.ACTIVE)
        assert apply_candidate(active, candidate(number=2)).status is FactStatus.ACTIVE

    def test_older_evidence_moves_valid_from_back(self) -> None:
        earlier = NOON - timedelta(days=9)
        assert apply_candidate(created(), candidate(number=2, valid_from=earlier)).valid_from == earlier

    def test_the_same_window_again_changes_nothing(self) -> None:
        fact = created()
        assert apply_candidate(fact, candidate()) is fact

    def test_the_same_messages_in_another_window_change_nothing(self) -> None:
        fact = created()
        other = candidate()
        moved = msgspec.structs.replace(other.provenance, window_id="w9", window_end_id="m9")
        assert apply_candidate(fact, msgspec.structs.replace(other, provenance=moved)) is fact

    def test_stated_again_a_deprecated_fact_is_active_again(self) -> None:
        fact = created(status=FactStatus.DEPRECATED)
        assert apply_candidate(fact, candidate(number=2)).status is FactStatus.ACTIVE

    def test_another_person_is_refused(self) -> None:
        with pytest.raises(ValueError, match="another person"):
            apply_candidate(created(), candidate(user="bob"))

    def test_a_merged_fact_is_refused(self) -> None:
        fact = created(status=FactStatus.MERGED_INTO, merged_into_id="other")
        with pytest.raises(ValueError, match="other"):
            apply_candidate(fact, candidate(number=2))


class TestProvenance:
    def test_is_bounded_and_counted(self) -> None:
        fact = created()
        for number in range(2, 101):
            fact = apply_candidate(fact, candidate(number=number))
        assert fact.evidence_count == 100
        assert [e.offsets[0] for e in fact.provenance] == list(range(101 - PROVENANCE_LIMIT, 101))

    def test_evidence_that_was_let_go_is_still_known(self) -> None:
        fact = created()
        for number in range(2, 101):
            fact = apply_candidate(fact, candidate(number=number))
        assert all(apply_candidate(fact, candidate(number=n)) is fact for n in range(1, 101))

    def test_evidence_that_arrived_in_the_same_millisecond_is_told_by_its_offsets(self) -> None:
        fact = apply_candidate(None, candidate(number=1, arrived_at=NOON))
        for number in range(2, 41):
            fact = apply_candidate(fact, candidate(number=number, arrived_at=NOON))
        assert fact.evidence_count == 40

    def test_a_partition_keeps_its_only_evidence(self) -> None:
        fact = apply_candidate(created(), candidate(number=500, partition=1))
        for number in range(2, 60):
            fact = apply_candidate(fact, candidate(number=number))
        assert 1 in {evidence.partition for evidence in fact.provenance}
        assert len(fact.provenance) == PROVENANCE_LIMIT

    def test_more_partitions_than_the_limit_keep_one_each(self) -> None:
        fact = created()
        for number in range(2, 41):
            fact = apply_candidate(fact, candidate(number=number, partition=number))
        assert len(fact.provenance) == 40

    def test_a_topic_that_was_made_again_begins_at_offset_0_and_is_no_replay(self) -> None:
        fact = created()
        for number in range(2, 101):
            fact = apply_candidate(fact, candidate(number=number))
        again = candidate(number=0, arrived_at=LATER)
        assert apply_candidate(fact, again).evidence_count == 101

    def test_merging_remembers_what_either_let_go(self) -> None:
        partial, into = created(), apply_candidate(None, candidate(COMPLETE, number=51))
        for number in range(2, 51):
            partial = apply_candidate(partial, candidate(number=number))
        _, into = apply_refinement(partial, into)
        assert into.evidence_count == 51
        assert len(into.provenance) == PROVENANCE_LIMIT
        assert all(apply_candidate(into, candidate(number=n)) is into for n in range(1, 52))


class TestRefinement:
    def test_the_complete_fact_inherits(self) -> None:
        partial = created(confidence=0.9)
        later = candidate(COMPLETE, number=2, valid_from=LATER)
        into = apply_candidate(None, later)
        merged, complete = apply_refinement(partial, into)
        assert (merged.status, merged.change) == (FactStatus.MERGED_INTO, FactChange.MERGED)
        assert merged.merged_into_id == into.fact_id
        assert merged.provenance == partial.provenance
        assert (complete.change, complete.version) == (FactChange.MERGED, 2)
        assert complete.status is FactStatus.ACTIVE
        assert complete.evidence_count == 2
        assert complete.provenance == (candidate().provenance, later.provenance)
        assert complete.valid_from == NOON
        assert complete.confidence == 0.9

    def test_evidence_that_both_have_counts_once(self) -> None:
        into = apply_candidate(created(COMPLETE), candidate(COMPLETE, number=2))
        _, complete = apply_refinement(created(), into)
        assert (complete.evidence_count, len(complete.provenance)) == (2, 2)

    def test_what_is_over_is_left_alone(self) -> None:
        status = FactStatus.MERGED_INTO
        over, into = created(status=status), created(COMPLETE)
        merged, complete = apply_refinement(over, into)
        assert merged is over
        assert complete is into
        partial, gone = created(), created(COMPLETE, status=status)
        merged, complete = apply_refinement(partial, gone)
        assert merged is partial
        assert complete is gone

    def test_a_merge_that_was_interrupted_is_completed(self) -> None:
        partial = created()
        into = apply_candidate(None, candidate(COMPLETE, number=2))
        merged, complete = apply_refinement(partial, into)
        assert apply_refinement(merged, into) == (merged, complete)
        assert apply_refinement(merged, complete)[1] is complete

    def test_a_fact_is_not_merged_into_itself(self) -> None:
        fact = created()
        assert apply_refinement(fact, fact) == (fact, fact)


class TestErasure:
    """At noon and 10 seconds the fact is erased."""

    UNTIL = NOON + timedelta(seconds=10)

    def erased(self, fact: Fact) -> Erasure:
        left, erasure = erase(fact, None, self.UNTIL)
        assert left is None
        return erasure

    def test_nothing_is_left_but_when_and_which_version(self) -> None:
        assert self.erased(created(version=7)) == Erasure(until=self.UNTIL, version=7)

    def test_what_arrived_before_stays_gone(self) -> None:
        erasure = self.erased(created())
        for number in (1, 2, 10):
            assert consolidate(candidate(number=number), lambda _id: None, lambda _id: erasure) == []

    def test_what_is_said_later_begins_anew_at_a_later_version(self) -> None:
        erasure = self.erased(created(version=7, confidence=0.99))
        (fact,) = consolidate(candidate(number=11), lambda _id: None, lambda _id: erasure)
        assert (fact.version, fact.change, fact.evidence_count) == (8, FactChange.CREATED, 1)
        assert (fact.provenance, fact.confidence) == ((candidate(number=11).provenance,), 0.8)
        assert fact.erased_until == self.UNTIL
        assert erase(fact, erasure, self.UNTIL) == (fact, erasure), "the tombstone is read again"

    def test_what_was_said_again_before_it_was_learned_of_is_kept(self) -> None:
        fact = apply_candidate(created(status=FactStatus.ACTIVE), candidate(number=11))
        left, erasure = erase(fact, None, self.UNTIL)
        assert left is not None
        assert left.provenance == (candidate(number=11).provenance,)
        assert (left.evidence_count, left.version, erasure.version) == (1, 3, 2)
        assert (left.change, left.status) == (FactChange.ERASED, FactStatus.ACTIVE)
        assert left.valid_from == left.recorded_at == candidate(number=11).provenance.arrived_at
        assert erase(left, erasure, self.UNTIL) == (left, erasure)

    def test_what_a_fact_let_go_of_counts_as_erased(self) -> None:
        fact = created()
        for number in range(2, 60):
            fact = apply_candidate(fact, candidate(number=number))
        left, _ = erase(fact, None, self.UNTIL)
        assert left is not None
        assert left.evidence_count == len(left.provenance) == PROVENANCE_LIMIT

    def test_a_fact_that_began_after_it_is_left_alone(self) -> None:
        fact = apply_candidate(None, candidate(number=11))
        left, erasure = erase(fact, None, self.UNTIL)
        assert left is fact
        assert erasure == Erasure(until=self.UNTIL, version=0)

    def test_an_erasure_that_was_stored_without_what_it_left_is_completed(self) -> None:
        """A crash may part the two changes of state."""
        fact = apply_candidate(created(), candidate(number=11))
        for whole in (fact, created()):
            left, erasure = erase(whole, None, self.UNTIL)
            assert erase(whole, erasure, self.UNTIL) == (left, erasure)

    def test_of_several_the_latest_and_highest_counts(self) -> None:
        _, first = erase(None, None, self.UNTIL, 4)
        assert first == Erasure(until=self.UNTIL, version=4)
        _, second = erase(None, first, NOON, 5)
        assert second == Erasure(until=self.UNTIL, version=5)
        _, third = erase(None, second, LATER)
        assert third == Erasure(until=LATER, version=5)

    def test_a_merge_does_not_bring_it_back(self) -> None:
        """The partial fact was not erased, but what the complete one had of it was."""
        facts: dict[str, Fact] = {}
        for each in (candidate(), candidate(COMPLETE, number=2, refines=(PARTIAL,))):
            facts |= {fact.fact_id: fact for fact in consolidate(each, facts.get)}
        complete_id = fact_id("default", "ann", COMPLETE)
        _, erasure = erase(facts.pop(complete_id), None, self.UNTIL)
        erasures = {complete_id: erasure}
        anew = candidate(COMPLETE, number=11, refines=(PARTIAL,))
        changes = consolidate(anew, facts.get, erasures.get)
        facts |= {fact.fact_id: fact for fact in changes}
        assert facts[complete_id].provenance == (anew.provenance,)
        assert facts[complete_id].evidence_count == 1
        assert consolidate(candidate(), facts.get, erasures.get) == []
        assert consolidate(anew, facts.get, erasures.get) == []


class TestConsolidate:
    def test_a_new_statement_is_one_change(self) -> None:
        assert [f.change for f in consolidate(candidate(), lambda _id: None)] == [FactChange.CREATED]

    def test_the_seeds_blueberries_end_as_one_complete_fact(self) -> None:
        facts: dict[str, Fact] = {}
        for each in (candidate(), candidate(COMPLETE, number=2, refines=(PARTIAL,))):
            facts |= {fact.fact_id: fact for fact in consolidate(each, facts.get)}
        live = [fact for fact in facts.values() if fact.status is not FactStatus.MERGED_INTO]
        assert [fact.statement for fact in live] == [COMPLETE]
        assert live[0].evidence_count == 2

    def test_the_partial_said_again_reinforces_the_complete_fact(self) -> None:
        facts: dict[str, Fact] = {}
        for each in (
            candidate(),
            candidate(COMPLETE, number=2, refines=(PARTIAL,)),
            candidate(number=3),
        ):
            changes = consolidate(each, facts.get)
            facts |= {fact.fact_id: fact for fact in changes}
        assert [(fact.statement, fact.change) for fact in changes] == [(COMPLETE, FactChange.REINFORCED)]
        assert changes[0].evidence_count == 3

    def test_completing_what_nobody_knows_is_no_merge(self) -> None:
        changes = consolidate(candidate(COMPLETE, refines=(PARTIAL,)), lambda _id: None)
        assert [fact.change for fact in changes] == [FactChange.CREATED]

    def test_a_replay_does_not_merge_a_younger_partial(self) -> None:
        facts: dict[str, Fact] = {}
        complete = candidate(COMPLETE, refines=(PARTIAL,))
        for each in (complete, candidate(number=2)):
            facts |= {fact.fact_id: fact for fact in consolidate(each, facts.get)}
        assert consolidate(complete, facts.get) == []

    def test_a_crash_between_the_two_stored_facts_loses_no_evidence(self) -> None:
        facts = {fact.fact_id: fact for fact in consolidate(candidate(), lambda _id: None)}
        completing = candidate(COMPLETE, number=2, refines=(PARTIAL,))
        changes = {fact.fact_id: fact for fact in consolidate(completing, facts.get)}
        partial_id, complete_id = fact_id("default", "ann", PARTIAL), fact_id("default", "ann", COMPLETE)
        halfway = {partial_id: changes[partial_id]}
        again = {fact.fact_id: fact for fact in consolidate(completing, halfway.get)}
        assert again == {complete_id: changes[complete_id]}

    def test_merges_are_followed_to_their_end(self) -> None:
        last = created("User likes pies")
        middle = created(COMPLETE, status=FactStatus.MERGED_INTO, merged_into_id=last.fact_id)
        first = created(status=FactStatus.MERGED_INTO, merged_into_id=middle.fact_id)
        facts = {fact.fact_id: fact for fact in (first, middle, last)}
        assert target_of(first) == middle.fact_id
        assert target_of(last) == last.fact_id
        assert resolve(first.fact_id, facts.get) is last
        assert resolve("unknown", facts.get) is None

    def test_merged_into_what_is_gone_stands_for_itself(self) -> None:
        orphan = created(status=FactStatus.MERGED_INTO, merged_into_id="gone")
        (again,) = consolidate(candidate(number=2), {orphan.fact_id: orphan}.get)
        assert (again.status, again.merged_into_id) == (FactStatus.ACTIVE, None)
        assert again.version == orphan.version + 1


def statement(*message_ids: str, completes: str = "", text: str = PARTIAL) -> ExtractedStatement:
    return ExtractedStatement(
        user_id="ann",
        category=Category.PREFERENCE,
        statement=text,
        confidence=0.8,
        source_message_ids=message_ids,
        quote="blueberries.",
        completes=completes,
    )


class TestFresh:
    def test_only_what_rests_on_a_new_message_is_kept(self) -> None:
        old, new = statement("m8", "m9"), statement("m9", "m11")
        assert fresh([old, new], {"m7", "m8", "m9"}) == [new]
        assert fresh([old, new], set()) == [old, new]

    def test_already_extracted_means_all_of_them(self) -> None:
        assert already_extracted(("m1", "m2"), {"m1", "m2", "m3"})
        assert not already_extracted(("m1", "m2"), {"m1"})


class TestToCandidate:
    def window(self) -> Window:
        messages = tuple(
            WindowMessage(
                message_id=f"m{n}",
                user_id="ann",
                role=Role.USER,
                content="blueberries.",
                sent_at=NOON + timedelta(minutes=n),
                arrived_at=NOON + timedelta(minutes=n),
                index=n,
                offset=100 + n,
            )
            for n in range(4)
        )
        return Window(
            window_id="w1",
            conversation_id="c1",
            user_id="ann",
            tenant_id="acme",
            reason=WindowReason.FULL,
            message_ids=tuple(message.message_id for message in messages),
            messages=messages,
            from_index=0,
            to_index=3,
            overlap=0,
            source=WindowSource(topic="chat.messages.v1", partition=2, first_offset=100, last_offset=103),
        )

    def test_ids_and_provenance(self) -> None:
        found = to_candidate(statement("m1", "m3", text=COMPLETE, completes=PARTIAL), self.window(), "rules/1")
        own = fact_id("acme", "ann", COMPLETE)
        assert found.candidate_id == candidate_id(own, "c1", ["m1", "m3"])
        assert found.refines == (fact_id("acme", "ann", PARTIAL),)
        assert (found.tenant_id, found.extractor) == ("acme", "rules/1")
        assert found.valid_from == NOON + timedelta(minutes=1)
        assert found.provenance.window_end_id == "m3"
        assert (found.provenance.partition, found.provenance.offsets) == (2, (101, 103))
        assert found.provenance.arrived_at == self.window().messages[3].arrived_at

    def test_the_id_is_of_the_messages_whatever_window_they_were_found_in(self) -> None:
        window = self.window()
        moved = msgspec.structs.replace(window, window_id="w2", from_index=7, to_index=10)
        found = [to_candidate(statement("m1", "m3"), each, "rules/1") for each in (window, moved)]
        assert found[0].candidate_id == found[1].candidate_id
        other = [to_candidate(statement(*ids), window, "rules/1") for ids in (["m1"], ["m3"], ["m3", "m1"])]
        assert len({each.candidate_id for each in [*found, *other]}) == 4

    @pytest.mark.parametrize("ids", [(), ("m1", "elsewhere")])
    def test_sources_outside_the_window_are_refused(self, ids: tuple[str, ...]) -> None:
        with pytest.raises(InvalidRecord) as caught:
            to_candidate(statement(*ids), self.window(), "rules/1")
        assert caught.value.reason == "unknown_source"
