"""Whatever is delivered again, however often and from however far back: the facts are the same."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from random import Random
from typing import NamedTuple

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from models.facts import Category, Erasure, Fact, FactCandidate, FactStatus, Provenance
from models.ids import candidate_id, fact_id
from processors.facts.consolidation import consolidate
from processors.facts.evidence import PROVENANCE_LIMIT
from streams.agents.memory import tombstones
from streams.agents.memory.facts import CANDIDATES, FACT, FACTS, Facts
from streams.runtime.effects import Output
from streams.runtime.marks import Layout
from streams.runtime.records import Record
from streams.runtime.testing import StageHarness
from streams.settings import Settings

NOON = datetime(2025, 3, 1, 12, tzinfo=UTC)
STATEMENTS = ["User likes tea", "User likes tea, with milk", "User likes tea, with milk and honey"]
PARTITIONS = 3


class Said(NamedTuple):
    statement: int
    conversation: int
    refines: frozenset[int]
    confidence: float


SAID = st.builds(
    Said,
    statement=st.integers(0, len(STATEMENTS) - 1),
    conversation=st.integers(0, 5),
    refines=st.frozensets(st.integers(0, len(STATEMENTS) - 1), max_size=2),
    confidence=st.floats(0, 1),
)
#: Long enough that provenance overflows.
HISTORIES = st.lists(SAID, min_size=1, max_size=3 * PROVENANCE_LIMIT)


def candidates(history: list[Said]) -> list[FactCandidate]:
    """One window each, in offset order, as one run of the extraction stage would publish them."""
    found = []
    for offset, said in enumerate(history):
        own = fact_id("default", "ann", STATEMENTS[said.statement])
        evidence = Provenance(
            conversation_id=f"c{said.conversation}",
            window_id=f"w{offset}",
            window_end_id=f"m{offset}",
            message_ids=(f"m{offset}",),
            quote="tea",
            topic="chat.messages.v1",
            partition=said.conversation % PARTITIONS,
            offsets=(offset,),
            arrived_at=NOON + timedelta(seconds=offset // 3),
        )
        found.append(
            FactCandidate(
                candidate_id=candidate_id(own, f"c{said.conversation}", evidence.message_ids),
                user_id="ann",
                category=Category.PREFERENCE,
                statement=STATEMENTS[said.statement],
                confidence=said.confidence,
                source_message_ids=evidence.message_ids,
                provenance=evidence,
                valid_from=NOON + timedelta(minutes=offset),
                extractor="test",
                refines=tuple(fact_id("default", "ann", STATEMENTS[n]) for n in sorted(said.refines)),
            )
        )
    return found


def deliver(facts: dict[str, Fact], each: FactCandidate) -> list[Fact]:
    """Apply one candidate, checking every published change on the way."""
    changes = consolidate(each, facts.get)
    for fact in changes:
        before = facts.get(fact.fact_id)
        assert fact.version == (1 if before is None else before.version + 1)
        assert before is None or fact.evidence_count >= before.evidence_count
        assert 0.0 <= fact.confidence <= 1.0
        assert len({evidence.window_id for evidence in fact.provenance}) == len(fact.provenance)
        assert len(fact.provenance) <= min(fact.evidence_count, PROVENANCE_LIMIT)
        facts[fact.fact_id] = fact
    return changes


@given(HISTORIES, st.data())
@settings(deadline=None)
def test_replaying_prefixes_changes_nothing(history: list[Said], data: st.DataObject) -> None:
    stream = candidates(history)
    once: dict[str, Fact] = {}
    for each in stream:
        deliver(once, each)

    again: dict[str, Fact] = {}
    position = 0
    rewinds = data.draw(st.lists(st.integers(0, len(stream)), max_size=4))
    for stop in [*rewinds, len(stream)]:
        for each in stream[:stop] if stop <= position else stream[position:stop]:
            changes = deliver(again, each)
            assert stop > position or not changes
        position = max(position, stop)
    assert again == once


@given(HISTORIES)
@settings(deadline=None)
def test_every_piece_of_evidence_is_counted_once(history: list[Said]) -> None:
    facts: dict[str, Fact] = {}
    for each in candidates(history):
        deliver(facts, each)
    live = [fact for fact in facts.values() if fact.status is not FactStatus.MERGED_INTO]
    assert sum(fact.evidence_count for fact in live) == len(history)
    for fact in facts.values():
        if fact.status is FactStatus.MERGED_INTO:
            assert fact.merged_into_id in facts


class Schedule:
    """Drives the facts stage: candidates in order; what it wrote itself, and tombstones, when chance has it."""

    def __init__(
        self, stream: Sequence[FactCandidate], erasures: Mapping[str, Erasure], chance: Random
    ) -> None:
        self.harness = StageHarness(Facts(Settings()).stage())
        self._chance = chance
        self._erasures = dict(erasures)
        self._candidates = [self.harness.record(each) for each in stream]
        self._fed: list[tuple[list[Record], int]] = []
        self._seen = 0

    def run(self) -> None:
        """Feed everything, in batches of any size; now and then read again what was read before."""
        waiting = list(self._candidates)
        while waiting:
            match self._chance.randint(0, 5):
                case 5:
                    self._hear()
                case 4 if self._erasures:
                    self._erase()
                case 3:
                    self._crash()
                case _:
                    count = self._chance.randint(1, len(waiting))
                    self._feed(waiting[:count])
                    del waiting[:count]
        while self._erasures:
            self._erase()

    def facts(self) -> list[Fact]:
        """The facts that the topic ends with: the latest value of each key."""
        return [msgspec.json.decode(value, type=Fact) for value in self.topic().values()]

    def topic(self) -> dict[bytes, bytes]:
        """The latest value of each key of the topic, byte for byte."""
        latest: dict[bytes, bytes] = {}
        for output in self.harness.outputs:
            if output.topic != FACTS:
                continue
            assert output.key is not None
            latest.pop(output.key, None)
            if output.value is not None:
                latest[output.key] = output.value
        return latest

    def _hear(self) -> None:
        """Read some of what was published since the last time."""
        new = [output for output in self.harness.outputs[self._seen :] if output.topic == FACTS]
        self._seen = len(self.harness.outputs)
        if new:
            self._feed([self._own(output) for output in new])

    def _own(self, output: Output) -> Record:
        return self.harness.record(output.value, FACTS, key=output.key, headers=output.headers)

    def _erase(self) -> None:
        wanted_id, erasure = self._erasures.popitem()
        headers = tombstones.headers(erasure)
        self._feed([self.harness.record(None, FACTS, key=wanted_id.encode(), headers=headers)])

    def _feed(self, records: list[Record]) -> None:
        self._fed.append((records, len(self.harness.changelog)))
        self.harness.feed(*records)

    def _crash(self) -> None:
        """Lose some of the state, and read again what follows, cut and interleaved in another way.

        What was published stays published.
        """
        if not self._fed:
            return
        at = self._chance.randint(0, len(self._fed) - 1)
        self.harness.recover(self._chance.randint(self._fed[at][1], len(self.harness.changelog)))
        first = self._chance.randint(0, at)
        again = [record for records, _ in self._fed[first:] for record in records]
        del self._fed[first:]
        sources = {source: [each for each in again if each.topic == source] for source in (CANDIDATES, FACTS)}
        while left := [source for source in sources if sources[source]]:
            records = sources[self._chance.choice(left)]
            count = self._chance.randint(1, len(records))
            self._feed(records[:count])
            del records[:count]


@given(HISTORIES, st.randoms(use_true_random=False), st.randoms(use_true_random=False))
@settings(deadline=None, max_examples=60)
def test_any_cut_and_any_interleaving_end_in_equal_facts(
    history: list[Said], one_way: Random, another: Random
) -> None:
    """Byte for byte, versions and times included."""
    stream = candidates(history)
    first, second = Schedule(stream, {}, one_way), Schedule(stream, {}, another)
    first.run()
    second.run()
    assert first.topic() == second.topic()


@given(HISTORIES, st.randoms(use_true_random=False))
@settings(deadline=None, max_examples=30)
def test_a_replay_after_a_reset_publishes_nothing(history: list[Said], chance: Random) -> None:
    """The table begins with what the topic holds, without marks."""
    stream = candidates(history)
    live = Schedule(stream, {}, chance)
    live.run()
    again = StageHarness(Facts(Settings()).stage())
    for key, value in live.topic().items():
        payload = FACT.encode(msgspec.json.decode(value, type=Fact))
        again.changelog.append((key, Layout(again.spec.sources).seal(None, payload, 0, None)))
    again.recover()
    for each in stream:
        assert again.feed(again.record(each)).outputs == []


def essence(fact: Fact) -> tuple[object, ...]:
    """What an erasure leaves of a fact whenever it is learned of.

    The rest tells how it went: an evidence that was counted before it was erased has left its mark on the
    version, the confidence and the latest change.
    """
    return fact.fact_id, fact.status, fact.evidence_count, frozenset(fact.provenance), fact.recorded_at


@given(
    HISTORIES,
    st.dictionaries(st.integers(0, len(STATEMENTS) - 1), st.integers(-1, PROVENANCE_LIMIT), min_size=1),
    st.randoms(use_true_random=False),
    st.randoms(use_true_random=False),
)
@settings(deadline=None, max_examples=60)
def test_whenever_an_erasure_is_learned_of_nothing_of_what_was_said_by_then_is_left(
    history: list[Said], erased: dict[int, int], one_way: Random, another: Random
) -> None:
    stream = candidates([said._replace(refines=frozenset()) for said in history][:PROVENANCE_LIMIT])
    erasures = {
        fact_id("default", "ann", STATEMENTS[which]): Erasure(until=NOON + timedelta(seconds=at))
        for which, at in erased.items()
    }
    first, second = Schedule(stream, erasures, one_way), Schedule(stream, erasures, another)
    first.run()
    second.run()
    assert {*map(essence, first.facts())} == {*map(essence, second.facts())}
    for fact in first.facts():
        erasure = erasures.get(fact.fact_id)
        assert erasure is None or all(each.arrived_at > erasure.until for each in fact.provenance)
    said = [each for each in stream if not _is_erased(each, erasures)]
    assert sum(fact.evidence_count for fact in first.facts()) == len(said)


def _is_erased(each: FactCandidate, erasures: Mapping[str, Erasure]) -> bool:
    erasure = erasures.get(fact_id(each.tenant_id, each.user_id, each.statement))
    return erasure is not None and each.provenance.arrived_at <= erasure.until
