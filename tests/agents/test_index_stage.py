"""recall/index, called without a broker, on the real embedded Qdrant."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest
from memory_samples import fact

from models.errors import DependencyUnavailable
from models.facts import Erasure, Fact, FactChange
from models.index import FactFilter, VectorSpace
from streams.agents.memory import tombstones
from streams.agents.recall.index import FACTS, Index
from streams.config.settings import Settings
from streams.runtime.testing import START, StageHarness
from streams.stores.qdrant_edge import QdrantEdgeIndex
from streams.stores.qdrant_kinds import FACTS as FACT_KIND

DIMENSIONS = 4
ADA = FactFilter(user_id="ada")


class Harness(StageHarness):
    """The stage around ``index``."""

    def __init__(self, index: Any) -> None:
        super().__init__(Index(Settings(), index).stage())
        self.index = index

    def tombstone(self, fact: Fact) -> Any:
        return self.record(None, key=fact.fact_id.encode())

    async def found(self, words: str) -> list[str]:
        return [found.item.statement for found in await self.index.search_text(words, ADA, 10)]


@pytest.fixture
async def index(tmp_path: Path) -> AsyncIterator[QdrantEdgeIndex]:
    opened = QdrantEdgeIndex(tmp_path / "qdrant", FACT_KIND, VectorSpace("words-1", DIMENSIONS))
    yield opened
    await opened.close()


@pytest.fixture
def harness(index: QdrantEdgeIndex) -> Harness:
    return Harness(index)


def reinforced(before: Fact, times: int = 1) -> Fact:
    return msgspec.structs.replace(
        before,
        version=before.version + times,
        change=FactChange.REINFORCED,
        evidence_count=before.evidence_count + times,
    )


def begun_anew(before: Fact, version: int) -> Fact:
    """The fact as somebody said it again after it was erased."""
    return msgspec.structs.replace(before, version=version, erased_until=START)


class TestStoring:
    async def test_a_fact_is_found_by_its_words_at_once(self, harness: Harness) -> None:
        await harness.call(harness.record(fact()), harness.record(fact("plays the cello")))
        assert await harness.found("blueberry") == ["likes blueberries"]
        assert await harness.index.get([fact().fact_id]) == [fact()]

    async def test_the_newest_of_a_batch_wins_wherever_it_stands(self, harness: Harness) -> None:
        """After a crash, or from a worker that came back from the dead, older versions follow newer ones."""
        newest = reinforced(fact(), 5)
        records = [fact(), newest, reinforced(fact(), 2)]
        await harness.call(*[harness.record(each) for each in records])
        assert await harness.index.get([newest.fact_id]) == [newest]

    async def test_the_order_of_fact_and_tombstone_in_a_batch_counts(self, harness: Harness) -> None:
        gone, back = fact("gone"), fact("back")
        await harness.call(
            harness.record(gone), harness.tombstone(gone), harness.tombstone(back), harness.record(back)
        )
        assert await harness.index.get([gone.fact_id, back.fact_id]) == [back]

    @pytest.mark.parametrize("batches", [1, 2, 3])
    async def test_a_fact_may_begin_anew_after_its_tombstone(self, harness: Harness, batches: int) -> None:
        """The facts stage goes on counting, so what is no newer than the erased version is a late copy."""
        old, new = reinforced(fact(), 8), begun_anew(fact(), 10)
        records = [
            harness.record(old),
            harness.tombstone(old),
            harness.record(reinforced(fact(), 3)),
            harness.record(new),
            harness.record(old),
        ]
        for at in range(0, len(records), -(-len(records) // batches)):
            await harness.call(*records[at : at + -(-len(records) // batches)])
        assert await harness.index.get([new.fact_id]) == [new]

    async def test_a_topic_read_again_spares_new_conversations(self, harness: Harness) -> None:
        """Its old tombstone comes by while the newer life is stored."""
        old, new = reinforced(fact(), 8), begun_anew(fact(), 10)
        records = [harness.record(old), harness.tombstone(old), harness.record(new)]
        for _ in range(2):
            for record in records:
                await harness.call(record)
                stored = await harness.index.get([new.fact_id])
            assert stored == [new]
        assert await harness.index.get([new.fact_id]) == [new]

    async def test_the_facts_stages_own_tombstone_says_what_it_erases(self, harness: Harness) -> None:
        erasure = Erasure(until=START - timedelta(days=3), version=7)
        record = harness.record(None, key=fact().fact_id.encode(), headers=tombstones.headers(erasure))
        assert (await harness.call(record)).outputs == [], "a view writes nothing"
        await harness.call(harness.record(reinforced(fact(), 6)))
        assert await harness.index.get([fact().fact_id]) == [], "version 7 never came by, and may no more"
        await harness.call(harness.record(reinforced(fact(), 7)))
        assert len(await harness.index.get([fact().fact_id])) == 1


class TestDependencies:
    async def test_an_index_that_is_down_is_waited_for(self, harness: Harness) -> None:
        await harness.index.close()
        with pytest.raises(DependencyUnavailable, match="qdrant"):
            await harness.call(harness.record(fact()))
        assert harness.outputs == []


async def test_the_index_says_how_far_it_was_filled(harness: Harness) -> None:
    place = (FACTS, harness.partition)
    assert harness.spec.view_marks is not None
    assert await harness.spec.view_marks([place]) == {place: 0}
    await harness.call(harness.record(fact(), offset=40), harness.record(b"{not json", FACTS, offset=41))
    assert await harness.spec.view_marks([place]) == {place: 42}


async def test_a_batch_that_was_not_written_leaves_the_mark(index: QdrantEdgeIndex) -> None:
    harness = Harness(index)
    await harness.call(harness.record(fact()))
    index._disk.minimum_free_bytes = 2**60
    with pytest.raises(DependencyUnavailable, match="free some space"):
        await harness.call(harness.record(fact("plays the cello")))
    assert await index.marks([(FACTS, harness.partition)]) == {(FACTS, harness.partition): 1}
