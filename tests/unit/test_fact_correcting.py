"""What somebody says by hand instead of a fact, read as a candidate for its slot."""

from __future__ import annotations

from datetime import timedelta

import msgspec
import pytest
from told_facts import NOON, candidate, evidence, minute

from models.consolidation import Correction
from models.errors import InvalidRecord
from models.facts import Fact, FactCandidate
from models.statements import Assertion, Polarity
from processors.facts.claims import claim_of
from processors.facts.correcting import EXTRACTOR, corrected, window_id_of
from processors.facts.evidence import learned

SAID_AT = minute(50)


def fact(attribute: str, value: str, statement: str, **other: object) -> Fact:
    """What ada said at minute 1."""
    said = candidate(value, evidence(1), attribute=attribute or "home")
    said = msgspec.structs.replace(
        said, **{"attribute": attribute, "statement": statement, "event_at": None, **other}
    )
    return learned(said, claim_of(said), 1, None)


def correction(text: str) -> Correction:
    return Correction(
        text=text,
        command_id="cmd",
        conversation_id="k",
        topic="memory.commands.v1",
        partition=1,
        offset=7,
        arrived_at=minute(99),
    )


def says(of: Fact, text: str) -> tuple[FactCandidate, ...]:
    return corrected(of, correction(text), SAID_AT, "eve")


BERLIN = fact("home", "Berlin", "Lives in Berlin")
TEA = fact("like", "tea", "Likes tea")


@pytest.mark.parametrize(
    ("of", "text", "value", "statement"),
    [
        (BERLIN, "Munich !", "Munich", "Lives in Munich"),
        (BERLIN, "I live in Munich now.", "Munich", "I live in Munich now."),
        (fact("name", "Ada", "Is called Ada"), "Malcolm X", "Malcolm X", "Is called Malcolm X"),
        (fact("name", "Ada", "Is called Ada"), "Rather: Grace", "Grace", "Is called Grace"),
        (fact("habit", "Bach", "Hums Bach at night"), "hums Brahms at night", "Brahms", "hums Brahms at night"),
        (fact("", "", "Hums Bach at night"), "Watches birds.", "", "Watches birds"),
    ],
)
def test_what_is_said_fills_the_slot_of_the_fact(of: Fact, text: str, value: str, statement: str) -> None:
    (said,) = says(of, text)
    assert (said.value, said.statement, said.polarity) == (value, statement, Polarity.AFFIRMED)
    assert (said.user_id, said.tenant_id) == (of.user_id, of.tenant_id)
    assert (said.kind, said.attribute, said.subject) == (of.kind, of.attribute, of.subject)
    assert (said.assertion, said.corrects) == (Assertion.CORRECTED, of.fact_id)
    assert (said.confidence, said.extractor) == (1.0, EXTRACTOR)
    where = said.provenance
    assert (where.quote, where.corrected_by, where.sent_at) == (text, "eve", SAID_AT)
    assert (where.topic, where.partition, where.offsets) == ("memory.commands.v1", 1, (7,))
    assert (where.window_id, where.message_ids) == (window_id_of(of.tenant_id, correction(text)), ("cmd",))
    assert (where.conversation_id, where.arrived_at) == ("k", minute(99))


def test_it_is_said_of_whom_the_fact_is_about() -> None:
    (said,) = says(fact("pet", "a dog", "Has a dog", subject="sister"), "a cat")
    assert (said.subject, said.statement) == ("sister", "Has a cat")


@pytest.mark.parametrize(
    "text", ["I no longer live in Berlin", "No longer lives in Berlin", "no longer lives in Berlin"]
)
def test_who_only_ends_it_names_no_fact(text: str) -> None:
    (said,) = says(BERLIN, text)
    assert (said.value, said.assertion, said.corrects) == ("Berlin", Assertion.ENDED, "")


@pytest.mark.parametrize("at", [minute(0), minute(1), minute(2)])
def test_it_counts_as_said_after_what_it_is_about(at: object) -> None:
    (said,) = corrected(BERLIN, correction("Munich"), at, "eve")  # type: ignore[arg-type]
    assert said.provenance.sent_at > BERLIN.valid_from
    assert said.provenance.sent_at - BERLIN.valid_from in (timedelta(microseconds=1), timedelta(minutes=1))


def test_the_same_command_of_another_tenant_is_another_window() -> None:
    assert window_id_of("acme", correction("Munich")) != window_id_of("initech", correction("Munich"))


class TestWhen:
    """A date that is said counts, seen from when it is said; else that of the fact."""

    ROME = fact("plan", "visit Rome", "Plans to visit Rome", event_at=NOON)

    def test_it_is_said_anew(self) -> None:
        (said,) = says(self.ROME, "visit Oslo tomorrow")
        assert said.event_at is not None and said.event_precision == "day"
        assert said.event_at.date() == (SAID_AT + timedelta(days=1)).date()


@pytest.mark.parametrize(
    ("of", "text", "reason"),
    [
        (BERLIN, "?", "empty_value"),
        (BERLIN, "...", "no_text"),
        (BERLIN, "M" * 1025, "too_long"),
        (BERLIN, "berlin", "same_value"),
        (BERLIN, "I no longer live in Hamburg", "not_about_it"),
    ],
)
def test_what_cannot_be_said_is_refused_by_name(of: Fact, text: str, reason: str) -> None:
    with pytest.raises(InvalidRecord, match=of.fact_id) as error:
        says(of, text)
    assert error.value.reason == reason
