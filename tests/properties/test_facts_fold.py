"""Whatever people say, in whatever order it arrives: what is known stays consistent."""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import permutations
from random import Random

from fact_stories import Memory, Says, candidates, retold, says
from hypothesis import given, settings
from hypothesis import strategies as st

from models.facts import CHANGES_LIMIT, Fact, FactChange, FactStatus
from models.statements import Assertion, Polarity, attribute_of
from processors.facts.claims import claim_of
from processors.facts.evidence import PROVENANCE_LIMIT, name_of

STORIES = st.lists(says(), max_size=40) | retold()
#: Where somebody lives, told plainly.
HOMES = st.builds(
    Says,
    attribute=st.just("home"),
    value=st.sampled_from(["Berlin", "Munich", "Lyon"]),
    polarity=st.just(Polarity.AFFIRMED),
    assertion=st.just(Assertion.HOLDS),
    conversation=st.integers(0, 5),
    sent=st.integers(0, 100),
    confidence=st.just(0.9),
    began=st.none() | st.integers(-50, 150),
)
PLAIN = st.lists(says(correcting=False), max_size=24)


def follow(before: Fact | None, after: Fact) -> None:
    assert claim_of(after).fact_id == after.fact_id
    assert 0.0 <= after.confidence <= 1.0
    assert after.valid_to is None or after.valid_from <= after.valid_to
    assert (after.valid_to is None) == (
        after.status is FactStatus.ACTIVE or after.merged_into_id is not None
    ) or (after.merged_into_id is not None)
    assert after.learned_at <= after.changed_at
    assert len(after.provenance) <= min(after.evidence_count, PROVENANCE_LIMIT)
    assert len({name_of(each) for each in after.provenance}) == len(after.provenance)
    assert len(after.changes) <= CHANGES_LIMIT
    assert (after.changes[-1].version, after.changes[-1].change) == (after.version, after.change)
    assert after.changes[-1].confidence_after == after.confidence
    times = [each.at for each in after.changes]
    assert times == sorted(times)
    for one, other in zip(after.past, after.past[1:], strict=False):
        assert one.valid_from <= one.valid_to <= other.valid_from
    if before is not None:
        assert after.version == before.version + 1
        assert after.changed_at >= before.changed_at
        if before.status not in ENDS:
            assert after.last_evidence_at >= before.last_evidence_at
            assert after.learned_at <= before.learned_at, "what is inherited may be older"
        if len(before.changes) > 1 or before.status is not FactStatus.DEPRECATED:
            assert after.evidence_count >= before.evidence_count or before.status in ENDS


ENDS = (FactStatus.DEPRECATED, FactStatus.MERGED_INTO)

#: What may have ended a fact; one that was said of an earlier time had ended when it was learned of.
ENDED = (FactChange.ENDED, FactChange.CREATED, FactChange.REINFORCED)


@given(STORIES)
@settings(deadline=None, max_examples=300)
def test_every_change_follows_from_the_one_before(story: list[Says]) -> None:
    memory = Memory()
    for said in candidates(story):
        known = dict(memory.topic)
        for fact in memory.learn(said):
            follow(known.get(fact.fact_id), fact)
            known[fact.fact_id] = fact


@given(STORIES)
@settings(deadline=None, max_examples=300)
def test_sayings_are_reached_from_holding_or_ended_facts(story: list[Says]) -> None:
    memory = Memory()
    stream = candidates(story)
    for said in stream:
        memory.learn(said)
    for said in stream:
        fact = memory.topic[claim_of(said).fact_id]
        seen = set()
        while fact.merged_into_id is not None:
            assert fact.fact_id not in seen
            seen.add(fact.fact_id)
            fact = memory.topic[fact.merged_into_id]
        assert fact.status is not FactStatus.MERGED_INTO
        if fact.status is not FactStatus.ACTIVE:
            assert_named(fact, memory)


def assert_named(fact: Fact, memory: Memory) -> None:
    """It says when it ended, and why: what took its place, or what was said of it."""
    assert fact.valid_to is not None
    if fact.status in (FactStatus.SUPERSEDED, FactStatus.CONTRADICTED):
        heir = memory.topic[fact.superseded_by or ""]
        assert heir.fact_id != fact.fact_id
        began = min([heir.valid_from, *(each.valid_from for each in heir.past)])
        was_corrected = FactChange.CORRECTED in {each.change for each in heir.changes}  # and has no past
        assert heir.slot_id == fact.slot_id
        assert began <= fact.valid_to or was_corrected
    elif fact.status is FactStatus.ENDED:
        assert any(each.change in ENDED and each.window_id and each.message_id for each in fact.changes)
    else:
        assert fact.status is FactStatus.DEPRECATED
        changes = {each.change for each in fact.changes}
        # What was said before its correction, and is learned of after it, was never anything else.
        assert FactChange.CORRECTED in changes or changes <= {FactChange.CREATED, FactChange.MERGED}


@given(STORIES)
@settings(deadline=None, max_examples=300)
def test_of_what_excludes_one_another_one_at_most_is_sure(story: list[Says]) -> None:
    memory = Memory()
    for said in candidates(story):
        memory.learn(said)
        holding: dict[str, list[Fact]] = {}
        for fact in memory.topic.values():
            if fact.status is FactStatus.ACTIVE and fact.polarity is Polarity.AFFIRMED and fact.attribute:
                holding.setdefault(fact.slot_id, []).append(fact)
        for facts in holding.values():
            attribute = attribute_of(facts[0].attribute)
            assert attribute is not None
            if attribute.single:
                assert [fact.tentative for fact in facts] in ([True], [False], [False, True], [True, False])
        for fact in memory.topic.values():
            opposite = memory.topic.get(claim_of(fact).opposite_id)
            if opposite is not None and {fact.status, opposite.status} == {FactStatus.ACTIVE}:
                assert fact.tentative != opposite.tentative


@given(PLAIN, st.randoms(use_true_random=False))
@settings(deadline=None, max_examples=300)
def test_whatever_order_it_arrives_in_the_same_facts_hold(story: list[Says], chance: Random) -> None:
    """What was said earlier never takes the place of what was said later."""
    stream = candidates(story)
    shuffled = list(stream)
    chance.shuffle(shuffled)
    one, other = Memory(), Memory()
    for said in stream:
        one.learn(said)
    for said in shuffled:
        other.learn(said)
    assert one.living() == other.living()


def lived(fact: Fact) -> list[tuple[datetime, datetime]]:
    last = (fact.valid_from, fact.valid_to or datetime.max.replace(tzinfo=UTC))
    return [*((each.valid_from, each.valid_to) for each in fact.past), last]


@given(st.lists(HOMES, max_size=3))
@settings(deadline=None, max_examples=300)
def test_in_any_order_it_held_when_it_did(story: list[Says]) -> None:
    found = []
    for order in permutations(candidates(story)):
        memory = Memory()
        for said in order:
            memory.learn(said)
        found.append({fact_id: (fact.status, lived(fact)) for fact_id, fact in memory.topic.items()})
    assert all(each == found[0] for each in found)
