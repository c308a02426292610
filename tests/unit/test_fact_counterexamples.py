"""Stories that broke a property of facts (tests/properties), each as short as it could be told."""

from __future__ import annotations

import pytest
from told_facts import Memory, candidate, claimed, evidence, minute

from models.facts import Fact, FactCandidate, FactStatus, Provenance
from models.statements import Assertion, Polarity
from processors.facts.lines import Line, Place
from processors.facts.marks import MARKS_LIMIT
from processors.facts.rebuilding import rebuilt

HOLDS, ENDED, CORRECTED = Assertion.HOLDS, Assertion.ENDED, Assertion.CORRECTED
NEGATED = Polarity.NEGATED
ASKED = 0.1


def home(
    value: str,
    sent: int,
    arrived: int,
    assertion: Assertion = HOLDS,
    *,
    since: int | None = None,
    confidence: float = 0.9,
    polarity: Polarity = Polarity.AFFIRMED,
) -> FactCandidate:
    said = evidence(arrived, sent_at=minute(sent), since=None if since is None else minute(since))
    return candidate(value, said, confidence, assertion=assertion, polarity=polarity)


def test_an_end_of_a_replaced_fact_changes_nothing_after_reset() -> None:
    story = [
        home("Berlin", 1, 1, confidence=ASKED),
        home("Berlin", 2, 2, confidence=ASKED),
        home("Munich", 3, 3, confidence=ASKED),
        home("Berlin", 4, 4, ENDED, since=1, confidence=ASKED),
    ]
    memory = Memory()
    for said in story:
        memory.hears(said)
    after = Memory()
    for key, value in rebuilt(memory.topic.values()).items():
        if isinstance(value, Line):
            after.lines[key] = value
        elif isinstance(value, Place):
            after.places[key] = value.line_id
    assert [after.hears(said) for said in story] == [[]] * len(story)


#: What was superseded by a claim that was corrected later names a fact that had begun by then.
CORRECTIONS = {
    "what replaced it is taken back and said again": [
        home("Lyon", 60, 1, confidence=ASKED),
        home("Munich", 0, 2, confidence=ASKED),
        home("Lyon", 1, 3, confidence=ASKED),
        home("Berlin", 2, 4, CORRECTED, confidence=ASKED),
    ],
}


@pytest.mark.parametrize("name", CORRECTIONS)
def test_a_successor_began_before_the_end_of_its_predecessor(name: str) -> None:
    memory = Memory()
    for said in CORRECTIONS[name]:
        memory.hears(said)
    superseded = [fact for fact in memory.topic.values() if fact.status is FactStatus.SUPERSEDED]
    assert superseded
    for fact in superseded:
        heir = memory.topic[fact.superseded_by or ""]
        assert fact.valid_to is not None
        assert min([heir.valid_from, *(each.valid_from for each in heir.past)]) <= fact.valid_to


def test_a_known_fact_is_not_learned_anew() -> None:
    memory = Memory()
    memory.hears(home("Berlin", 0, 1))
    for number in range(2, MARKS_LIMIT + 8):
        memory.hears(home(("Rome", "Oslo")[number % 2], number, number))
    memory.hears(home("Berlin", 90, 90))
    assert memory.known("home", "Berlin").evidence_count == 2


def test_evidence_of_a_dropped_fact_is_known_again() -> None:
    def town(number: int, at: int) -> list[Fact]:
        return memory.hears(candidate(f"Town {number}", evidence(at), polarity=NEGATED))

    memory = Memory()
    for number in range(MARKS_LIMIT + 1):
        town(number, number)
    assert memory.of("home", "Town 0").fact(claimed("home", "Town 0", NEGATED).fact_id) is None
    assert town(0, 90) != []
    assert town(0, 0) == []


def test_a_fact_and_its_end_in_one_message_count_once() -> None:
    def told(said: Provenance, assertion: Assertion) -> FactCandidate:
        return candidate("a dog", said, attribute="pet", assertion=assertion)

    memory = Memory()
    memory.hears(told(evidence(1), HOLDS))
    memory.hears(told(evidence(1), ENDED))
    assert [each.ends for each in memory.known("pet", "a dog").provenance] == [True]
    assert memory.hears(told(evidence(1), HOLDS)) == memory.hears(told(evidence(1), ENDED)) == []
