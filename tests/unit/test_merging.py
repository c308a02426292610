"""Which near facts are one, which deny each other, and from where on vectors count as near."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import msgspec
import numpy as np
import pytest
import samples
from hypothesis import given, settings
from hypothesis import strategies as st

from models.facts import Fact
from models.messages import Role
from models.statements import Kind, Polarity, Precision
from models.turns import Turn
from processors.facts.merging.calibration import SAYINGS, above_chance, threshold
from processors.facts.merging.guards import Relation, may_merge, relation
from processors.facts.merging.plan import CLUSTER_LIMIT, CLUSTERS_LIMIT, NEAR_FROM, Known, plan
from processors.facts.merging.sayings import saying_of
from streams.config.settings import Settings

AT = datetime(2026, 3, 1, 10, tzinfo=UTC)


def fact(statement: str, **changes: object) -> Fact:
    return samples.fact(statement, at=AT, **{"kind": Kind.STATE, "provenance": (), **changes})


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("User likes hiking", "User loves hiking", Relation.SAME),
        ("User is allergic to nuts", "User is not allergic to nuts", Relation.OPPOSITE),
        ("User likes coffee", "User doesn't like coffee", Relation.OPPOSITE),
        ("User likes coffee", "User hates coffee", Relation.OPPOSITE),
        ("User has never hated coffee", "User hates coffee", Relation.OPPOSITE),
        ("User won the first tournament", "User won the fourth tournament", Relation.DIFFERENT),
        ("User runs every morning", "User runs every evening", Relation.DIFFERENT),
        ("User likes films", "User likes movies", Relation.UNCLEAR),
    ],
)
def test_what_two_near_statements_are_to_each_other(one: str, other: str, expected: Relation) -> None:
    assert relation(fact(one), fact(other)) is expected
    assert relation(fact(other), fact(one)) is expected


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"user_id": "bob"}, Relation.DIFFERENT),
        ({"subject": "sister"}, Relation.DIFFERENT),
        ({"kind": Kind.PREFERENCE}, Relation.DIFFERENT),
        ({"attribute": "home", "value": "x"}, Relation.UNCLEAR),
        ({"polarity": Polarity.NEGATED}, Relation.OPPOSITE),
    ],
)
def test_claims_count_as_well_as_words(changes: dict[str, object], expected: Relation) -> None:
    assert relation(fact("User likes hiking"), fact("User likes hiking", **changes)) is expected


def test_two_unsure_facts_are_not_merged_by_rule() -> None:
    assert relation(fact("User likes hiking", confidence=0.6), fact("User loves hiking", confidence=0.5)) is (
        Relation.UNCLEAR
    )


@pytest.mark.parametrize(
    ("day", "precision", "expected"),
    [
        (1, Precision.DAY, Relation.SAME),
        (2, Precision.DAY, Relation.DIFFERENT),
        (9, Precision.MONTH, Relation.DIFFERENT),
        (None, None, Relation.UNCLEAR),
    ],
)
def test_events_of_two_days_are_two(day: int | None, precision: Precision | None, expected: Relation) -> None:
    at = None if day is None else AT.replace(day=day)
    one = fact("User ran a race", kind=Kind.EVENT, event_at=AT.replace(day=1), event_precision=Precision.DAY)
    other = fact("User ran the race", kind=Kind.EVENT, event_at=at, event_precision=precision)
    assert relation(one, other) is expected


def test_a_slot_that_holds_one_value_decides_by_itself() -> None:
    one = fact("Lives in Berlin", attribute="home", value="Berlin")
    assert relation(one, fact("Lives in Berlin, Mitte", attribute="home", value="Berlin, Mitte")) is (
        Relation.DIFFERENT
    )


def test_nobody_may_merge_what_denies_each_other_or_itself() -> None:
    one = fact("User likes films")
    assert may_merge(one, fact("User likes movies"))
    assert not may_merge(one, fact("User likes films", polarity=Polarity.NEGATED, fact_id="other"))
    assert not may_merge(fact("User likes tea"), fact("User hates tea"))
    assert not may_merge(one, one)


def known(*facts: Fact) -> list[Known]:
    return [Known(each, np.array([1.0, 0.0], dtype=np.float32)) for each in facts]


WORDS = ("likes", "loves", "enjoys", "hates", "does not like")
THINGS = ("hiking", "tea", "hiking in the Alps", "the first race", "the fourth race", "films")
FACTS = st.lists(
    st.builds(
        lambda word, thing, sure, count: fact(f"User {word} {thing}", confidence=sure, evidence_count=count),
        st.sampled_from(WORDS), st.sampled_from(THINGS), st.floats(0, 1), st.integers(1, 5),
    ),
    unique_by=lambda each: each.fact_id,
    max_size=14,
)  # fmt: skip


@given(FACTS, st.data())
@settings(deadline=None, max_examples=150)
def test_a_plan_does_not_depend_on_the_order(facts: list[Fact], data: st.DataObject) -> None:
    ids = {each.fact_id for each in facts}
    shuffled = data.draw(st.permutations(facts))
    found = plan(known(*facts), ids)
    assert plan(known(*shuffled), ids) == found
    gone = [pair.other_id for pair in found.merges]
    assert len(gone) == len(set(gone)), "nothing is merged twice"
    assert not {pair.fact_id for pair in found.merges} & set(gone), "nothing is merged into what goes itself"
    named = {each.fact_id for cluster in found.questions for each in cluster.facts}
    assert not named & set(gone)
    assert all(2 <= len(cluster.facts) <= CLUSTER_LIMIT for cluster in found.questions)


@given(FACTS)
@settings(deadline=None, max_examples=100)
def test_what_stays_is_merged_no_further(facts: list[Fact]) -> None:
    """What a guard kept out of one component may be the same as something else that was; then it ends."""
    left = facts
    while merges := plan(known(*left), {each.fact_id for each in left}).merges:
        gone = {pair.other_id for pair in merges}
        left = [each for each in left if each.fact_id not in gone]
    pairs = [(one, other) for n, one in enumerate(left) for other in left[n + 1 :]]
    assert [pair for pair in pairs if relation(*pair) is Relation.SAME] == []
    assert plan(known(*left), set()) == plan([], set())


@pytest.mark.parametrize(
    "stronger", [{"confidence": 0.9}, {"evidence_count": 2}, {"learned_at": AT - timedelta(days=1)}]
)
def test_the_surest_then_best_supported_then_oldest_stays(
    stronger: dict[str, object],
) -> None:
    weak = {"confidence": 0.8, "evidence_count": 1}
    for statements in (("User likes hiking", "User loves hiking"), ("User loves hiking", "User likes hiking")):
        one, other = fact(statements[0], **weak), fact(statements[1], **{**weak, **stronger})
        (pair,) = plan(known(one, other), {one.fact_id}).merges
        assert (pair.fact_id, pair.other_id) == (other.fact_id, one.fact_id)
        assert pair.similarity == pytest.approx(1.0)


def word(number: int) -> str:
    """A word of its own, as numbers alone tell two statements apart."""
    return "".join(chr(ord("a") + number // 17**place % 17) for place in range(4)) + "ox"


@given(st.lists(st.integers(1, 12), min_size=1, max_size=45), st.integers(0, 25), st.data())
@settings(deadline=None, max_examples=60)
def test_everything_is_asked_about_once_in_the_end(sizes: list[int], denied: int, data: st.DataObject) -> None:
    facts: list[Known] = []
    groups = len(sizes) + denied
    for group in range(groups):
        vector = np.eye(groups, dtype=np.float32)[group]
        if group < len(sizes):
            said = [f"User likes {word(20 * group + n)}" for n in range(sizes[group])]
            facts += [Known(fact(each, confidence=data.draw(st.floats(0.55, 0.79))), vector) for each in said]
        else:
            facts.append(Known(fact(f"User is going to fair{group}"), vector))
            facts.append(Known(fact(f"User is not going to fair{group}"), vector))
    changed: tuple[str, ...] = tuple(each.fact.fact_id for each in facts)
    asked: list[tuple[str, ...]] = []
    steps = 0
    while changed:
        found = plan(facts, changed)
        assert len(found.questions) <= CLUSTERS_LIMIT
        asked += [tuple(each.fact_id for each in cluster.facts) for cluster in found.questions]
        done = {each for pair in found.contradictions for each in pair[:2]}
        facts = [each for each in facts if each.fact.fact_id not in done]  # noted of both, and asked no more
        assert {*found.left} < {*changed}
        changed, steps = found.left, steps + 1
    assert len(asked) == len({*asked})
    named = {fact_id for each in asked for fact_id in each}
    assert len(named) == sum(size for size in sizes if size > 1) + 2 * denied


def test_what_did_not_change_is_not_compared() -> None:
    facts = known(fact("User likes hiking"), fact("User loves hiking"))
    assert plan(facts, set()).merges == ()
    far = Known(fact("User plays chess"), np.array([0.0, 1.0], dtype=np.float32))
    assert plan([*facts, far], {far.fact.fact_id}) == plan([], set()), "what is near each other stays"
    assert len(plan([*facts, far], {facts[0].fact.fact_id}).merges) == 1


@pytest.mark.parametrize(("cosine", "count"), [(0.8499, 0), (0.8501, 1)])
def test_near_is_what_the_seed_calls_near(cosine: float, count: int) -> None:
    one = Known(fact("User likes hiking"), np.array([1.0, 0.0], dtype=np.float32))
    vector = np.array([cosine, (1 - cosine**2) ** 0.5], dtype=np.float32)
    other = Known(fact("User loves hiking"), vector)
    assert len(plan([one, other], {one.fact.fact_id}).merges) == count
    assert Settings().merge_similarity == NEAR_FROM == 0.85


def test_the_lowest_threshold_at_which_what_is_proposed_is_right() -> None:
    measured = [(0.95, True), (0.9, True), (0.8, True), (0.7, False), (0.65, True)]
    found = threshold(measured)
    assert found is not None
    assert (found.near_from, found.proposed, found.right, found.recall) == (0.8, 3, 3, 0.75)
    assert threshold([(0.9, False), (0.8, True)], precision=0.95) is None
    assert threshold([]) is None


def test_what_bears_a_fact_out_is_far_nearer_than_chance() -> None:
    count = len(SAYINGS)
    cosines = np.full((count, count), 0.1, dtype=np.float32)
    cosines[::2] += 0.1
    np.fill_diagonal(cosines, 0.9)
    cosines[0, 0] = 0.4
    found = above_chance(cosines)
    assert found is not None and found.near_from == pytest.approx(0.475, abs=0.011)
    assert (found.proposed, found.right) == (count - 1, count - 1)
    assert (
        above_chance(np.full((count, count), 0.5, dtype=np.float32) - np.eye(count, dtype=np.float32)) is None
    )


def turn(text: str, role: Role = Role.USER) -> Turn:
    return msgspec.structs.replace(
        samples.turn(0, at=AT), text=text, role=role, arrived_at=AT + timedelta(seconds=1)
    )


@pytest.mark.parametrize(
    ("text", "denies"),
    [
        ("I went hiking again.", False),
        ("I don't like hiking any more.", True),
        ("Isn't it nice? I love it.", False),
    ],
)
def test_what_a_person_says_of_themselves(text: str, denies: bool) -> None:
    found = saying_of(turn(text))
    assert found is not None and (found.denies, found.conversation_id) == (denies, "c")
    assert (found.sent_at, found.arrived_at) == (AT, AT + timedelta(seconds=1))


@pytest.mark.parametrize("text", ["Is hiking good for me?", "Hiking is nice.", "???"])
def test_what_says_nothing_of_them(text: str) -> None:
    assert saying_of(turn(text)) is None


def test_what_the_assistant_says_is_not_theirs() -> None:
    assert saying_of(turn("I went hiking again.", Role.ASSISTANT)) is None
