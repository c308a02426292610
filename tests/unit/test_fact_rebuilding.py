"""The state that is made from the facts of the topic: whatever is said next, the same follows as before."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import pytest
from told_facts import Memory, candidate, claimed, evidence, minute

from models.facts import FactCandidate, FactStatus
from models.statements import Assertion, Polarity
from processors.facts.lines import Line, Place
from processors.facts.rebuilding import rebuilt

HOLDS, ENDED, CORRECTED = Assertion.HOLDS, Assertion.ENDED, Assertion.CORRECTED
NEGATED = Polarity.NEGATED

#: So unsure that it ends nothing.
ASKED = 0.45


def says(
    attribute: str, value: str, at: int, assertion: Assertion = HOLDS, confidence: float = 0.8, **other: object
) -> FactCandidate:
    said = evidence(at, **other.pop("evidence", {}))  # type: ignore[arg-type]
    return candidate(value, said, confidence, attribute, assertion=assertion, **other)


def like_id(value: str) -> str:
    return claimed("like", value).fact_id


#: What is said, in the order in which it arrives.
STORIES = {
    "one value after the other": [
        says("home", "Berlin", 1),
        says("home", "Munich", 5),
        says("home", "Berlin", 9),
        says("home", "Berlin", 12),
        says("home", "Munich", 7),
        says("home", "Rome", 3),
    ],
    "a move that is dated when it is told": [
        says("home", "Berlin", 4, evidence={"since": minute(1)}),
        says("home", "Munich", 9, evidence={"since": minute(6)}),
        says("home", "Rome", 7),
        says("home", "Munich", 12, evidence={"since": minute(5)}),
        says("pet", "a cat", 13, evidence={"since": minute(2)}),
        says("pet", "a cat", 14),
        says("home", "Oslo", 16),
        says("home", "Munich", 15),
    ],
    "many values, the last of them taken back": [
        says("like", "tea", 1),
        says("like", "rap", 3),
        says("like", "tea", 7),
        says("like", "rap", 9, ENDED),
        says("like", "jazz", 10, CORRECTED, corrects=like_id("rap")),
        says("like", "rap", 11),
    ],
    "liked and not liked": [
        says("like", "tea", 1),
        says("like", "tea", 5, polarity=NEGATED),
        says("like", "rap", 6),
        says("like", "tea", 3),
        says("like", "tea", 9),
        says("like", "soul", 12, CORRECTED, corrects=like_id("tea")),
    ],
    "asked for once": [
        says("favourite/cuisine", "Thai", 1, confidence=ASKED),
        says("favourite/cuisine", "Italian", 3),
        says("favourite/cuisine", "Thai", 5, confidence=ASKED),
        says("favourite/cuisine", "Greek", 7, confidence=ASKED),
        says("favourite/cuisine", "Thai", 11, confidence=ASKED),
        says("favourite/cuisine", "Italian", 13),
    ],
}

#: Where not all is on the topic: that something was said which never was so, or when it was first said surely.
LESS_KNOWN = {
    "one value is corrected": [
        says("home", "Berlin", 1),
        says("home", "Munich", 5, CORRECTED),
        says("home", "Berlin", 9),
    ],
    "surely at last": [
        says("favourite/cuisine", "Thai", 1, confidence=ASKED),
        says("favourite/cuisine", "Italian", 3),
        says("favourite/cuisine", "Thai", 5, confidence=ASKED),
        says("favourite/cuisine", "Thai", 9),
        says("favourite/cuisine", "Greek", 11, confidence=ASKED),
    ],
}


def told(story: Sequence[FactCandidate]) -> Memory:
    memory = Memory()
    for said in story:
        memory.hears(said)
    return memory


def again(memory: Memory) -> Memory:
    """A memory that has read what another published."""
    new = Memory()
    new.topic, new.position = dict(memory.topic), memory.position
    for key, value in rebuilt(memory.topic.values()).items():
        if isinstance(value, Line):
            new.lines[key] = value
        elif isinstance(value, Place):
            new.places[key] = value.line_id
    return new


def holding(memory: Memory) -> set[str]:
    return {fact.statement for fact in memory.topic.values() if fact.status is FactStatus.ACTIVE}


@pytest.mark.parametrize("name", STORIES)
def test_a_story_goes_on_as_if_nothing_had_been_lost(name: str) -> None:
    story = STORIES[name]
    whole = told(story).topic
    for cut in range(1, len(story)):
        memory = again(told(story[:cut]))
        for said in story[cut:]:
            memory.hears(said)
        assert memory.topic == whole, f"after {cut}"


@pytest.mark.parametrize("name", LESS_KNOWN)
def test_where_less_is_known_the_same_holds(name: str) -> None:
    story = LESS_KNOWN[name]
    for cut in range(1, len(story)):
        memory = again(told(story[:cut]))
        for said in story[cut:]:
            memory.hears(said)
        assert holding(memory) == holding(told(story)), f"after {cut}"


def test_what_stays_of_a_corrected_fact_is_what_erasing_needs() -> None:
    memory = told(LESS_KNOWN["one value is corrected"][:2])
    berlin = memory.known("home", "Berlin")
    line = again(memory).of("home", "Berlin")
    assert [fact.value for fact in line.facts] == ["Munich"]
    (stub,) = line.stubs
    (live,) = memory.of("home", "Berlin").stubs
    for field in ("slot_id", "tenant_id", "user_id", "conversation_ids", "floors"):
        assert getattr(stub, field) == getattr(live, field) != type(getattr(live, field))(), field
    assert (stub.fact_id, stub.version, stub.conversation_ids) == (berlin.fact_id, berlin.version, ("c",))


def test_what_faded_stands_again_when_it_is_said_again() -> None:
    memory = told([says("like", "tea", 1), says("like", "tea", 5)])
    fact = memory.known("like", "tea")
    memory.topic[fact.fact_id] = msgspec.structs.replace(fact, status=FactStatus.DEPRECATED, confidence=0.1)
    memory = again(memory)
    assert memory.of("like", "tea").fact(fact.fact_id) == memory.topic[fact.fact_id]
    assert [mark.last.sent_at for mark in memory.of("like", "tea").marks] == [minute(5)]
    memory.hears(says("like", "tea", 9))
    assert memory.known("like", "tea").status is FactStatus.ACTIVE
