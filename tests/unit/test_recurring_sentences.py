"""Which sentences of a turn may come up again, and whose vectors are asked for."""

from __future__ import annotations

from datetime import UTC, datetime

import msgspec
import pytest
import samples

from models.messages import Role
from models.turns import TurnSource
from models.vectors import VectorKind
from processors.facts.recurring.sentences import SENTENCES_MOST, requests_for, sentence_ids, told_in

AT = datetime(2026, 3, 1, 10, 0, tzinfo=UTC)
TURN = samples.turn(
    0,
    "Good morning! I row the old ferry on Sundays. My cellar is full of clocks.",
    at=AT,
    turn_id="t-1",
    message_id="m-1",
    source=TurnSource(topic="chat.messages.v1", partition=3, offset=17),
)


@pytest.mark.parametrize(
    "told",
    [
        "I row the old ferry on Sundays.",
        "My cellar is full of clocks.",
        "Carving spoons calms my nerves.",
        "I'm still mending nets at the harbour.",
    ],
)
def test_what_says_something_to_who_has_not_heard_the_rest(told: str) -> None:
    assert told_in(told) == [told]


@pytest.mark.parametrize(
    "passing",
    [
        "Do I row the ferry on Sundays?",
        "I row it across the lake on Sundays.",
        "I row the ferry with you on Sundays.",
        "I would row the ferry on Sundays.",
        "The ferry leaves on Sunday mornings.",
        "I row boats.",
    ],
    ids=["asked", "pointing", "addressed", "not so", "not of them", "too short"],
)
def test_what_does_not(passing: str) -> None:
    assert told_in(passing) == []


def test_each_sentence_is_asked_for_with_its_place() -> None:
    found = requests_for(TURN)
    assert [each.text for each in found] == ["I row the old ferry on Sundays.", "My cellar is full of clocks."]
    assert [each.id for each in found] == sentence_ids("t-1")[:2]
    assert {each.kind for each in found} == {VectorKind.SENTENCE}
    sentence = found[1].sentence
    assert sentence is not None
    assert (sentence.text, sentence.message_id, sentence.offset) == (found[1].text, "m-1", 17)


def test_those_of_an_assistant_are_bounded_and_are_not() -> None:
    assert requests_for(msgspec.structs.replace(TURN, role=Role.ASSISTANT)) == []
    many = msgspec.structs.replace(TURN, text=" ".join(f"I own {n} brass clocks." for n in range(50)))
    assert len(requests_for(many)) == SENTENCES_MOST
