"""memory/embedding, called without a broker, on the real embedded Qdrant."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest
from memory_samples import WordEmbedder, candidate

from models.errors import DependencyUnavailable
from models.facts import EmbeddingRequest, EmbeddingResult, Fact
from models.ports import Embedder, FactFilter, Vectors
from processors.facts.consolidation import apply_candidate
from streams.adapters.onnx_embedder import DIMENSIONS, MODEL, OnnxEmbedder
from streams.adapters.qdrant_edge import QdrantEdgeIndex
from streams.agents.recall.embedding import EMBEDDINGS, Embedding
from streams.runtime.testing import StageHarness
from streams.settings import Settings

ADA = FactFilter(user_id="ada")


class Harness(StageHarness):
    """The stage around ``embedder`` and ``index``."""

    def __init__(self, embedder: Embedder, index: QdrantEdgeIndex) -> None:
        super().__init__(Embedding(Settings(), embedder, index).stage())
        self.embedder = embedder
        self.index = index

    @property
    def results(self) -> list[EmbeddingResult]:
        return self.values(EMBEDDINGS, EmbeddingResult)

    async def nearest(self, text: str) -> list[str]:
        (vector,) = await self.embedder.embed([text])
        return [found.fact.statement for found in await self.index.search_vector(vector, ADA, 1)]


FACTS = [
    apply_candidate(None, candidate(text))
    for text in ("drinks an espresso every morning", "works as a structural engineer", "plays the cello")
]


def request_for(fact: Fact, **changes: Any) -> EmbeddingRequest:
    request = EmbeddingRequest(
        fact_id=fact.fact_id, user_id=fact.user_id, version=fact.version, text=fact.statement
    )
    return msgspec.structs.replace(request, **changes)


@pytest.fixture
async def index(tmp_path: Path) -> AsyncIterator[QdrantEdgeIndex]:
    opened = QdrantEdgeIndex(tmp_path / "qdrant", WordEmbedder.dimensions)
    await opened.upsert_facts(FACTS)
    yield opened
    await opened.close()


@pytest.fixture
def embedder() -> WordEmbedder:
    return WordEmbedder()


@pytest.fixture
def harness(embedder: WordEmbedder, index: QdrantEdgeIndex) -> Harness:
    return Harness(embedder, index)


class TestVectors:
    async def test_vectors_are_stored_and_each_is_reported(self, harness: Harness) -> None:
        await harness.call(*[harness.record(request_for(fact)) for fact in FACTS])
        assert await harness.index.without_vector([fact.fact_id for fact in FACTS]) == set()
        assert [result.fact_id for result in harness.results] == [fact.fact_id for fact in FACTS]
        for fact in FACTS:
            assert await harness.nearest(fact.statement) == [fact.statement], "each has its own"

    async def test_a_result_says_what_was_stored(self, harness: Harness) -> None:
        request = request_for(FACTS[0], version=7, tenant_id="acme")
        await harness.call(harness.record(request))
        assert harness.results == [
            EmbeddingResult(
                fact_id=request.fact_id,
                user_id="ada",
                version=7,
                model="words-1",
                dimensions=64,
                tenant_id="acme",
            )
        ]
        (output,) = harness.outputs
        assert (output.key, output.route) == (request.fact_id.encode(), b"ada")

    async def test_a_batch_is_one_call_and_a_repeated_request_costs_nothing(
        self, harness: Harness, embedder: WordEmbedder
    ) -> None:
        first, second, _ = FACTS
        requests = [request_for(first), request_for(second), request_for(first, version=2)]
        await harness.call(*[harness.record(request) for request in requests])
        assert embedder.asked == [[first.statement, second.statement]]
        assert [(result.fact_id, result.version) for result in harness.results] == [
            (first.fact_id, 2),
            (second.fact_id, 1),
        ]

    async def test_a_replay_reports_again_and_stores_the_same(self, harness: Harness) -> None:
        """The facts stage ignores the second report; without it a fact might stay pending for ever."""
        record = harness.record(request_for(FACTS[0]))
        await harness.call(record)
        await harness.call(record)
        first, second = harness.results
        assert first == second
        assert await harness.nearest(FACTS[0].statement) == [FACTS[0].statement]

    async def test_a_fact_that_was_erased_meanwhile_stays_erased(self, harness: Harness) -> None:
        await harness.index.erase({FACTS[0].fact_id: FACTS[0].version})
        effects = await harness.call(harness.record(request_for(FACTS[0])))
        assert effects.dead_letters == []
        assert await harness.index.get([FACTS[0].fact_id]) == []

    async def test_the_real_model_finds_by_meaning(self, tmp_path: Path) -> None:
        index, embedder = QdrantEdgeIndex(tmp_path / "real", DIMENSIONS), OnnxEmbedder()
        await index.upsert_facts(FACTS)
        harness = Harness(embedder, index)
        await harness.call(*[harness.record(request_for(fact)) for fact in FACTS])
        assert await harness.nearest("coffee habits") == ["drinks an espresso every morning"]
        assert await harness.nearest("what instrument?") == ["plays the cello"]
        assert {(result.model, result.dimensions) for result in harness.results} == {(MODEL, DIMENSIONS)}
        await embedder.close()
        await index.close()


BAD: dict[str, Any] = {
    "null_value": None,
    "empty_value": b"",
    "invalid_utf8": b'{"fact_id":"\xff"}',
    "invalid_json": b"{not json",
    "invalid_field": b'{"fact_id":"f"}',
}


class TestBadInput:
    @pytest.mark.parametrize("reason", BAD)
    async def test_a_bad_record_is_dead_lettered_alone(self, harness: Harness, reason: str) -> None:
        bad = harness.record(BAD[reason], key=b"f")
        first, second, _ = [harness.record(request_for(fact)) for fact in FACTS]
        effects = await harness.call(first, bad, second)
        assert [(letter.record, letter.reason) for letter in effects.dead_letters] == [(bad, reason)]
        assert len(harness.results) == 2

    async def test_a_batch_of_bad_records_asks_for_nothing(
        self, harness: Harness, embedder: WordEmbedder
    ) -> None:
        effects = await harness.call(*[harness.record(value) for value in BAD.values()])
        assert [letter.reason for letter in effects.dead_letters] == [*BAD]
        assert embedder.asked == []


class TestDependencies:
    async def test_an_embedder_that_is_down_is_waited_for(self, index: QdrantEdgeIndex) -> None:
        class Down(WordEmbedder):
            async def embed(self, texts: Sequence[str]) -> Vectors:
                raise DependencyUnavailable("embedder", "429")

        harness = Harness(Down(), index)
        with pytest.raises(DependencyUnavailable, match="embedder"):
            await harness.call(harness.record(request_for(FACTS[0])))
        assert harness.outputs == []

    async def test_an_index_that_is_down_is_waited_for(self, harness: Harness) -> None:
        """No fact is called active whose vector was not stored."""
        await harness.index.close()
        with pytest.raises(DependencyUnavailable, match="qdrant"):
            await harness.call(harness.record(request_for(FACTS[0])))
        assert harness.outputs == []
