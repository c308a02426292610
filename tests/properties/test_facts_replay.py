"""Whatever is delivered again, however often and from however far back: the facts are the same."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from hypothesis import given, settings
from hypothesis import strategies as st

from models.facts import Category, EmbeddingResult, Fact, FactCandidate, FactStatus, Provenance
from models.ids import candidate_id, fact_id
from processors.facts.consolidation import PROVENANCE_LIMIT, apply_embedding, consolidate

NOON = datetime(2025, 3, 1, 12, tzinfo=UTC)
STATEMENTS = ["User likes tea", "User likes tea, with milk", "User likes tea, with milk and honey"]
PARTITIONS = 3


class Said(NamedTuple):
    statement: int
    conversation: int
    refines: frozenset[int]
    confidence: float


SAID = st.builds(
    Said,
    statement=st.integers(0, len(STATEMENTS) - 1),
    conversation=st.integers(0, 5),
    refines=st.frozensets(st.integers(0, len(STATEMENTS) - 1), max_size=2),
    confidence=st.floats(0, 1),
)
#: Long enough that provenance overflows.
HISTORIES = st.lists(SAID, min_size=1, max_size=3 * PROVENANCE_LIMIT)


def candidates(history: list[Said]) -> list[FactCandidate]:
    """One window each, in offset order, as one run of the extraction stage would publish them."""
    found = []
    for offset, said in enumerate(history):
        own = fact_id("default", "ann", STATEMENTS[said.statement])
        evidence = Provenance(
            conversation_id=f"c{said.conversation}",
            window_id=f"w{offset}",
            window_end_id=f"m{offset}",
            message_ids=(f"m{offset}",),
            quote="tea",
            topic="chat.messages.v1",
            partition=said.conversation % PARTITIONS,
            offsets=(offset,),
        )
        found.append(
            FactCandidate(
                candidate_id=candidate_id(own, f"w{offset}"),
                user_id="ann",
                category=Category.PREFERENCE,
                statement=STATEMENTS[said.statement],
                confidence=said.confidence,
                source_message_ids=evidence.message_ids,
                provenance=evidence,
                valid_from=NOON + timedelta(minutes=offset),
                extractor="test",
                refines=tuple(fact_id("default", "ann", STATEMENTS[n]) for n in sorted(said.refines)),
            )
        )
    return found


def deliver(facts: dict[str, Fact], each: FactCandidate) -> list[Fact]:
    """Apply one candidate, checking every published change on the way."""
    changes = consolidate(each, facts.get, each.valid_from)
    for fact in changes:
        before = facts.get(fact.fact_id)
        assert fact.version == (1 if before is None else before.version + 1)
        assert before is None or fact.evidence_count >= before.evidence_count
        assert 0.0 <= fact.confidence <= 1.0
        assert len({evidence.window_id for evidence in fact.provenance}) == len(fact.provenance)
        assert len(fact.provenance) <= min(fact.evidence_count, PROVENANCE_LIMIT)
        facts[fact.fact_id] = fact
    return changes


@given(HISTORIES, st.data())
@settings(deadline=None)
def test_replaying_prefixes_changes_nothing(history: list[Said], data: st.DataObject) -> None:
    stream = candidates(history)
    once: dict[str, Fact] = {}
    for each in stream:
        deliver(once, each)

    again: dict[str, Fact] = {}
    position = 0
    rewinds = data.draw(st.lists(st.integers(0, len(stream)), max_size=4))
    for stop in [*rewinds, len(stream)]:
        for each in stream[:stop] if stop <= position else stream[position:stop]:
            changes = deliver(again, each)
            assert stop > position or not changes
        position = max(position, stop)
    assert again == once


@given(HISTORIES)
@settings(deadline=None)
def test_every_piece_of_evidence_is_counted_once(history: list[Said]) -> None:
    facts: dict[str, Fact] = {}
    for each in candidates(history):
        deliver(facts, each)
    live = [fact for fact in facts.values() if fact.status is not FactStatus.MERGED_INTO]
    assert sum(fact.evidence_count for fact in live) == len(history)
    for fact in facts.values():
        if fact.status is FactStatus.MERGED_INTO:
            assert fact.merged_into_id in facts


@given(HISTORIES, st.data())
@settings(deadline=None)
def test_vectors_may_come_at_any_time_and_twice(history: list[Said], data: st.DataObject) -> None:
    facts: dict[str, Fact] = {}
    for each in candidates(history):
        deliver(facts, each)
        for fact in data.draw(st.lists(st.sampled_from(list(facts.values())), max_size=2)):
            known = facts[fact.fact_id]
            result = EmbeddingResult(
                fact_id=fact.fact_id, user_id="ann", version=fact.version, model="test", dimensions=3
            )
            changed = apply_embedding(known, result, NOON)
            assert (changed is known) == (known.status is not FactStatus.PENDING_EMBED)
            assert changed.evidence_count == known.evidence_count
            facts[fact.fact_id] = changed
            assert apply_embedding(changed, result, NOON) is changed
