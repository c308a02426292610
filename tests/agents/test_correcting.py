"""memory/facts: a fact that somebody corrects by hand, however often the log is read again."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import timedelta
from random import Random
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from memory_samples import FactsHarness, candidate, crashing

from models.commands import Command
from models.consolidation import ConsolidationStep, Step
from models.errors import InvalidRecord
from models.facts import Fact, FactCandidate, FactChange, FactStatus
from models.statements import Kind, Polarity
from streams.agents.masking import mask_of
from streams.agents.memory.commands import COMMANDS, Commands
from streams.agents.memory.consolidation_records import CONSOLIDATION
from streams.agents.memory.facts import FACTS, Facts
from streams.clients.erasures import Erasing
from streams.clients.records import Record
from streams.config.settings import Settings
from streams.queries.correcting import correcting
from streams.runtime.testing import PARTITION, START, StageHarness

COLUMNS = {
    "home": ("Lives in {}", Kind.STATE),
    "like": ("Likes {}", Kind.PREFERENCE),
    "pet": ("Has {}", Kind.STATE),
    "": ("{}", Kind.STATE),
}


def told(attribute: str, value: str, number: int, **changes: Any) -> FactCandidate:
    says, kind = COLUMNS[attribute]
    found = candidate(says.format(value), number, **changes)
    return msgspec.structs.replace(found, attribute=attribute, value=value if attribute else "", kind=kind)


def correct(fact_id: str, text: str, number: int = 1, **changes: Any) -> Command:
    command = Command(
        command_id=f"correct-{number}",
        command="correct",
        conversation_id="correction",
        issued_at=START + timedelta(days=1, minutes=number),
        user_id="ada",
        fact_id=fact_id,
        text=text,
        by="eve",
    )
    return msgspec.structs.replace(command, **changes)


class NoAnswers:
    """What language models answered where there is none."""

    async def forget(self, erased: Sequence[Erasing]) -> int:
        raise AssertionError("nothing is erased here")


class Harness(FactsHarness):
    """The facts stage and the stage of commands before it; what they write for it is read by it."""

    def __init__(self) -> None:
        super().__init__(Settings())
        self.commands = StageHarness(Commands(Settings(), NoAnswers()).stage())

    def know(self, attribute: str, value: str, number: int = 1, **changes: Any) -> Fact:
        self.take(self.record(told(attribute, value, number, **changes)))
        return self.facts()[COLUMNS[attribute][0].format(value)]

    def correct(self, fact: Fact, text: str, number: int = 1, **changes: Any) -> None:
        fact_id = changes.pop("fact_id", fact.fact_id)
        # By hand: after everything that it is about.
        self.commands.arrived = self.arrived = self.arrived + timedelta(seconds=1)
        written = len(self.commands.outputs)
        command = self.commands.record(correct(fact_id, text, number, **changes), COMMANDS)
        asyncio.run(self.commands.call(command))
        for output in self.commands.outputs[written:]:
            assert output.value is not None
            self.take(self.record(output.value, output.topic, key=output.key))

    def facts(self) -> dict[str, Fact]:
        return {fact.statement: fact for fact in self.by_id().values()}

    def by_id(self) -> dict[str, Fact]:
        facts: dict[str, Fact] = {}
        for output in self.outputs:
            if output.topic == FACTS and output.value is not None:
                fact = msgspec.json.decode(output.value, type=Fact)
                facts[fact.fact_id] = fact
        return facts

    def holding(self) -> list[str]:
        return sorted(fact.statement for fact in self.by_id().values() if fact.status is FactStatus.ACTIVE)

    def reasons(self) -> list[str]:
        return [letter.reason for letter in self.dead_letters + self.commands.dead_letters]


@pytest.fixture
def harness() -> Harness:
    return Harness()


@pytest.mark.parametrize(
    ("attribute", "value", "text", "becomes"),
    [
        ("home", "Berlin", "Munich", "Lives in Munich"),
        ("", "Hums in the kitchen", "Hums in the bathroom.", "Hums in the bathroom"),
    ],
)
def test_what_is_said_instead_takes_the_place_of_a_fact(
    harness: Harness, attribute: str, value: str, text: str, becomes: str
) -> None:
    old = harness.know(attribute, value)
    harness.correct(old, text)
    assert harness.holding() == [becomes]
    new, old = harness.facts()[becomes], harness.by_id()[old.fact_id]
    assert (old.status, old.change, old.superseded_by) == (
        FactStatus.DEPRECATED,
        FactChange.CORRECTED,
        new.fact_id,
    )
    assert (new.user_id, new.slot_id, new.confidence, new.tentative) == ("ada", old.slot_id, 1.0, False)
    (evidence,) = new.provenance
    assert (evidence.quote, evidence.corrected_by) == (text, "eve")
    assert (evidence.topic, evidence.message_ids, evidence.offsets) == (COMMANDS, ("correct-1",), (0,))
    assert (new.changes[-1].change, new.changes[-1].message_id) == (FactChange.CREATED, "correct-1")
    assert harness.reasons() == []


def test_a_correction_tells_its_effect_and_sends_no_secret(harness: Harness) -> None:
    berlin = harness.know("home", "Berlin")
    asked = correcting(berlin, "4111 1111 1111 1111", "eve", mask_of(Settings()))
    assert asked.command.text == "[masked: card number]"
    harness.correct(berlin, asked.command.text, command_id=asked.command.command_id)
    assert harness.facts()[asked.statement].fact_id == asked.fact_id
    with pytest.raises(InvalidRecord, match="more than 1,024"):
        correcting(berlin, "4222222222222 ".ljust(1024, "x"), "eve", mask_of(Settings()))


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("tea", "I don't like tea"),
        ("tea", "No, I never drink tea."),
        ("Tee", "Ich mag Tee gar nicht"),
        ("té", "No me gusta el té"),
    ],
)
def test_a_negated_value_denies_the_fact(harness: Harness, value: str, text: str) -> None:
    old = harness.know("like", value)
    harness.correct(old, text)
    (new,) = (fact for fact in harness.by_id().values() if fact.status is FactStatus.ACTIVE)
    assert (new.polarity, new.value, new.slot_id) == (Polarity.NEGATED, value, old.slot_id)
    assert new.statement == text.removeprefix("No, ").rstrip(".")
    assert harness.by_id()[old.fact_id].superseded_by == new.fact_id
    harness.correct(new, text, 2)
    assert harness.reasons() == ["same_value"]


@pytest.mark.parametrize(
    "text",
    [
        "I don't like tea in the evening",
        "I can't live without tea",
        "Coffee, not tea",
        "No I like green tea",
    ],
)
def test_a_negation_of_something_else_denies_nothing(harness: Harness, text: str) -> None:
    harness.correct(harness.know("like", "tea"), text)
    (new,) = (fact for fact in harness.by_id().values() if fact.status is FactStatus.ACTIVE)
    assert (new.polarity, harness.reasons()) == (Polarity.AFFIRMED, [])


def test_a_correction_is_corrected_back(harness: Harness) -> None:
    berlin = harness.know("home", "Berlin")
    harness.correct(berlin, "Munich")
    harness.correct(harness.facts()["Lives in Munich"], "Berlin", 2)
    assert harness.holding() == ["Lives in Berlin"]
    again = harness.by_id()[berlin.fact_id]
    assert again.version > berlin.version and again.valid_from == berlin.valid_from


def test_a_fact_that_is_only_over_ends(harness: Harness) -> None:
    berlin = harness.know("home", "Berlin")
    harness.correct(berlin, "I no longer live in Berlin.")
    assert (harness.holding(), harness.by_id()[berlin.fact_id].status) == ([], FactStatus.ENDED)


def test_a_command_that_is_sent_twice_is_done_once(harness: Harness) -> None:
    berlin = harness.know("home", "Berlin")
    harness.correct(berlin, "Munich")
    once = harness.by_id()
    harness.correct(berlin, "Munich")
    assert (harness.by_id(), harness.reasons()) == (once, [])


@pytest.mark.parametrize(
    ("text", "changes", "reason"),
    [
        ("Munich", {"fact_id": "7c9e6679-7425-40de-944b-e07fc1f90ae7"}, "unknown_fact"),
        ("Munich", {"user_id": "mallory"}, "unknown_fact"),
        ("Munich", {"tenant_id": "another"}, "unknown_fact"),
        ("Munich", {"user_id": ""}, "no_user_id"),
        ("Munich", {"fact_id": ""}, "no_fact_id"),
    ],
)
def test_what_cannot_be_done_is_dead_lettered_and_changes_nothing(
    harness: Harness, text: str, changes: dict[str, str], reason: str
) -> None:
    berlin = harness.know("home", "Berlin")
    before = harness.by_id()
    harness.correct(berlin, text, **changes)
    assert (harness.reasons(), harness.by_id()) == ([reason], before)


def test_what_holds_no_more_cannot_be_corrected(harness: Harness) -> None:
    berlin, munich = harness.know("home", "Berlin"), harness.know("home", "Munich", 2)
    harness.correct(berlin, "Lyon")
    tea = harness.know("like", "tea", 3)
    harness.correct(tea, "coffee", 2)
    harness.correct(tea, "milk", 3)
    assert harness.reasons() == ["not_current", "not_current"]
    assert munich.fact_id in str(harness.dead_letters[0].message)
    assert harness.holding() == ["Likes coffee", "Lives in Munich"]


class TestPartOfAnother:
    """What was merged by consolidation, and is corrected by its own name: they were two after all."""

    @pytest.fixture
    def merged(self, harness: Harness) -> Fact:
        hums, sings = harness.know("", "Hums in the kitchen"), harness.know("", "Sings in the kitchen", 2)
        step = ConsolidationStep(
            step_id="s",
            step=Step.MERGE,
            at=START,
            by="rules",
            user_id="ada",
            fact_id=sings.fact_id,
            other_id=hums.fact_id,
        )
        harness.take(harness.record(step, CONSOLIDATION))
        assert harness.by_id()[sings.fact_id].evidence_count == 2
        return harness.by_id()[hums.fact_id]

    def check(self, harness: Harness) -> None:
        facts = harness.facts()
        hums, sings = facts["Hums in the kitchen"], facts["Sings in the kitchen"]
        assert (hums.status, hums.superseded_by) == (
            FactStatus.DEPRECATED,
            facts["Hums in the bathroom"].fact_id,
        )
        assert [each.change for each in hums.changes] == [
            FactChange.CREATED,
            FactChange.MERGED,
            FactChange.KEPT,
            FactChange.CORRECTED,
        ]
        assert (sings.status, sings.evidence_count) == (FactStatus.ACTIVE, 1)
        assert {each.window_id for each in sings.provenance} == {"w2"}

    def test_it_is_put_right_and_the_other_stays_without_it(self, harness: Harness, merged: Fact) -> None:
        harness.correct(merged, "Hums in the bathroom")
        self.check(harness)
        once = harness.by_id()
        harness.correct(merged, "Hums in the bathroom")
        assert (harness.by_id(), harness.reasons()) == (once, [])

    def test_whatever_was_stored_before_a_crash(self, harness: Harness, merged: Fact) -> None:
        told_before, stored = len(harness.log), len(harness.changelog)
        harness.correct(merged, "Hums in the bathroom")
        log = harness.log[told_before:]
        for kept in reversed(range(stored, len(harness.changelog))):
            harness.recover(kept)
            for record in log:
                harness.feed(record)
            self.check(harness)


def test_a_candidate_retracts_nothing_of_another_slot_or_person(harness: Harness) -> None:
    berlin, tea = harness.know("home", "Berlin"), harness.know("like", "tea", 2)
    theirs = harness.know("like", "tea", 3, user="mallory")
    for number, fact in enumerate((berlin, theirs), 4):
        said = msgspec.structs.replace(told("like", f"jazz {number}", number), corrects=fact.fact_id)
        harness.take(harness.record(said))
    assert {harness.by_id()[each.fact_id].status for each in (berlin, tea, theirs)} == {FactStatus.ACTIVE}


def test_erased_facts_are_not_corrected_and_corrections_erased(harness: Harness) -> None:
    berlin = harness.know("home", "Berlin")
    harness.correct(berlin, "Munich")
    erasing = Erasing("default", "", "ada", harness.arrived + timedelta(hours=1))
    harness.take(Record(None, erasing.key(PARTITION).encode(), topic=FACTS, headers=erasing.headers()))
    gone = {output.key for output in harness.outputs if output.topic == FACTS and output.value is None}
    assert gone >= {fact_id.encode() for fact_id in harness.by_id()}
    published = harness.by_id()
    harness.correct(berlin, "Lyon", 2)
    assert (harness.by_id(), harness.reasons()) == (published, [])
    harness.arrived += timedelta(hours=2)
    harness.correct(berlin, "Lyon", 3)
    assert (harness.by_id(), harness.reasons()) == (published, ["unknown_fact"])


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["home", "like", "pet"]), st.sampled_from(["tea", "jazz", "Oslo"]), st.booleans()
        ),
        min_size=1,
        max_size=12,
    ),
    st.randoms(use_true_random=False),
)
@settings(deadline=None, max_examples=60)
def test_whatever_is_read_again_wherever_it_dies_the_same_holds(
    story: Sequence[tuple[str, str, bool]], chance: Random
) -> None:
    harness = Harness()
    for number, (attribute, value, corrects) in enumerate(story):
        held = [each for each in harness.by_id().values() if each.status is FactStatus.ACTIVE]
        of_slot = [each for each in held if each.attribute == attribute and each.value != value]
        if corrects and of_slot:
            harness.correct(chance.choice(of_slot), value, number)
        else:
            harness.know(attribute, value, number)
    again = crashing(Facts(Settings(consolidate_at="off")).stage(), harness.log, chance, 3, causal=True)
    told = [msgspec.json.decode(each.value or b"", type=Fact) for each in again.outputs if each.topic == FACTS]
    after = {fact.fact_id: fact for fact in told}
    assert after == harness.by_id()
    assert harness.reasons() == []
    assert all(fact.polarity is Polarity.AFFIRMED for fact in after.values())
