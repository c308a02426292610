"""memory/facts: facts that say the same become one, as the log says, however often it is read again."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from memory_samples import FactsHarness, calmly, candidate, crashing, vector_of

from models import ids
from models.consolidation import (
    ConsolidationReport,
    ConsolidationStep,
    Decision,
    FactPair,
    MergeCluster,
    MergeQuestion,
    Step,
)
from models.facts import Fact, FactChange, FactStatus
from models.ports import MergeVerdict, Validated
from models.statements import Assertion, Polarity
from models.vectors import EmbeddingRequest, EmbeddingResult, Saying, VectorKind
from processors.facts.confidence import ACTIVE_FROM
from processors.facts.evidence import PROVENANCE_LIMIT
from processors.facts.lines import Line
from processors.facts.rebuilding import rebuilt
from streams.agents.memory.commands import COMMANDS, Commands
from streams.agents.memory.consolidation_records import CONSOLIDATION, QUESTIONS, REPORTS
from streams.agents.memory.fact_vectors import PERSON, PERSON_SUFFIX, SPOKEN
from streams.agents.memory.facts import FACTS, STATE, Facts
from streams.agents.memory.merge_validation import MergeValidation
from streams.agents.vectors.requests import EMBEDDINGS
from streams.clients.erasures import Erasing
from streams.clients.records import Record
from streams.config.settings import Settings
from streams.runtime.effects import Output
from streams.runtime.marks import Layout
from streams.runtime.stage import Stage
from streams.runtime.testing import PARTITION, START, StageHarness

NEAR = (1.0, 0.0, 0.0)
NEARBY = (0.96, 0.28, 0.0)
FAR = (0.0, 0.0, 1.0)


def result(
    text: str, vector: Sequence[float] = NEAR, user: str = "ada", tenant: str = "default"
) -> EmbeddingResult:
    """The vector of the fact that :func:`memory_samples.candidate` is about."""
    names = {"user_id": user, "tenant_id": tenant, "text_hash": ids.text_hash(text)}
    return vector_of(VectorKind.FACT, ids.text_fact_id(tenant, user, text), vector, **names)


def consolidate(user: str = "ada", **changes: Any) -> ConsolidationStep:
    step = ConsolidationStep(step_id="s-1", step=Step.CONSOLIDATE, at=START, by="test", user_id=user)
    return msgspec.structs.replace(step, **changes)


class Harness(FactsHarness):
    def __init__(self, **changed: Any) -> None:
        super().__init__(Settings(**changed))

    def know(
        self, text: str, number: int, vector: Sequence[float] = NEAR, minute: int = 0, **changes: Any
    ) -> None:
        """Fold a fact and its vector; of two that were said in one minute neither ends the other."""
        found = candidate(text, number, **changes)
        evidence = msgspec.structs.replace(found.provenance, sent_at=START + timedelta(minutes=minute))
        self.take(self.record(msgspec.structs.replace(found, provenance=evidence)))
        self.take(self.record(result(text, vector, changes.get("user", "ada")), EMBEDDINGS))

    def say(self, text: str, number: int, *, corrects: str = "", **changes: Any) -> Record:
        said = candidate(text, number, **changes)
        if corrects:
            said = msgspec.structs.replace(said, assertion=Assertion.CORRECTED, corrects=corrects)
        self.take(record := self.record(said))
        return record

    def reword(self, text: str) -> None:
        """Have a fact count as changed: its vector is of another text."""
        changed = msgspec.structs.replace(result(text), text_hash="0" * 32)
        self.take(self.record(changed, EMBEDDINGS))

    def erase(self, user: str, conversation: str, days: int = 1) -> None:
        erased = Erasing("default", conversation, user, START + timedelta(days=days))
        record = self.record(None, FACTS, key=erased.key(PARTITION).encode())
        self.take(record._replace(headers=erased.headers()))

    def consolidate(self, user: str = "ada", **changes: Any) -> ConsolidationReport:
        self.take(self.record(consolidate(user, **changes), CONSOLIDATION))
        return self.values(REPORTS, ConsolidationReport)[-1]

    def merge(self, stays: str, goes: str, **changes: Any) -> None:
        step = consolidate(step=Step.MERGE, fact_id=_id(stays), other_id=_id(goes), **changes)
        self.take(self.record(step, CONSOLIDATION))

    def topic(self) -> dict[str, Fact | None]:
        """The latest of each fact, by statement; ``None`` for one that was erased."""
        facts: dict[bytes, Fact | None] = {}
        names: dict[bytes, str] = {}
        for output in self.outputs:
            if output.topic == FACTS and output.key is not None:
                fact = None if output.value is None else msgspec.json.decode(output.value, type=Fact)
                facts[output.key] = fact
                if fact is not None:
                    names[output.key] = fact.statement
        return {names[key]: fact for key, fact in facts.items() if key in names}

    def fact(self, text: str) -> Fact:
        found = self.topic()[text]
        assert found is not None
        return found

    def reset(self, *, replay: bool) -> None:
        """Begin with what the topic of facts holds, as after `switchboard state reset memory`."""
        facts = [fact for fact in self.topic().values() if fact is not None]
        layout = Layout(self.spec.sources)
        self.changelog = [
            (key.encode(), layout.seal(None, STATE.encode(value), 0, None))
            for key, value in rebuilt(facts).items()
        ]
        self.recover()
        if replay:
            for record in self.log:
                self.feed(record)

    def steps(self) -> list[ConsolidationStep]:
        return self.values(CONSOLIDATION, ConsolidationStep)


@pytest.fixture
def harness() -> Harness:
    return Harness()


class TestMerging:
    def test_equal_facts_merge_with_all_their_evidence(self, harness: Harness) -> None:
        harness.know("User likes hiking", 1, confidence=0.7)
        harness.know("User loves hiking", 2, NEARBY, confidence=0.9)
        report = harness.consolidate()
        winner, loser = harness.fact("User loves hiking"), harness.fact("User likes hiking")
        assert report.merged == (FactPair(winner.fact_id, loser.fact_id),)
        assert (loser.status, loser.change) == (FactStatus.MERGED_INTO, FactChange.MERGED)
        assert (loser.merged_into_id, loser.archived_at) == (winner.fact_id, START)
        assert (winner.status, winner.change, winner.confidence) == (FactStatus.ACTIVE, FactChange.MERGED, 0.9)
        assert winner.evidence_count == 2
        assert {each.window_id for each in winner.provenance} == {"w1", "w2"}
        assert winner.learned_at == loser.learned_at

    def test_consolidating_again_changes_nothing(self, harness: Harness) -> None:
        harness.know("User likes hiking", 1)
        harness.know("User loves hiking", 2, confidence=0.9)
        harness.consolidate()
        facts, steps = harness.topic(), harness.steps()
        report = harness.consolidate(step_id="s-2")
        assert (report.changed, report.merged, harness.topic(), harness.steps()) == (0, (), facts, steps)

    def test_vectors_of_another_model_are_not_compared(self, harness: Harness) -> None:
        harness.know("User likes hiking", 1)
        harness.say("User loves hiking", 2)
        other = msgspec.structs.replace(result("User loves hiking"), model="test-2")
        harness.take(harness.record(other, EMBEDDINGS))
        assert harness.consolidate().merged == ()


class TestContradictions:
    def test_denial_without_slot_halves_confidence_once(self, harness: Harness) -> None:
        harness.know("User is going to the fair", 1, confidence=0.8)
        harness.know("User is not going to the fair", 2, confidence=0.9)
        assert len(harness.consolidate().contradicted) == 1
        one, other = harness.fact("User is going to the fair"), harness.fact("User is not going to the fair")
        assert (one.confidence, other.confidence) == (0.4, 0.45)
        assert {one.change, other.change} == {FactChange.CONTRADICTED}
        assert {one.status, other.status} == {FactStatus.ACTIVE}
        harness.reword("User is going to the fair")
        assert harness.consolidate(step_id="s-2").contradicted == ()

    @pytest.mark.parametrize("is_first", [True, False])
    def test_a_value_and_its_denial_halve_the_confidence(self, harness: Harness, is_first: bool) -> None:
        names = {"attribute": "like", "value": "hiking"}
        for number, polarity in ((20, Polarity.AFFIRMED), (10, Polarity.NEGATED)):
            said = msgspec.structs.replace(candidate(f"like {polarity}", number), polarity=polarity, **names)
            harness.take(harness.record(said))
        denied, held = (harness.fact(f"like {each}").fact_id for each in (Polarity.NEGATED, Polarity.AFFIRMED))
        one, other = (held, denied) if is_first else (denied, held)
        step = consolidate(step=Step.CONTRADICTION, fact_id=one, other_id=other)
        harness.take(harness.record(step, CONSOLIDATION))
        assert [each.confidence for each in line_state(harness, held).facts] == [0.4, 0.4]

    async def test_a_model_that_keeps_both_restores_their_confidence(self, harness: Harness) -> None:
        harness.know("User is going to the fair", 1, confidence=0.8)
        harness.know("User is not going to the fair", 2, confidence=0.9)
        report = harness.consolidate()
        assert (len(report.contradicted), report.asked) == (1, 1)
        (asked,) = harness.values(QUESTIONS, MergeQuestion)
        verdict = MergeVerdict(asked.clusters[0].cluster_id, Decision.KEEP_BOTH)
        await validated(harness, asked, Validator(verdict))
        one, other = harness.fact("User is going to the fair"), harness.fact("User is not going to the fair")
        assert (one.confidence, other.confidence) == (0.8, 0.9)
        assert {one.change, other.change} == {FactChange.KEPT}
        harness.reword("User is going to the fair")
        report = harness.consolidate(step_id="s-2")
        assert (report.contradicted, report.asked) == ((), 0)

    def test_new_evidence_makes_it_sure_again(self, harness: Harness) -> None:
        harness.know("User is going to the fair", 1, confidence=0.8)
        harness.know("User is not going to the fair", 2, confidence=0.5)
        harness.consolidate()
        harness.say("User is going to the fair", 3, confidence=0.8)
        assert harness.fact("User is going to the fair").confidence > 0.8


def spoken(
    harness: Harness,
    name: str,
    vector: Sequence[float] = NEAR,
    *,
    hours: float = 2,
    conversation: str = "c",
    denies: bool = False,
    user: str = "ada",
    model: str = "test-1",
) -> None:
    at = START + timedelta(hours=hours)
    saying = Saying(conversation_id=conversation, sent_at=at, arrived_at=at, denies=denies)
    arrived = vector_of(VectorKind.TURN, name, vector, user_id=user, model=model, saying=saying)
    harness.take(harness.record(arrived, EMBEDDINGS, key=f"turn/{name}".encode()))


class TestSupport:
    def test_a_near_saying_elsewhere_raises_the_confidence(self, harness: Harness) -> None:
        harness.know("User likes hiking", 1, confidence=0.8)
        spoken(harness, "t-1", NEARBY)
        report = harness.consolidate()
        fact = harness.fact("User likes hiking")
        assert report.supported == (FactPair(fact.fact_id, "t-1"),)
        assert (report.said, report.support_from) == (1, 0.6)
        assert fact.change is FactChange.SUPPORTED and fact.evidence_count == 1
        faded = 0.8 * math.exp(-0.01 * (fact.last_evidence_at - START) / timedelta(days=1))
        assert fact.confidence == pytest.approx(faded + 0.05 * (1 - faded))
        assert [(each.turn_id, each.similarity) for each in fact.support] == [
            ("t-1", pytest.approx(0.96, abs=0.01))
        ]
        assert fact.last_evidence_at == START + timedelta(hours=2)

    @pytest.mark.parametrize(
        "changed",
        [{"user": "bob"}, {"vector": FAR}, {"denies": True}, {"model": "test-2"}],
        ids=["another person", "something else", "denied", "another model"],
    )
    def test_what_does_not_bear_it_out(self, harness: Harness, changed: dict[str, Any]) -> None:
        harness.know("User likes hiking", 1)
        harness.know("User likes tea", 2, FAR, user="bob")
        spoken(harness, "t-1", **changed)
        harness.take(harness.record(consolidate(""), CONSOLIDATION))
        assert not [step for step in harness.steps() if step.step is Step.SUPPORT]

    def test_a_turn_that_is_erased_counts_no_more(self, harness: Harness) -> None:
        harness.know("User likes hiking", 1)
        spoken(harness, "t-1")
        harness.take(harness.record(None, EMBEDDINGS, key=b"turn/t-1"))
        assert harness.consolidate().supported == ()
        assert not harness.stored(SPOKEN, lambda key: key.endswith(b"/said"))

    def test_what_bore_it_out_is_erased_with_its_conversation(self, harness: Harness) -> None:
        harness.know("User likes hiking", 1, confidence=0.8)
        spoken(harness, "t-1", conversation="another")
        harness.consolidate()
        surer = harness.fact("User likes hiking").confidence
        harness.erase("", "another")
        fact = harness.fact("User likes hiking")
        assert (fact.status, fact.support, fact.change) == (FactStatus.ACTIVE, (), FactChange.ERASED)
        assert fact.confidence < surer and fact.last_evidence_at == fact.learned_at
        assert b"another" not in b"".join(
            payload for key, payload in harness.state.items() if b"/erased" not in key
        )
        # A step that was decided before is read after it.
        (step,) = [step for step in harness.steps() if step.step is Step.SUPPORT]
        harness.take(harness.record(step, CONSOLIDATION))
        assert harness.fact("User likes hiking").support == ()

    def test_what_bore_it_out_is_erased_with_the_fact(self, harness: Harness) -> None:
        harness.know("User likes hiking", 1)
        spoken(harness, "t-1", hours=2)
        spoken(harness, "t-2", hours=48)
        harness.consolidate()
        again = candidate("User likes hiking", 2)
        later = START + timedelta(hours=40)
        evidence = msgspec.structs.replace(again.provenance, sent_at=later, arrived_at=later)
        harness.take(harness.record(msgspec.structs.replace(again, provenance=evidence)))
        fact = harness.fact("User likes hiking")
        assert [each.turn_id for each in fact.support] == ["t-1", "t-2"]
        tombstone = harness.record(None, FACTS, key=fact.fact_id.encode())
        until = START + timedelta(hours=30)
        harness.take(tombstone._replace(timestamp=int(until.timestamp() * 1000)))
        left = harness.fact("User likes hiking")
        assert [each.window_id for each in left.provenance] == [evidence.window_id]
        assert [each.turn_id for each in left.support] == ["t-2"]
        assert left.last_evidence_at == START + timedelta(hours=48)

    def test_it_is_erased_of_merged_facts_and_may_return(self, harness: Harness) -> None:
        harness.know("User likes hiking", 1, confidence=0.7)
        spoken(harness, "t-1", conversation="another")
        harness.consolidate()
        harness.know("User loves hiking", 2, NEARBY, confidence=0.9)
        harness.consolidate(step_id="s-2")
        archived = harness.fact("User likes hiking")
        assert archived.merged_into_id is not None and archived.support
        harness.erase("", "another", days=100)
        left = harness.fact("User likes hiking")
        assert (left.merged_into_id, left.support) == (archived.merged_into_id, ())
        assert left.version == archived.version + 1
        stored = [payload for key, payload in harness.state.items() if b"/erased" not in key]
        assert b"another" not in b"".join(stored)
        separate(harness, "User likes hiking")
        back = harness.fact("User likes hiking")
        assert (back.status, back.support, back.version) == (FactStatus.ACTIVE, (), left.version + 1)
        assert back.confidence == pytest.approx(0.7)


class TestFading:
    def test_unfindable_facts_are_deprecated_and_return(self, harness: Harness) -> None:
        harness.know("User likes hiking", 1, confidence=0.25)
        report = harness.consolidate()
        fact = harness.fact("User likes hiking")
        assert report.deprecated == (fact.fact_id,)
        assert (fact.status, fact.change, fact.confidence) == (
            FactStatus.DEPRECATED,
            FactChange.DEPRECATED,
            0.25,
        )
        facts = harness.topic()
        assert harness.consolidate(step_id="s-2").deprecated == () and harness.topic() == facts
        harness.say("User likes hiking", 2, confidence=0.7)
        assert (harness.fact("User likes hiking").status, harness.fact("User likes hiking").evidence_count) == (
            FactStatus.ACTIVE,
            2,
        )

    def test_the_night_after_it_has_faded_somebody_looks(self, harness: Harness) -> None:
        harness.know("User likes hiking", 1, confidence=0.6)
        harness.consolidate()
        (at,) = harness.timers.values()
        faint = START + timedelta(days=100 * math.log(2))
        assert timedelta(0) < datetime.fromtimestamp(at, UTC) - faint <= timedelta(days=1)
        harness.wait(datetime.fromtimestamp(at, UTC) - harness.arrived)
        (step,) = harness.values(CONSOLIDATION, ConsolidationStep)
        harness.take(harness.record(step, CONSOLIDATION))
        assert harness.fact("User likes hiking").status is FactStatus.DEPRECATED
        assert harness.timers == {}


class TestSchedule:
    def test_what_changed_is_looked_at_at_night(self, harness: Harness) -> None:
        harness.know("User likes hiking", 1)
        harness.know("User loves hiking", 2, confidence=0.9)
        ((key, at),) = harness.timers.items()
        night = (START + timedelta(days=1)).replace(hour=3)
        assert timedelta(0) <= datetime.fromtimestamp(at, UTC) - night < timedelta(hours=1)
        before = len(harness.outputs)
        harness.wait(timedelta(days=1))
        (step,) = harness.values(CONSOLIDATION, ConsolidationStep)
        assert (step.by, step.user_id, harness.timers) == ("schedule", "ada", {})
        harness.take(harness.record(step, CONSOLIDATION))
        assert harness.fact("User likes hiking").status is FactStatus.MERGED_INTO
        assert key.endswith(PERSON_SUFFIX) and len(harness.outputs) > before

    def test_a_restart_remembers_who_is_due(self, harness: Harness) -> None:
        harness.know("User likes hiking", 1)
        timers = dict(harness.timers)
        harness.recover()
        assert harness.timers == timers != {}

    def test_a_crash_between_vectors_and_person_loses_no_fact(self, harness: Harness) -> None:
        texts = ["User likes hiking", "User loves hiking"]
        harness.take(*(harness.record(candidate(text, n)) for n, text in enumerate(texts)))
        vectors = [harness.record(result(text), EMBEDDINGS) for text in texts]
        harness.feed(*vectors)
        (page,) = (n for n, (key, _) in enumerate(harness.changelog) if b"/page/" in key)
        harness.recover(page + 1)
        harness.feed(*vectors)
        assert len(harness.consolidate().merged) == 1

    def test_everybody_in_the_partition_of_that_tenant_gets_a_step(self, harness: Harness) -> None:
        harness.know("User likes hiking", 1)
        harness.know("User likes hiking", 2, user="bob")
        harness.take(harness.record(consolidate(""), CONSOLIDATION))
        assert {report.user_id for report in harness.values(REPORTS, ConsolidationReport)} == {"ada", "bob"}


class TestBadSteps:
    def step(self, harness: Harness, one: str, other: str, user: str = "ada", kind: Step = Step.MERGE) -> None:
        step = consolidate(user, step=kind, fact_id=_id(one), other_id=_id(other))
        harness.take(harness.record(step, CONSOLIDATION))

    def test_nothing_is_merged_into_an_erased_fact(self, harness: Harness) -> None:
        harness.know("User likes hiking", 1)
        harness.know("User loves hiking", 2)
        harness.arrived += timedelta(minutes=1)
        harness.take(harness.record(None, FACTS, key=_id("User likes hiking").encode()))
        self.step(harness, "User likes hiking", "User loves hiking")
        assert harness.fact("User loves hiking").status is FactStatus.ACTIVE

    def test_nobody_elses_facts_are_merged(self, harness: Harness) -> None:
        harness.know("User likes hiking", 1)
        harness.know("User loves hiking", 2)
        self.step(harness, "User likes hiking", "User loves hiking", "mallory")
        assert harness.fact("User loves hiking").status is FactStatus.ACTIVE


def _id(text: str, user: str = "ada") -> str:
    return ids.text_fact_id("default", user, text)


@pytest.mark.parametrize(("user", "conversation"), [("ada", ""), ("", "c")])
def test_erasing_a_person_or_conversation_erases_what_was_merged(
    harness: Harness, user: str, conversation: str
) -> None:
    harness.know("User likes hiking", 1)
    harness.know("User loves hiking", 2, confidence=0.9)
    harness.know("User adores hiking", 3, confidence=0.95)
    harness.consolidate()
    harness.erase(user, conversation)
    assert set(harness.topic().values()) == {None} and len(harness.topic()) == 3
    if user:
        assert not [key for key, _ in harness.state.items() if key.endswith(PERSON_SUFFIX)]
    assert b"hiking" not in b"".join(payload for _, payload in harness.state.items())


# -- whatever happens ---------------------------------------------------------------------------------------

VERBS = ("likes", "loves", "enjoys", "adores", "does not like")
OBJECTS = ("hiking", "tea", "hiking in the Alps", "the first tournament", "the fourth tournament")
STORY = st.lists(
    st.tuples(st.sampled_from(VERBS), st.sampled_from(OBJECTS), st.floats(0, 1), st.booleans()),
    min_size=2,
    max_size=12,
)


def untimed() -> Stage:
    return Facts(Settings(consolidate_at="off")).stage()


def told(story: Sequence[tuple[str, str, float, bool]]) -> Harness:
    harness = Harness()
    for number, (verb, thing, confidence, again) in enumerate(story):
        harness.know(f"User {verb} {thing}", number, confidence=confidence)
        if again:
            harness.consolidate(step_id=f"s-{number}")
    harness.consolidate(step_id="s-last")
    return harness


def crashed(log: Sequence[Record], chance: Random) -> Sequence[Output]:
    return crashing(untimed(), log, chance, 4, causal=True).outputs


def latest(outputs: Sequence[Any]) -> dict[bytes, object]:
    """What each fact is, and rests on unless it is part of another, in the end.

    Sources are read in any order: how sure facts are, and so whether they have faded, may depend on it, and so
    may whether a sentence was counted before its fact was merged or after, for the one that stays.
    """
    found: dict[bytes, object] = {}
    for output in outputs:
        if output.topic == FACTS:
            fact = msgspec.json.decode(output.value, type=Fact)
            windows = {each.window_id for each in fact.provenance}
            status = FactStatus.ACTIVE if fact.has_faded else fact.status
            rests_on = (fact.evidence_count, windows) if fact.merged_into_id is None else None
            found[output.key] = status, fact.merged_into_id, rests_on
    return found


@given(STORY)
@settings(deadline=None, max_examples=40)
def test_no_evidence_is_lost_and_every_fact_is_reached(story: list[tuple[str, str, float, bool]]) -> None:
    topic = told(story).topic()
    by_id = {fact.fact_id: fact for fact in topic.values() if fact is not None}
    for number, (verb, thing, _, _) in enumerate(story):
        fact = by_id[_id(f"User {verb} {thing}")]
        seen = set()
        while fact.merged_into_id is not None:
            assert fact.fact_id not in seen
            seen.add(fact.fact_id)
            fact = by_id[fact.merged_into_id]
        assert fact.status is FactStatus.ACTIVE or (fact.has_faded and fact.confidence < ACTIVE_FROM)
        assert f"w{number}" in {each.window_id for each in fact.provenance}
        assert 0.0 <= fact.confidence <= 1.0
    living = [fact for fact in by_id.values() if fact.holds]
    assert sum(fact.evidence_count for fact in living) == len(story)


@given(STORY, st.randoms(use_true_random=False))
@settings(deadline=None, max_examples=25)
def test_however_often_it_crashes_the_facts_are_the_same(
    story: list[tuple[str, str, float, bool]], chance: Random
) -> None:
    log = told(story).log
    assert latest(crashed(log, chance)) == latest(calmly(untimed(), log, causal=True).outputs)


# -- commands and validation --------------------------------------------------------------------------------


class Answers:
    """What language models answered; it notes what is to be forgotten."""

    def __init__(self) -> None:
        self.asked: list[list[Erasing]] = []

    async def forget(self, erased: Sequence[Erasing]) -> int:
        self.asked.append([*erased])
        return 0


class TestCommands:
    def feed(self, *commands: dict[str, Any], answers: Answers) -> StageHarness:
        harness = StageHarness(Commands(Settings(), answers).stage())
        records = []
        basic = {"command_id": "k-1", "conversation_id": "consolidation", "issued_at": START.isoformat()}
        for said in commands:
            value = msgspec.json.encode(basic | said)
            records.append(harness.record(value, COMMANDS, key=b"consolidation"))
            harness.arrived += timedelta(seconds=1)
        asyncio.run(harness.call(*records))
        return harness

    def test_what_was_answered_in_erased_conversations_is_looked_through_once(self) -> None:
        answers = Answers()
        wrong = {"command": "erase", "conversation_id": 3}
        harness = self.feed(
            {"command": "erase", "conversation_id": "c"},
            {"command": "close", "conversation_id": "e"},
            wrong,
            {"command": "erase", "conversation_id": "d", "user_id": "ada", "tenant_id": "acme"},
            {"command": "erase", "conversation_id": "c"},
            answers=answers,
        )
        last = START + timedelta(seconds=4)
        of_ada = Erasing("acme", "d", "ada", last - timedelta(seconds=1))
        assert answers.asked == [[Erasing("default", "c", "", last), of_ada]]
        assert not harness.outputs and not harness.dead_letters, "ingest answers for what is wrong"

    @pytest.mark.parametrize(
        "said",
        [
            {"command": "consolidate", "user_id": "ada", "dry_run": True},
            {"command": "separate", "user_id": "ada", "fact_id": "f-1"},
        ],
        ids=lambda said: said["command"],
    )
    def test_a_command_about_a_person_runs_in_their_partition(self, said: dict[str, Any]) -> None:
        harness = self.feed(said, answers=Answers())
        (step,) = harness.values(CONSOLIDATION, ConsolidationStep)
        assert (step.step, step.user_id, harness.outputs[0].route) == (said["command"], "ada", b"ada")
        assert (step.dry_run, step.fact_id) == (said.get("dry_run", False), said.get("fact_id", ""))


class Validator:
    name = "scripted-1"

    def __init__(self, *verdicts: MergeVerdict) -> None:
        self.verdicts = verdicts
        self.asked: list[tuple[str, str, int]] = []

    async def validate(self, user_id: str, tenant_id: str, clusters: Sequence[MergeCluster]) -> Validated:
        self.asked.append((user_id, tenant_id, len(clusters)))
        return Validated(self.verdicts, calls=1, cost_usd=0.001)


async def validated(harness: Harness, asked: MergeQuestion, validator: Validator) -> StageHarness:
    """Have the validator decide, and what follows be done."""
    stage = StageHarness(MergeValidation(Settings(), validator).stage())
    await stage.call(stage.record(asked))
    for step in stage.values(CONSOLIDATION, ConsolidationStep):
        harness.take(harness.record(step, CONSOLIDATION))
    return stage


def question(harness: Harness) -> MergeQuestion:
    harness.know("User likes films", 1)
    harness.know("User likes movies", 2)
    assert harness.consolidate().asked == 1
    (found,) = harness.values(QUESTIONS, MergeQuestion)
    return found


async def test_what_a_model_decides_is_done(harness: Harness) -> None:
    asked = question(harness)
    validator = Validator(MergeVerdict(asked.clusters[0].cluster_id, Decision.MERGE))
    stage = await validated(harness, asked, validator)
    assert {each.status for each in map(harness.fact, harness.topic())} == {
        FactStatus.MERGED_INTO,
        FactStatus.ACTIVE,
    }
    assert validator.asked == [("ada", "default", 1)]
    (report,) = stage.values(REPORTS, ConsolidationReport)
    (merged,) = report.merged
    assert {merged.fact_id, merged.other_id} == {_id("User likes films"), _id("User likes movies")}
    assert (report.by, report.asked, report.facts, report.kept) == ("scripted-1", 1, 2, ())
    assert (report.calls, report.cost_usd) == (1, 0.001)


@pytest.mark.parametrize("is_newer", [True, False])
async def test_outdated_facts_end_if_the_other_came_later(harness: Harness, is_newer: bool) -> None:
    harness.know("User likes films", 1)
    harness.know("User likes movies", 2, NEARBY, minute=5)
    harness.consolidate()
    (asked,) = harness.values(QUESTIONS, MergeQuestion)
    named = (_id("User likes movies"), _id("User likes films"))
    verdict = MergeVerdict(
        asked.clusters[0].cluster_id, Decision.SUPERSEDES, named if is_newer else named[::-1]
    )
    stage = await validated(harness, asked, Validator(verdict))
    status = FactStatus.SUPERSEDED if is_newer else FactStatus.ACTIVE
    assert harness.fact("User likes films").status is status
    assert harness.fact("User likes movies").status is FactStatus.ACTIVE
    (report,) = stage.values(REPORTS, ConsolidationReport)
    assert [(each.fact_id, each.other_id) for each in report.superseded] == ([named] if is_newer else [])


@pytest.mark.parametrize(
    "verdict",
    [
        MergeVerdict("another-cluster", Decision.MERGE),
        MergeVerdict("", Decision.KEEP_BOTH),
        MergeVerdict("", Decision.MERGE, ("f-1", "f-2")),
    ],
)
async def test_an_answer_about_unasked_facts_does_nothing(harness: Harness, verdict: MergeVerdict) -> None:
    asked = question(harness)
    verdict = msgspec.structs.replace(verdict, cluster_id=verdict.cluster_id or asked.clusters[0].cluster_id)
    stage = await validated(harness, asked, Validator(verdict))
    (report,) = stage.values(REPORTS, ConsolidationReport)
    assert [output.topic for output in stage.outputs] == [REPORTS]
    assert (report.merged, report.contradicted) == ((), ())


# -- merges that are taken back -----------------------------------------------------------------------------


def separate(harness: Harness, text: str, user: str = "ada") -> None:
    at, fact_id = harness.arrived, _id(text)
    step = consolidate(user, at=at, step=Step.SEPARATE, step_id=f"separate-{text}", fact_id=fact_id)
    harness.take(harness.record(step, CONSOLIDATION))


class TestHalfStored:
    """A crash between the line of the fact that stays, which is stored first, and the other one."""

    def half(self, harness: Harness, step: ConsolidationStep) -> tuple[Record, Fact]:
        """Do a step, and lose all that was stored of it but the first line."""
        before, record = len(harness.changelog), harness.record(step, CONSOLIDATION)
        harness.feed(record)
        assert len(harness.changelog) > before + 1
        harness.recover(before + 1)
        return record, harness.fact("User loves hiking")

    def told(self, harness: Harness) -> None:
        # More evidence than a fact names: what is let go of is told from what is new by nothing but the mark.
        for number in range(PROVENANCE_LIMIT + 5):
            harness.say("User likes hiking", number)
        harness.know("User loves hiking", 100, NEARBY, confidence=0.9)

    def test_a_merge_is_counted_once(self, harness: Harness) -> None:
        self.told(harness)
        pair = _id("User loves hiking"), _id("User likes hiking")
        record, stays = self.half(harness, consolidate(step=Step.MERGE, fact_id=pair[0], other_id=pair[1]))
        assert stays.evidence_count == PROVENANCE_LIMIT + 6
        harness.feed(record)
        assert harness.fact("User loves hiking") == stays
        assert harness.fact("User likes hiking").merged_into_id == stays.fact_id
        line = line_state(harness, stays.fact_id).fact(stays.fact_id)
        assert line is not None and line.evidence_count == stays.evidence_count

    def test_a_merge_is_taken_back_once(self, harness: Harness) -> None:
        self.told(harness)
        harness.merge("User loves hiking", "User likes hiking")
        harness.say("User loves hiking", 101)
        step = consolidate(step=Step.SEPARATE, step_id="s-2", fact_id=_id("User likes hiking"))
        record, stays = self.half(harness, step)
        assert stays.evidence_count == 2
        harness.feed(record)
        assert harness.fact("User loves hiking") == stays
        back = harness.fact("User likes hiking")
        assert (back.merged_into_id, back.evidence_count) == (None, PROVENANCE_LIMIT + 5)


def line_state(harness: Harness, fact_id: str) -> Line:
    found = harness.stored(STATE, lambda key: key == fact_id.encode())[fact_id.encode()]
    assert isinstance(found, Line)
    return found


def test_a_much_changed_person_is_read_in_steps(harness: Harness, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two facts of ten say the same; no step looks at more changed facts than its limit."""
    limit = 100
    monkeypatch.setattr("streams.agents.memory.consolidating.CHANGED_LIMIT", limit)
    chance, count = np.random.default_rng(3), 3 * limit
    vectors = chance.standard_normal((count, 64)).astype(np.float32)
    vectors[1::10] = vectors[::10]
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    records = []
    for number in range(count):
        verb = "loves" if number % 10 == 1 else "likes"
        text = f"User {verb} thing{number - (number % 10 == 1)}"
        records.append((candidate(text, number), result(text, vectors[number].tolist())))
    harness.feed(*[harness.record(said) for said, _ in records])
    harness.feed(*[harness.record(made, EMBEDDINGS) for _, made in records])
    harness.take(harness.record(consolidate(), CONSOLIDATION))
    reports = [each for each in harness.values(REPORTS, ConsolidationReport) if each.changed]
    assert [each.changed for each in reports] == [limit] * 3
    merged = [fact for fact in harness.topic().values() if fact is not None and fact.merged_into_id is not None]
    assert len(merged) == count // 10
    (person,) = harness.stored(PERSON, lambda key: key.endswith(PERSON_SUFFIX)).values()
    assert person.changed == ()


def hike(harness: Harness) -> None:
    harness.know("User likes hiking", 1, confidence=0.7)
    harness.know("User loves hiking", 2, NEARBY, confidence=0.9)
    harness.consolidate()
    assert harness.fact("User likes hiking").merged_into_id == _id("User loves hiking")


class TestSeparating:
    @pytest.mark.parametrize("replay", [False, True])
    def test_after_a_reset_state_is_as_before(self, harness: Harness, replay: bool) -> None:
        other = Harness()
        for each in (harness, other):
            each.know("User likes hiking", 1, confidence=0.95)
            each.know("User loves hiking", 2, NEARBY, confidence=0.6)
            each.merge("User loves hiking", "User likes hiking")
        harness.reset(replay=replay)
        for each in (harness, other):
            each.take(each.record(candidate("User likes hiking", 3)))
            separate(each, "User likes hiking")
        assert harness.topic() == other.topic()

    def test_an_earlier_saying_does_not_undo_a_merge(self, harness: Harness) -> None:
        hike(harness)
        harness.arrived += timedelta(hours=1)
        step = consolidate(
            at=harness.arrived, step=Step.SEPARATE, step_id="s-9", fact_id=_id("User likes hiking")
        )
        harness.take(harness.record(step, CONSOLIDATION))
        harness.know("User enjoys hiking", 3, confidence=0.9)
        harness.arrived += timedelta(hours=1)
        harness.merge("User enjoys hiking", "User likes hiking", at=harness.arrived)
        facts = harness.topic()
        assert harness.fact("User likes hiking").merged_into_id == _id("User enjoys hiking")
        harness.reset(replay=True)
        assert harness.topic() == facts

    def test_they_are_not_merged_again(self, harness: Harness) -> None:
        hike(harness)
        separate(harness, "User likes hiking")
        assert [output.topic for output in harness.outputs][-1] == "memory.embedding-requests.v1"
        harness.take(harness.record(result("User likes hiking"), EMBEDDINGS))
        harness.reword("User likes hiking")
        facts = harness.topic()
        report = harness.consolidate(step_id="s-2")
        assert (report.facts, report.merged, report.asked) == (2, (), 0)
        harness.merge("User loves hiking", "User likes hiking")
        assert harness.topic() == facts

    def test_nothing_comes_back_of_what_was_erased(self, harness: Harness) -> None:
        hike(harness)
        harness.erase("", "c")
        separate(harness, "User likes hiking")
        assert set(harness.topic().values()) == {None}
        assert b"hiking" not in b"".join(payload for _, payload in harness.state.items())


class TestToldApart:
    """What was merged by mistake, and is then said instead of the fact that stands for it."""

    def check(self, harness: Harness) -> None:
        back, gone = harness.fact("User likes hiking"), harness.fact("User loves hiking")
        assert (back.status, back.merged_into_id, back.archived_at) == (FactStatus.ACTIVE, None, None)
        assert {each.window_id for each in back.provenance} == {"w1", "w3"}
        assert (back.evidence_count, back.learned_at) == (2, START + timedelta(seconds=1))
        assert [each.change for each in back.changes] == [
            FactChange.CREATED,
            FactChange.MERGED,
            FactChange.KEPT,
            FactChange.REINFORCED,
        ]
        assert [each.version for each in back.changes] == [1, 2, 3, 4]
        assert (gone.status, gone.superseded_by) == (FactStatus.DEPRECATED, back.fact_id)

    def test_it_returns_with_its_evidence_and_the_other_never_held(self, harness: Harness) -> None:
        hike(harness)
        said = harness.say("User likes hiking", 3, corrects=_id("User loves hiking"))
        self.check(harness)
        asked = harness.values("memory.embedding-requests.v1", EmbeddingRequest)
        assert asked[-1].id == _id("User likes hiking"), "its vector was let go of"
        facts = harness.topic()
        harness.feed(said)
        harness.take(harness.record(result("User likes hiking"), EMBEDDINGS))
        harness.consolidate(step_id="s-2")
        assert harness.topic() == facts, "once"

    @pytest.mark.parametrize("reset", [False, True])
    def test_it_is_back_once_the_other_is_replaced(self, harness: Harness, reset: bool) -> None:
        hike(harness)
        harness.say("User hates hiking", 3, corrects=_id("User loves hiking"))
        assert harness.fact("User likes hiking").merged_into_id is not None
        if reset:
            harness.reset(replay=True)
        harness.say("User likes hiking", 4)
        back = harness.fact("User likes hiking")
        assert (back.status, {each.window_id for each in back.provenance}) == (FactStatus.ACTIVE, {"w1", "w4"})


def merged_texts(harness: Harness) -> list[str]:
    facts = [fact for fact in harness.topic().values() if fact is not None]
    return sorted(fact.statement for fact in facts if fact.merged_into_id is not None)


def rests_on(harness: Harness) -> dict[str, tuple[object, ...]]:
    facts = [fact for fact in harness.topic().values() if fact is not None]
    return {
        fact.statement: (
            fact.merged_into_id,
            fact.evidence_count,
            frozenset(each.window_id for each in fact.provenance),
            fact.learned_at,
        )
        for fact in facts
    }


@given(STORY, st.randoms(use_true_random=False))
@settings(deadline=None, max_examples=30)
def test_merges_are_taken_back_in_any_order_and_once(
    story: list[tuple[str, str, float, bool]], chance: Random
) -> None:
    found = []
    for _ in range(2):
        harness = told(story)
        gone = merged_texts(harness)
        chance.shuffle(gone)
        for text in gone:
            separate(harness, text)
        assert merged_texts(harness) == []
        once = harness.topic()
        for text in gone:
            separate(harness, text)
        assert harness.topic() == once
        found.append(rests_on(harness))
        facts = [fact for fact in once.values() if fact is not None]
        assert all(0.0 <= fact.confidence <= 1.0 for fact in facts)
        assert sum(fact.evidence_count for fact in facts) == len(story)
        named = {each.window_id for fact in facts for each in fact.provenance}
        assert named == {f"w{number}" for number in range(len(story))}
    assert found[0] == found[1]


@given(STORY, st.randoms(use_true_random=False))
@settings(deadline=None, max_examples=15)
def test_told_apart_however_often_it_crashes(story: list[tuple[str, str, float, bool]], chance: Random) -> None:
    harness, number = told(story), len(story)
    for text in chance.sample(gone := merged_texts(harness), len(gone)):
        # In its own words, then instead of what stands for it, then again: by now it may stand for itself.
        for instead in chance.choice([(False,), (True,), (False, True), (True, False)]):
            corrects = harness.fact(text).merged_into_id or ""
            harness.say(text, number, corrects=corrects if instead else "")
            number += 1
    harness.consolidate(step_id="s-after")
    # Which came first, a sentence or the step that merged its fact, is up to whoever reads them.
    for outputs in (harness.outputs, crashed(harness.log, chance)):
        told_last = {output.key: output.value for output in outputs if output.topic == FACTS}
        facts = [msgspec.json.decode(value, type=Fact) for value in told_last.values() if value is not None]
        standing = [fact for fact in facts if fact.merged_into_id is None and not fact.is_void]
        counted = [each.window_id for fact in standing for each in fact.provenance]
        assert len(counted) == len({*counted}), "no evidence counts twice"
        assert all(fact.evidence_count == len(fact.provenance) for fact in standing)
        rested_on = {each.window_id for fact in facts for each in fact.provenance}
        assert rested_on == {f"w{each}" for each in range(number)}, "none is lost"
