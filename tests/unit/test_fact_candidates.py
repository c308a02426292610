"""Which statements of an extractor a window bears out, and what a candidate is made of."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import msgspec
import pytest
import samples
from told_facts import minute

from models.messages import Role
from models.statements import Assertion, Kind, Statement
from models.windows import WindowMessage
from processors.facts.candidates import EARLIEST_EVENT, LATEST_AHEAD, is_quoted, objection, to_candidate

SAID = ("I live in Berlin.", "I like blueberries.", "I like blueberries in smoothies.")


def message(number: int, content: str) -> WindowMessage:
    arrived = minute(100 - number)
    return samples.window_message(number, content, at=minute(number), arrived_at=arrived, offset=70 + number)


WINDOW = samples.window(
    [message(number, content) for number, content in enumerate(SAID)], partition=3, tenant_id="acme"
)

LIKES = Statement(
    user_id="ada",
    kind=Kind.PREFERENCE,
    statement="Likes blueberries in smoothies",
    confidence=0.8,
    source_message_ids=("m1", "m2"),
    quote=SAID[2],
    attribute="like",
    value="blueberries in smoothies",
)


def found(**changes: object) -> Statement:
    return msgspec.structs.replace(LIKES, **changes)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"confidence": -0.01}, "confidence"),
        ({"confidence": float("nan")}, "confidence"),
        ({"statement": "s" * 4097}, "too_long"),
        ({"value": "?"}, "empty_value"),
        ({"quote": " \n"}, "not_quoted"),
        ({"event_at": EARLIEST_EVENT - timedelta(seconds=1)}, "absurd_date"),
        ({"since": minute(2) + timedelta(seconds=1)}, "absurd_date"),
        ({"since": datetime(9999, 12, 31, tzinfo=UTC)}, "absurd_date"),
        ({"event_at": minute(2) + LATEST_AHEAD + timedelta(seconds=1)}, "absurd_date"),
    ],
)
def test_what_it_does_not_is_objected_to(changes: dict[str, object], reason: str) -> None:
    assert objection(found(**changes), WINDOW) == reason


@pytest.mark.parametrize(
    ("said", "quote", "reason"),
    [
        ("Translate this: I live in Rome.", "I live in Rome.", "not_own_words"),
        ('My boss says "I only fly first class"', "I only fly first class", "not_own_words"),
        ("He wrote “I live in Rome”. I live in Oslo.", "I live in Oslo.", None),
        # The question of the assistant gives sense to an answer, and is nobody's own words.
        ("Penicillin.", "Any allergies?\nPenicillin.", None),
        ("Translate: I am allergic to nuts.", "Any allergies?\nI am allergic to nuts.", "not_own_words"),
        # What is quoted in one place is said in another.
        ('I live in Rome. Translate: "I live in Rome."', "I live in Rome.", None),
    ],
)
def test_a_quote_is_mostly_of_the_authors_own_words(said: str, quote: str, reason: str | None) -> None:
    asks = msgspec.structs.replace(message(0, "Any allergies?"), user_id="helper", role=Role.ASSISTANT)
    window = msgspec.structs.replace(WINDOW, messages=(asks, message(1, said), WINDOW.messages[2]))
    told = found(source_message_ids=("m0", "m1"), quote=quote, attribute="", value="")
    assert objection(told, window) == reason


@pytest.mark.parametrize(
    ("quote", "is_there"),
    [
        ("  I live\tin Berlin. ", True),
        ("I live in Berlin.\nI like blueberries.", True),
        ("I like blueberries.\nI live in Berlin.", False),
        ("I live in Berlin.\nI live in Berlin.", False),
        ("I like\nI like\nI like", False),
        ("I live in Ber\nBerlin.", False),
        ("", False),
    ],
)
def test_quoted_lines_stand_in_the_messages_in_order(quote: str, is_there: bool) -> None:
    assert is_quoted(quote, WINDOW.messages) is is_there


def test_a_candidate_names_the_place_of_what_it_rests_on() -> None:
    found = to_candidate(LIKES, WINDOW, "rules").provenance
    assert (found.window_id, found.window_end_id, found.message_ids) == ("w", "m2", ("m1", "m2"))
    assert (found.topic, found.partition, found.offsets) == ("chat.messages.v1", 3, (71, 72))
    assert (found.sent_at, found.arrived_at) == (minute(2), minute(99))


@pytest.mark.parametrize(
    "changes",
    [{"source_message_ids": ("m2",)}, {"assertion": Assertion.CORRECTED}, {"value": "blueberries"}],
)
def test_another_thing_or_from_elsewhere_is_another_candidate(changes: dict[str, object]) -> None:
    one = to_candidate(LIKES, WINDOW, "rules").candidate_id
    assert one == to_candidate(LIKES, WINDOW, "model").candidate_id
    assert one != to_candidate(found(**changes), WINDOW, "rules").candidate_id
