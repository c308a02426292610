"""recall/vectors, called without a broker, on the real embedded Qdrant."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from memory_samples import fact, vector_of

from models.errors import DependencyUnavailable
from models.facts import Fact
from models.index import FactFilter, VectorSpace
from models.vectors import EmbeddingResult, VectorKind
from streams.agents.recall.index import Index
from streams.agents.recall.vectors import VectorViews
from streams.config.settings import Settings
from streams.runtime.testing import START, StageHarness
from streams.stores.qdrant_edge import QdrantEdgeIndex
from streams.stores.qdrant_kinds import FACTS as FACT_KIND

DIMENSIONS = 4
ADA = FactFilter(user_id="ada")
ONE, OTHER = np.eye(2, DIMENSIONS, dtype=np.float32)


class Harness(StageHarness):
    """The stage around an index of facts."""

    def __init__(self, index: QdrantEdgeIndex, kind: VectorKind = VectorKind.FACT) -> None:
        self.now = START
        super().__init__(VectorViews(Settings(turn_retention_days=30), {kind: index}, lambda: self.now).stage())
        self.index = index

    async def nearest(self, vector: Any) -> list[tuple[str, float]]:
        found = await self.index.search_vector(vector, ADA, 5)
        return [(each.item.statement, round(each.score, 2)) for each in found]

    def skipped(self, why: str) -> float:
        return self.last.counts.get(("skipped_records_total", ("vectors", why)), 0)


@pytest.fixture
async def harness(tmp_path: Path) -> AsyncIterator[Harness]:
    opened = QdrantEdgeIndex(tmp_path / "qdrant", FACT_KIND, VectorSpace("words-1", DIMENSIONS))
    yield Harness(opened)
    await opened.close()


TEA, CELLO = fact("likes tea"), fact("plays the cello")


def result(of: Fact, vector: Any, **changes: Any) -> EmbeddingResult:
    return vector_of(VectorKind.FACT, of.fact_id, vector, **{"model": "words-1"} | changes)


def key(of: Fact) -> bytes:
    return f"fact/{of.fact_id}".encode()


async def test_vectors_make_facts_found_by_meaning(harness: Harness) -> None:
    await harness.index.upsert([TEA, CELLO])
    effects = await harness.call(harness.record(result(TEA, ONE)), harness.record(result(CELLO, OTHER)))
    assert not effects, "a view writes nothing"
    assert await harness.nearest(OTHER) == [("plays the cello", 1.0), ("likes tea", 0.0)]


@pytest.mark.parametrize("erased_between", [False, True])
async def test_topics_that_overtake_each_other_lose_no_vector(harness: Harness, erased_between: bool) -> None:
    """The vector of a fact that begins anew may come before its tombstone is read."""
    facts = StageHarness(Index(Settings(), harness.index).stage())
    await facts.call(facts.record(TEA))
    await harness.call(harness.record(result(TEA, ONE)), harness.record(None, key=key(TEA)))
    await harness.call(harness.record(result(TEA, OTHER)))
    if erased_between:
        await facts.call(facts.record(None, key=TEA.fact_id.encode()))
        assert await harness.nearest(OTHER) == []
    await facts.call(facts.record(msgspec.structs.replace(TEA, version=TEA.version + 2)))
    assert await harness.nearest(OTHER) == [("likes tea", 1.0)]


async def test_a_vector_that_was_erased_is_gone(harness: Harness) -> None:
    await harness.index.upsert([TEA, CELLO])
    await harness.call(harness.record(result(TEA, ONE)), harness.record(result(CELLO, ONE)))
    await harness.call(harness.record(None, key=key(TEA)))
    assert await harness.nearest(ONE) == [("plays the cello", 1.0)]
    assert await harness.index.without_vector([TEA.fact_id]) == {TEA.fact_id}


async def test_vectors_of_another_model_are_left_out_and_counted(harness: Harness) -> None:
    """They have as many dimensions, and mean something else."""
    await harness.index.upsert([TEA, CELLO])
    effects = await harness.call(
        harness.record(result(TEA, ONE, model="words-2")), harness.record(result(CELLO, ONE))
    )
    assert effects.dead_letters == []
    assert harness.skipped("other_model") == 1
    assert await harness.nearest(ONE) == [("plays the cello", 1.0)]


async def test_an_index_that_is_down_is_waited_for(harness: Harness) -> None:
    await harness.index.close()
    with pytest.raises(DependencyUnavailable, match="qdrant"):
        await harness.call(harness.record(result(TEA, ONE)))
