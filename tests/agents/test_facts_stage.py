"""memory/facts, called without a broker: what is published, in which version, and what a replay adds."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

import msgspec
import pytest
from memory_samples import candidate

from models.facts import Erasure, Fact, FactCandidate, FactChange, FactStatus
from models.ids import text_fact_id
from models.vectors import EmbeddingRequest
from processors.facts.lines import Line
from processors.facts.stubs import Stub
from processors.retrieval.embedding.wording import request_for_fact
from streams.agents.memory import tombstones
from streams.agents.memory.fact_store import STATE
from streams.agents.memory.facts import FACTS, Facts
from streams.agents.vectors.requests import EMBEDDINGS, REQUESTS
from streams.clients.records import Record
from streams.config.settings import Settings
from streams.runtime.effects import Effects
from streams.runtime.testing import START, StageHarness

PARTIAL = "likes blueberries"
COMPLETE = "likes blueberries, especially in smoothies"


class Harness(StageHarness):
    """The stage, with short ways to feed it."""

    def __init__(self) -> None:
        super().__init__(Facts(Settings()).stage())

    @property
    def published(self) -> list[Fact]:
        """Every fact that was published, without the tombstones."""
        values = [output.value for output in self.outputs if output.topic == FACTS]
        return [msgspec.json.decode(value, type=Fact) for value in values if value is not None]

    def learn(self, *candidates: FactCandidate) -> Effects:
        return self.feed(*[self.record(each) for each in candidates])

    @property
    def asked(self) -> list[str]:
        """The texts that vectors were asked for; "" where one is to be forgotten."""
        values = [output.value for output in self.outputs if output.topic == REQUESTS]
        return [(value and msgspec.json.decode(value, type=EmbeddingRequest).text) or "" for value in values]

    def stored(self) -> dict[str, Fact]:
        """The facts that the state holds whole, by id."""
        return {fact.fact_id: fact for line in self.lines() for fact in line.facts}

    def stubs(self) -> dict[str, Stub]:
        """What the state holds of the others."""
        return {stub.fact_id: stub for line in self.lines() for stub in line.stubs}

    def lines(self) -> list[Line]:
        """The lines that the state holds."""
        states = [STATE.decode(v, k) for k, v in self.state.items() if not k.endswith(b"/erased")]
        return [state for state in states if isinstance(state, Line)]

    def marks(self, fact: Fact) -> tuple[int, int]:
        """The state's marks of a fact: how far candidates and how far tombstones are folded in."""
        found = []
        for source_index in (0, 1):
            self.state.source_index = source_index
            found.append(self.state.read(fact.fact_id.encode())[0])
        return found[0], found[1]


def story(facts: Sequence[Fact]) -> list[tuple[int, FactChange, FactStatus]]:
    return [(fact.version, fact.change, fact.status) for fact in facts]


class TestChanges:
    def test_a_new_statement_is_published_and_its_vector_requested(self) -> None:
        harness = Harness()
        harness.learn(candidate(PARTIAL, 1))
        (fact,) = harness.published
        assert fact.fact_id == text_fact_id("default", "ada", PARTIAL)
        assert story([fact]) == [(1, FactChange.CREATED, FactStatus.ACTIVE)]
        assert (fact.statement, fact.confidence, fact.evidence_count) == (PARTIAL, 0.8, 1)
        assert fact.provenance == (candidate(PARTIAL, 1).provenance,)
        assert harness.stored() == {fact.fact_id: fact}
        asked = harness.outputs[1]
        assert (asked.topic, asked.key, asked.route) == (REQUESTS, f"fact/{fact.fact_id}".encode(), b"ada")
        assert asked.value == msgspec.json.encode(request_for_fact(fact))

    def test_a_vector_is_asked_for_once_per_text(self) -> None:
        harness = Harness()
        harness.learn(candidate(PARTIAL, 1), candidate(PARTIAL, 2))
        harness.learn(candidate(PARTIAL, 3), candidate("User's home is Porto", 4))
        harness.learn(candidate(COMPLETE, 5))
        assert harness.asked == [PARTIAL, "home is Porto", COMPLETE], "without the person"


class TestRecords:
    def test_a_fact_is_keyed_by_id_and_routed_by_person(self) -> None:
        harness = Harness()
        harness.learn(candidate(PARTIAL, 1, user="bob"))
        output, _ = harness.outputs
        fact = harness.published[0]
        assert (output.topic, output.key, output.route) == (FACTS, fact.fact_id.encode(), b"bob")
        assert output.partition is None
        headers = dict(output.headers)
        assert (headers["ce_type"], headers["ce_subject"]) == (b"memory.fact.v1", b"bob")
        assert headers["ce_id"] == f"{fact.fact_id}/1".encode()


class TestReplay:
    def test_the_sources_have_marks_of_their_own(self) -> None:
        """A tombstone at a high offset must not hide a candidate at a low one, nor the reverse."""
        harness = Harness()
        harness.feed(harness.record(candidate(PARTIAL, 1), offset=3))
        harness.feed(harness.record(candidate(PARTIAL, 20), offset=4))
        fact = harness.published[0]
        key, headers = tombstone(fact, until=10)
        harness.feed(harness.record(None, FACTS, key=key, headers=headers, offset=70))
        assert harness.marks(fact) == (5, 71)
        harness.feed(harness.record(candidate(PARTIAL, 21), offset=5))
        assert harness.published[-1].evidence_count == 2
        assert harness.marks(fact) == (6, 71)


def tombstone(fact: Fact, until: int, version: int = 0) -> tuple[bytes, list[tuple[str, bytes]]]:
    """A tombstone of ours: what arrived up to ``until`` seconds is erased."""
    erasure = Erasure(until=START + timedelta(seconds=until), version=version)
    return fact.fact_id.encode(), [*tombstones.headers(erasure)]


class TestErasure:
    """Message ``n`` of a candidate arrived after ``n`` seconds."""

    def erase(self, harness: Harness, fact: Fact, until: int, version: int = 0) -> Effects:
        key, headers = tombstone(fact, until, version)
        return harness.feed(harness.record(None, FACTS, key=key, headers=headers))

    def test_the_stage_forgets_the_fact_with_a_tombstone(self) -> None:
        harness = Harness()
        harness.learn(candidate(PARTIAL, 1), candidate(PARTIAL, 2))
        fact = harness.published[-1]
        effects = self.erase(harness, fact, until=10)
        *forgotten, output = effects.outputs
        key, where = f"fact/{fact.fact_id}".encode(), harness.partition  # of the person's facts
        assert [(each.topic, each.key, each.value, each.partition) for each in forgotten] == [
            (EMBEDDINGS, key, None, where),
            (REQUESTS, key, None, where),
        ]
        assert (output.topic, output.key, output.value, output.route) == (
            FACTS,
            fact.fact_id.encode(),
            None,
            b"ada",
        )
        written = Record(None, output.key, headers=output.headers)
        erasure = Erasure(until=START + timedelta(seconds=10), version=2)
        assert tombstones.read(written) == (fact.fact_id, erasure)
        assert harness.stored() == {}

    @pytest.mark.parametrize(
        "headers",
        [
            [("erased_until", b"yesterday")],
            [("erased_until", b"\xff")],
            [("erased_until", b"2026-03-01T00:00:00Z"), ("erased_version", b"x")],
        ],
    )
    def test_headers_that_say_nothing_erase_nothing(self, headers: list[tuple[str, bytes]]) -> None:
        harness = Harness()
        harness.learn(candidate(PARTIAL, 1))
        key = harness.published[0].fact_id.encode()
        effects = harness.feed(harness.record(None, FACTS, key=key, headers=headers))
        assert not effects
        assert len(harness.stored()) == 1
