"""What becomes of a person's slots: values that follow one another, grow, end and are taken back."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import msgspec
import pytest

from models import ids
from models.consolidation import ConsolidationStep, Step
from models.facts import Fact, FactCandidate, FactChange, FactStatus, Provenance
from models.statements import Assertion, Kind, Polarity, attribute_of
from processors.facts.claims import claim_of, normalized_value, singular
from processors.facts.confidence import FOREVER, active_until, confidence_at
from processors.facts.lines import ENTRIES_LIMIT, VALUES_LIMIT, Line
from processors.facts.timeline import MARKS_LIMIT
from streams.agents.memory.consolidation_records import CONSOLIDATION
from streams.agents.memory.fact_store import STATE
from streams.agents.memory.facts import FACTS, Facts
from streams.clients.erasures import Erasing
from streams.config.settings import Settings
from streams.runtime.testing import START, StageHarness


class Person:
    """Says things, one window each; ``at``: when, in minutes, if not after what was said last."""

    def __init__(self) -> None:
        self.stage = StageHarness(Facts(Settings()).stage())
        self.said = 0

    def says(
        self,
        attribute: str,
        value: str,
        assertion: Assertion = Assertion.HOLDS,
        polarity: Polarity = Polarity.AFFIRMED,
        at: int | None = None,
        event_at: datetime | None = None,
        confidence: float = 0.8,
    ) -> None:
        self.said += 1
        said = self.candidate(attribute, value, assertion, polarity, at, event_at, confidence)
        self.stage.feed(self.stage.record(said))

    def candidate(
        self,
        attribute: str,
        value: str,
        assertion: Assertion = Assertion.HOLDS,
        polarity: Polarity = Polarity.AFFIRMED,
        at: int | None = None,
        event_at: datetime | None = None,
        confidence: float = 0.8,
    ) -> FactCandidate:
        number = self.said
        known = attribute_of(attribute)
        evidence = Provenance(
            conversation_id="c",
            window_id=f"w{number}",
            window_end_id=f"m{number}",
            message_ids=(f"m{number}",),
            quote=f"{attribute}: {value}",
            topic="chat.messages.v1",
            partition=0,
            offsets=(number,),
            sent_at=START + timedelta(minutes=number * 10 if at is None else at),
            arrived_at=START + timedelta(days=1, minutes=number),
        )
        return FactCandidate(
            candidate_id=ids.candidate_id(f"{attribute}{value}", "c", evidence.message_ids),
            user_id="ada",
            kind=Kind.STATE if known is None else known.kind,
            attribute=attribute,
            value=value,
            polarity=polarity,
            assertion=assertion,
            event_at=event_at,
            statement=f"{attribute} {value} {polarity.value}",
            confidence=confidence,
            source_message_ids=evidence.message_ids,
            provenance=evidence,
            extractor="test",
        )

    def known(self) -> dict[str, Fact]:
        """The latest version of each fact, by its value; a denial has ``not`` before it."""
        latest = {fact.fact_id: fact for fact in self.stage.values(FACTS, Fact)}
        return {
            ("not " if fact.polarity is Polarity.NEGATED else "") + fact.value: fact for fact in latest.values()
        }

    def holding(self) -> set[str]:
        return {value for value, fact in self.known().items() if fact.status is FactStatus.ACTIVE}


def minute(number: int) -> datetime:
    return START + timedelta(minutes=number)


def test_three_wordings_are_one_fact_with_three_pieces_of_evidence() -> None:
    ada = Person()
    for wording in ("a dog", "Dogs", "  the ＤＯＧ. "):
        ada.says("pet", wording)
    (fact,) = ada.known().values()
    assert (fact.evidence_count, len(fact.provenance), fact.version) == (3, 3, 3)
    assert fact.confidence == pytest.approx(1 - 0.2 * 0.95**2)
    assert [each.change for each in fact.changes] == [
        FactChange.CREATED,
        FactChange.REINFORCED,
        FactChange.REINFORCED,
    ]


def test_a_new_value_takes_the_place_of_the_old_one() -> None:
    ada = Person()
    ada.says("home", "Berlin", at=10)
    ada.says("home", "Munich", at=20)
    berlin, munich = ada.known()["Berlin"], ada.known()["Munich"]
    assert (berlin.status, berlin.valid_from, berlin.valid_to) == (
        FactStatus.SUPERSEDED,
        minute(10),
        minute(20),
    )
    assert (berlin.superseded_by, munich.status) == (munich.fact_id, FactStatus.ACTIVE)
    assert (berlin.changes[-1].fact_id, berlin.changes[-1].window_id) == (munich.fact_id, "w2")


def test_what_was_said_earlier_enters_the_past_whenever_it_arrives() -> None:
    ada = Person()
    ada.says("home", "Munich", at=20)
    ada.says("home", "Berlin", at=10)
    berlin, munich = ada.known()["Berlin"], ada.known()["Munich"]
    assert ada.holding() == {"Munich"}
    assert (berlin.change, berlin.valid_to, berlin.superseded_by) == (
        FactChange.CREATED,
        munich.valid_from,
        munich.fact_id,
    )


def test_who_comes_back_has_lived_there_before() -> None:
    ada = Person()
    for at, where in ((10, "Berlin"), (20, "Munich"), (30, "Berlin")):
        ada.says("home", where, at=at)
    berlin = ada.known()["Berlin"]
    assert (berlin.status, berlin.valid_from, berlin.valid_to) == (FactStatus.ACTIVE, minute(30), None)
    assert [(each.valid_from, each.valid_to) for each in berlin.past] == [(minute(10), minute(20))]


def test_slots_that_hold_many_values_grow_and_the_opposite_contradicts_one() -> None:
    ada = Person()
    ada.says("like", "tea")
    ada.says("like", "jazz")
    ada.says("like", "tea", polarity=Polarity.NEGATED)
    assert ada.holding() == {"jazz", "not tea"}
    tea = ada.known()["tea"]
    assert (tea.status, tea.superseded_by) == (FactStatus.CONTRADICTED, ada.known()["not tea"].fact_id)
    ada.says("like", "tea")
    assert ada.holding() == {"jazz", "tea"}


def test_no_longer_ends_a_value_and_none_any_more_all_of_them() -> None:
    ada = Person()
    for pet in ("a dog", "a cat", "a parrot"):
        ada.says("pet", pet)
    ada.says("pet", "dogs", Assertion.ENDED)
    assert ada.known()["a dog"].status is FactStatus.ENDED
    ada.says("pet", "", Assertion.ENDED)
    assert ada.holding() == {"not "}
    ada.says("pet", "a goat", at=5)
    assert ada.known()["a goat"].status is FactStatus.ENDED, "said before: it had ended by then, too"
    ada.says("pet", "a horse")
    assert ada.holding() == {"a horse"}


def test_a_correction_says_that_it_never_was_so() -> None:
    ada = Person()
    ada.says("home", "Berlin", at=10)
    ada.says("home", "Munich", Assertion.CORRECTED, at=11)
    berlin, munich = ada.known()["Berlin"], ada.known()["Munich"]
    assert (berlin.status, berlin.change, berlin.valid_to) == (
        FactStatus.DEPRECATED,
        FactChange.CORRECTED,
        berlin.valid_from,
    )
    assert munich.valid_from == minute(10)
    ada.says("pet", "a cat")
    ada.says("pet", "a dog", Assertion.CORRECTED)
    assert ada.known()["a cat"].status is FactStatus.DEPRECATED


class TestWhatWasCorrectedAndSaidAgain:
    """What it rested on before the correction stays known beside the fact."""

    def told(self) -> Person:
        ada = Person()
        ada.says("home", "Berlin")
        ada.says("home", "Munich", Assertion.CORRECTED)
        ada.says("home", "Berlin")
        ada.says("home", "Berlin")
        return ada

    def erase(self, ada: Person, fact_id: str, until: datetime) -> None:
        record = ada.stage.record(None, FACTS, key=fact_id.encode())
        ada.stage.feed(record._replace(timestamp=int(until.timestamp() * 1000)))

    def latest(self, ada: Person, fact_id: str) -> Fact:
        own = [each for each in ada.stage.outputs if each.topic == FACTS and each.key == fact_id.encode()]
        assert own[-1].value is not None
        return msgspec.json.decode(own[-1].value, type=Fact)

    def test_it_is_erased_in_its_latest_version(self) -> None:
        ada = self.told()
        berlin = ada.known()["Berlin"]
        self.erase(ada, berlin.fact_id, START + timedelta(days=1, minutes=30))
        tombstone = next(each for each in reversed(ada.stage.outputs) if each.topic == FACTS and not each.value)
        assert dict(tombstone.headers)["erased_version"] == b"%d" % berlin.version
        for _ in range(30):
            ada.said += 1
        ada.says("home", "Berlin")
        assert self.latest(ada, berlin.fact_id).version == berlin.version + 1

    def test_what_was_said_after_the_erasure_stays(self) -> None:
        ada = self.told()
        berlin = ada.known()["Berlin"]
        self.erase(ada, berlin.fact_id, START + timedelta(days=1, minutes=3, seconds=30))
        left = self.latest(ada, berlin.fact_id)
        assert (left.status, [each.window_id for each in left.provenance]) == (FactStatus.ACTIVE, ["w4"])
        assert left.version == berlin.version + 1


class TestStepsAboutOneLine:
    """A value and its denial are in one line."""

    def step(self, ada: Person, step: Step, fact_id: str, other_id: str = "") -> None:
        asked = ConsolidationStep(
            step_id=f"{step}", step=step, at=START, by="test", user_id="ada", fact_id=fact_id, other_id=other_id
        )
        ada.stage.feed(ada.stage.record(asked, CONSOLIDATION))

    @pytest.mark.parametrize("is_first", [True, False])
    def test_both_are_half_as_sure(self, is_first: bool) -> None:
        ada = Person()
        ada.says("like", "hiking", at=20)
        ada.says("like", "hiking", polarity=Polarity.NEGATED, at=10)
        pair = ada.known()["hiking"].fact_id, ada.known()["not hiking"].fact_id
        self.step(ada, Step.CONTRADICTION, *(pair if is_first else pair[::-1]))
        line = ada.stage.stored(STATE, lambda key: key == pair[0].encode())[pair[0].encode()]
        assert isinstance(line, Line)
        assert [each.confidence for each in line.facts] == [0.4, 0.4]


class TestWhatIsAskedForOnce:
    """A request shows a taste unsurely: it ends nothing that was stated."""

    ASKED = 0.45

    def test_another_request_takes_its_place_and_a_statement_that_of_both(self) -> None:
        ada = Person()
        ada.says("favourite/cuisine", "Italian")
        ada.says("favourite/cuisine", "Thai", confidence=self.ASKED)
        ada.says("favourite/cuisine", "Greek", confidence=self.ASKED)
        assert ada.holding() == {"Italian", "Greek"}
        ada.says("favourite/cuisine", "Greek")
        assert ada.holding() == {"Greek"}
        greek = ada.known()["Greek"]
        assert (greek.tentative, greek.confidence) == (False, pytest.approx(0.81))
        ada.says("favourite/cuisine", "Italian")
        assert ada.holding() == {"Italian"}


class TestWhatIsNamedElsewhere:
    """A preference is known by what it names, whichever slot a sentence seems to speak of."""

    ASKED = 0.45

    @pytest.mark.parametrize(
        ("attribute", "value"),
        [
            ("like", "Harbour Radio"),
            ("like", "the Harbour Radio station"),
            ("favourite/music", "Harbour Radio"),
            ("favourite/media", "Harbour"),
        ],
    )
    def test_its_end_ends_it(self, attribute: str, value: str) -> None:
        ada = Person()
        ada.says("favourite/radio station", "Harbour Radio")
        ada.says(attribute, value, Assertion.ENDED)
        assert ada.holding() == set()
        assert ada.known()["Harbour Radio"].status is FactStatus.ENDED

    def test_a_denial_that_says_more_denies_only_that(self) -> None:
        ada = Person()
        ada.says("favourite/drink", "tea")
        ada.says("like", "green tea", polarity=Polarity.NEGATED)
        assert ada.holding() == {"tea", "not green tea"}

    @pytest.mark.parametrize("attribute", ["like", "favourite/music"])
    def test_a_crash_in_between_changes_nothing(self, attribute: str) -> None:
        """Whatever part of a batch was stored, it folds to the same when it is read again."""
        ada = Person()
        ada.says("favourite/radio station", "Harbour Radio")
        ada.says("like", "tea")
        before = len(ada.stage.changelog)
        said = [
            ada.candidate("favourite/news", "Lanternpost", Assertion.ENDED),
            ada.candidate("like", "Lanternpost"),
            ada.candidate(attribute, "Harbour Radio", Assertion.ENDED),
            ada.candidate(attribute, "tea", polarity=Polarity.NEGATED),
            ada.candidate("favourite/drink", "tea"),
        ]
        records = [ada.stage.record(each) for each in said]
        ada.stage.feed(*records)
        whole = {fact.fact_id: fact for fact in ada.stage.values(FACTS, Fact)}
        stored = dict(ada.stage.state.items())
        for kept in range(before, len(ada.stage.changelog)):
            again = StageHarness(Facts(Settings()).stage())
            again.changelog = [*ada.stage.changelog]
            again.recover(kept)
            again.feed(*records)
            assert dict(again.state.items()) == stored
            assert all(fact.version <= whole[fact.fact_id].version for fact in again.values(FACTS, Fact))


@pytest.mark.parametrize("times", [1, 3, 9])
def test_a_crash_leaves_what_was_part_of_a_whole_known_to_it_although_it_is_no_more(times: int) -> None:
    """Whatever was stored of a batch: what stands for itself again is stored behind what it was part of."""
    ada = Person()
    said = []
    for value, assertion, part in (
        ("tea", Assertion.HOLDS, ""),
        *[
            ("green tea", Assertion.HOLDS, "tea"),
            ("jazz", Assertion.CORRECTED, ""),
            ("tea", Assertion.HOLDS, ""),
        ]
        * times,
        ("green tea", Assertion.HOLDS, ""),
    ):
        ada.said += 1
        refines = (claim_of(ada.candidate("like", part)).fact_id,) if part else ()
        candidate = ada.candidate("like", value, assertion)
        said.append(msgspec.structs.replace(candidate, refines=refines))
    records = [ada.stage.record(each) for each in said]
    ada.stage.feed(*records)
    whole = ada.known()
    assert ada.holding() == {"tea", "green tea", "jazz"}
    for kept in range(len(ada.stage.changelog)):
        again = Person()
        again.stage.changelog = [*ada.stage.changelog]
        again.stage.recover(kept)
        again.stage.feed(*records)
        assert {**whole, **again.known()} == whole
        assert dict(again.stage.state.items()) == dict(ada.stage.state.items())


@pytest.mark.parametrize("whose", [("", "ada"), ("c", "")])
def test_what_was_part_of_a_corrected_whole_is_erased_with_its_person_or_conversation(
    whose: tuple[str, str],
) -> None:
    """Nothing stands for it any more, and it is still to be read on the topic."""
    ada = Person()
    ada.says("like", "tea")
    part = claim_of(ada.candidate("like", "tea")).fact_id
    ada.said += 1
    whole = msgspec.structs.replace(ada.candidate("like", "green tea"), refines=(part,))
    ada.stage.feed(ada.stage.record(whole))
    ada.says("like", "jazz", Assertion.CORRECTED)
    assert ada.known()["tea"].status is FactStatus.MERGED_INTO
    erasing = Erasing("default", *whose, START + timedelta(days=2))
    record = ada.stage.record(None, FACTS, key=erasing.key(ada.stage.partition).encode())
    ada.stage.feed(record._replace(headers=erasing.headers()))
    topic = {output.key: output.value for output in ada.stage.outputs if output.topic == FACTS}
    assert set(topic.values()) == {None}
    assert part.encode() in topic


def test_the_same_event_on_another_day_is_another_event() -> None:
    ada = Person()
    for day in (1, 1, 2):
        ada.says("event", "went to the dentist", event_at=datetime(2026, 3, day, 9, day, tzinfo=UTC))
    facts = {fact.fact_id: fact for fact in ada.stage.values(FACTS, Fact)}
    assert sorted(fact.evidence_count for fact in facts.values()) == [1, 2]


@pytest.mark.uncounted
@pytest.mark.parametrize(("attribute", "values"), [("home", 600), ("like", 2_000)])
def test_a_slot_with_very_many_values_stays_small(attribute: str, values: int) -> None:
    ada = Person()
    for number in range(values):
        ada.says(attribute, f"Place {number} of many")
    slot = claim_of(ada.candidate(attribute, "x")).slot_id.encode()
    line = STATE.decode(dict(ada.stage.state.items())[slot], slot)
    assert not hasattr(line, "line_id")
    assert len(line.marks) <= MARKS_LIMIT  # type: ignore[union-attr]
    assert len(line.values) <= VALUES_LIMIT  # type: ignore[union-attr]
    assert sum(len(f.changes) + len(f.provenance) for f in line.facts) <= ENTRIES_LIMIT  # type: ignore[union-attr]
    assert len(ada.holding()) == (1 if attribute == "home" else values)
    before = ada.known()["Place 3 of many"].version
    ada.says(attribute, "Place 3 of many")
    assert ada.known()["Place 3 of many"].version > before
    assert "Place 3 of many" in ada.holding()


def test_values_are_folded_only_where_it_is_safe() -> None:
    assert normalized_value("name", "James") == "james"
    assert normalized_value("home", "The Hague") == "hague"
    assert [
        singular(word) for word in ("berries", "boxes", "glass", "buses", "dogs", "cactus", "bus", "noses")
    ] == [
        "berry",
        "box",
        "glass",
        "buse",
        "dog",
        "cactus",
        "bus",
        "nose",
    ]


class TestConfidence:
    def fact(self, attribute: str = "like", confidence: float = 0.8) -> Fact:
        ada = Person()
        ada.says(attribute, "nuts")
        (fact,) = ada.known().values()
        return msgspec.structs.replace(fact, confidence=confidence)

    @pytest.mark.parametrize("attribute", ["allergy", "constraint", "instruction"])
    def test_what_must_not_be_forgotten_does_not_fade(self, attribute: str) -> None:
        fact = self.fact(attribute)
        assert active_until(fact) == FOREVER
        assert confidence_at(fact, datetime(2200, 1, 1, tzinfo=UTC)) == 0.8
