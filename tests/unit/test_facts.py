"""What becomes of candidates and vectors (seeds 000 and 002)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import msgspec
import pytest

from models.errors import InvalidRecord
from models.facts import Category, EmbeddingResult, Fact, FactCandidate, FactChange, FactStatus, Provenance
from models.ids import candidate_id, fact_id
from models.messages import Role
from models.ports import ExtractedStatement
from models.windows import Window, WindowMessage, WindowReason, WindowSource
from processors.facts.consolidation import (
    PROVENANCE_LIMIT,
    already_extracted,
    apply_candidate,
    apply_embedding,
    apply_refinement,
    consolidate,
    fresh,
    resolve,
    target_of,
    to_candidate,
)

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
    confidence: float = 0.8,
) -> FactCandidate:
    fact = fact_id("default", user, statement)
    return FactCandidate(
        candidate_id=candidate_id(fact, f"w{number}"),
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
        ),
        valid_from=valid_from,
        extractor="test",
        refines=tuple(fact_id("default", user, each) for each in refines),
    )


def created(statement: str = PARTIAL, **changes: object) -> Fact:
    return msgspec.structs.replace(apply_candidate(None, candidate(statement), NOON), **changes)


def vector_of(fact: Fact) -> EmbeddingResult:
    return EmbeddingResult(
        fact_id=fact.fact_id, user_id=fact.user_id, version=fact.version, model="test", dimensions=3
    )


class TestCandidate:
    def test_unknown_becomes_a_pending_fact(self) -> None:
        fact = apply_candidate(None, candidate(), LATER)
        assert (fact.status, fact.change, fact.version) == (FactStatus.PENDING_EMBED, FactChange.CREATED, 1)
        assert (fact.evidence_count, fact.provenance) == (1, (candidate().provenance,))
        assert (fact.valid_from, fact.recorded_at) == (NOON, LATER)
        assert fact.fact_id == fact_id("default", "ann", PARTIAL)

    def test_the_same_statement_again_reinforces(self) -> None:
        again = apply_candidate(created(), candidate(number=2), LATER)
        assert (again.change, again.version, again.evidence_count) == (FactChange.REINFORCED, 2, 2)
        assert again.confidence == pytest.approx(0.8 + 0.05 * 0.2)
        assert [evidence.window_id for evidence in again.provenance] == ["w1", "w2"]
        assert again.recorded_at == LATER

    def test_status_stays(self) -> None:
        assert apply_candidate(created(), candidate(number=2), LATER).status is FactStatus.PENDING_EMBED
        active = created(status=FactStatus.ACTIVE)
        assert apply_candidate(active, candidate(number=2), LATER).status is FactStatus.ACTIVE

    def test_older_evidence_moves_valid_from_back(self) -> None:
        earlier = NOON - timedelta(days=9)
        assert apply_candidate(created(), candidate(number=2, valid_from=earlier), LATER).valid_from == earlier

    def test_the_same_window_again_changes_nothing(self) -> None:
        fact = created()
        assert apply_candidate(fact, candidate(), LATER) is fact

    def test_the_same_messages_in_another_window_change_nothing(self) -> None:
        fact = created()
        other = candidate()
        moved = msgspec.structs.replace(other.provenance, window_id="w9", window_end_id="m9")
        assert apply_candidate(fact, msgspec.structs.replace(other, provenance=moved), LATER) is fact

    def test_stated_again_a_deprecated_fact_is_active_again(self) -> None:
        fact = created(status=FactStatus.DEPRECATED)
        assert apply_candidate(fact, candidate(number=2), LATER).status is FactStatus.ACTIVE

    def test_what_was_erased_does_not_come_back(self) -> None:
        fact = created(status=FactStatus.ERASED)
        assert apply_candidate(fact, candidate(number=2), LATER) is fact

    def test_another_person_is_refused(self) -> None:
        with pytest.raises(ValueError, match="another person"):
            apply_candidate(created(), candidate(user="bob"), LATER)

    def test_a_merged_fact_is_refused(self) -> None:
        fact = created(status=FactStatus.MERGED_INTO, merged_into_id="other")
        with pytest.raises(ValueError, match="other"):
            apply_candidate(fact, candidate(number=2), LATER)


class TestProvenance:
    def test_is_bounded_and_counted(self) -> None:
        fact = created()
        for number in range(2, 101):
            fact = apply_candidate(fact, candidate(number=number), LATER)
        assert fact.evidence_count == 100
        assert [e.offsets[0] for e in fact.provenance] == list(range(101 - PROVENANCE_LIMIT, 101))

    def test_evidence_that_was_let_go_is_still_known(self) -> None:
        fact = created()
        for number in range(2, 101):
            fact = apply_candidate(fact, candidate(number=number), LATER)
        assert all(apply_candidate(fact, candidate(number=n), LATER) is fact for n in range(1, 101))

    def test_a_partition_keeps_its_only_evidence(self) -> None:
        fact = apply_candidate(created(), candidate(number=500, partition=1), LATER)
        for number in range(2, 60):
            fact = apply_candidate(fact, candidate(number=number), LATER)
        assert 1 in {evidence.partition for evidence in fact.provenance}
        assert len(fact.provenance) == PROVENANCE_LIMIT

    def test_more_partitions_than_the_limit_keep_one_each(self) -> None:
        fact = created()
        for number in range(2, 41):
            fact = apply_candidate(fact, candidate(number=number, partition=number), LATER)
        assert len(fact.provenance) == 40

    def test_merging_remembers_what_either_let_go(self) -> None:
        partial, into = created(), apply_candidate(None, candidate(COMPLETE, number=51), NOON)
        for number in range(2, 51):
            partial = apply_candidate(partial, candidate(number=number), LATER)
        _, into = apply_refinement(partial, into, LATER)
        assert into.evidence_count == 51
        assert len(into.provenance) == PROVENANCE_LIMIT
        assert all(apply_candidate(into, candidate(number=n), LATER) is into for n in range(1, 52))


class TestRefinement:
    def test_the_complete_fact_inherits(self) -> None:
        partial = created(confidence=0.9)
        later = candidate(COMPLETE, number=2, valid_from=LATER)
        into = apply_candidate(None, later, LATER)
        merged, complete = apply_refinement(partial, into, LATER)
        assert (merged.status, merged.change) == (FactStatus.MERGED_INTO, FactChange.MERGED)
        assert (merged.merged_into_id, merged.version) == (into.fact_id, 2)
        assert merged.provenance == partial.provenance
        assert (complete.change, complete.version) == (FactChange.MERGED, 2)
        assert complete.status is FactStatus.PENDING_EMBED
        assert complete.evidence_count == 2
        assert complete.provenance == (candidate().provenance, later.provenance)
        assert complete.valid_from == NOON
        assert complete.confidence == 0.9

    def test_evidence_that_both_have_counts_once(self) -> None:
        into = apply_candidate(created(COMPLETE), candidate(COMPLETE, number=2), LATER)
        _, complete = apply_refinement(created(), into, LATER)
        assert (complete.evidence_count, len(complete.provenance)) == (2, 2)

    @pytest.mark.parametrize("status", [FactStatus.MERGED_INTO, FactStatus.ERASED])
    def test_what_is_over_is_left_alone(self, status: FactStatus) -> None:
        over, into = created(status=status), created(COMPLETE)
        merged, complete = apply_refinement(over, into, LATER)
        assert merged is over
        assert complete is into
        partial, gone = created(), created(COMPLETE, status=status)
        merged, complete = apply_refinement(partial, gone, LATER)
        assert merged is partial
        assert complete is gone

    def test_a_merge_that_was_interrupted_is_completed(self) -> None:
        partial = created()
        into = apply_candidate(None, candidate(COMPLETE, number=2), LATER)
        merged, complete = apply_refinement(partial, into, LATER)
        assert apply_refinement(merged, into, LATER) == (merged, complete)
        assert apply_refinement(merged, complete, LATER)[1] is complete

    def test_a_fact_is_not_merged_into_itself(self) -> None:
        fact = created()
        assert apply_refinement(fact, fact, LATER) == (fact, fact)


class TestEmbedding:
    def test_pending_becomes_active(self) -> None:
        fact = created()
        active = apply_embedding(fact, vector_of(fact), LATER)
        assert (active.status, active.change) == (FactStatus.ACTIVE, FactChange.EMBEDDED)
        assert (active.version, active.recorded_at) == (2, LATER)
        assert active.evidence_count == 1

    @pytest.mark.parametrize("status", [each for each in FactStatus if each is not FactStatus.PENDING_EMBED])
    def test_any_other_stays(self, status: FactStatus) -> None:
        fact = created(status=status)
        assert apply_embedding(fact, vector_of(fact), LATER) is fact

    def test_the_vector_of_another_fact_is_refused(self) -> None:
        with pytest.raises(ValueError, match="not one of"):
            apply_embedding(created(), vector_of(created(COMPLETE)), LATER)


class TestConsolidate:
    def test_a_new_statement_is_one_change(self) -> None:
        assert [f.change for f in consolidate(candidate(), lambda _id: None, NOON)] == [FactChange.CREATED]

    def test_the_seeds_blueberries_end_as_one_complete_fact(self) -> None:
        facts: dict[str, Fact] = {}
        for each in (candidate(), candidate(COMPLETE, number=2, refines=(PARTIAL,))):
            facts |= {fact.fact_id: fact for fact in consolidate(each, facts.get, NOON)}
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
            changes = consolidate(each, facts.get, NOON)
            facts |= {fact.fact_id: fact for fact in changes}
        assert [(fact.statement, fact.change) for fact in changes] == [(COMPLETE, FactChange.REINFORCED)]
        assert changes[0].evidence_count == 3

    def test_completing_what_nobody_knows_is_no_merge(self) -> None:
        changes = consolidate(candidate(COMPLETE, refines=(PARTIAL,)), lambda _id: None, NOON)
        assert [fact.change for fact in changes] == [FactChange.CREATED]

    def test_a_replay_does_not_merge_a_younger_partial(self) -> None:
        facts: dict[str, Fact] = {}
        complete = candidate(COMPLETE, refines=(PARTIAL,))
        for each in (complete, candidate(number=2)):
            facts |= {fact.fact_id: fact for fact in consolidate(each, facts.get, NOON)}
        assert consolidate(complete, facts.get, NOON) == []

    def test_a_crash_between_the_two_stored_facts_loses_no_evidence(self) -> None:
        facts = {fact.fact_id: fact for fact in consolidate(candidate(), lambda _id: None, NOON)}
        completing = candidate(COMPLETE, number=2, refines=(PARTIAL,))
        changes = {fact.fact_id: fact for fact in consolidate(completing, facts.get, NOON)}
        partial_id, complete_id = fact_id("default", "ann", PARTIAL), fact_id("default", "ann", COMPLETE)
        halfway = {partial_id: changes[partial_id]}
        again = {fact.fact_id: fact for fact in consolidate(completing, halfway.get, NOON)}
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
        (again,) = consolidate(candidate(number=2), {orphan.fact_id: orphan}.get, LATER)
        assert (again.status, again.merged_into_id) == (FactStatus.PENDING_EMBED, None)
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
        assert found.candidate_id == candidate_id(own, "w1")
        assert found.refines == (fact_id("acme", "ann", PARTIAL),)
        assert (found.tenant_id, found.extractor) == ("acme", "rules/1")
        assert found.valid_from == NOON + timedelta(minutes=1)
        assert found.provenance.window_end_id == "m3"
        assert (found.provenance.partition, found.provenance.offsets) == (2, (101, 103))

    @pytest.mark.parametrize("ids", [(), ("m1", "elsewhere")])
    def test_sources_outside_the_window_are_refused(self, ids: tuple[str, ...]) -> None:
        with pytest.raises(InvalidRecord) as caught:
            to_candidate(statement(*ids), self.window(), "rules/1")
        assert caught.value.reason == "unknown_source"
