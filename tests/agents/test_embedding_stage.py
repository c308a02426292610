"""recall/embedding, called without a broker."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

import msgspec
import pytest
from word_embedder import WordEmbedder

from models.errors import DependencyUnavailable
from models.ids import text_fact_id, text_hash
from models.index import Vectors
from models.ports import Embedder
from models.vectors import EmbeddingRequest, EmbeddingResult, VectorKind
from processors.retrieval.embedding.vectors import pack, unpack
from processors.retrieval.embedding.wording import request_for
from streams.agents.recall.embedding import Building, Embedding
from streams.agents.vectors.requests import EMBEDDINGS, REQUESTS
from streams.clients.records import Record
from streams.config.settings import Settings
from streams.runtime.testing import StageHarness

ESPRESSO, ENGINEER, CELLO = (
    "drinks an espresso every morning",
    "works as a structural engineer",
    "plays the cello",
)


class Harness(StageHarness):
    """The stage around ``embedder``."""

    def __init__(self, embedder: Embedder) -> None:
        super().__init__(Embedding(Settings(), embedder).stage())
        self.embedder = embedder

    @property
    def results(self) -> list[EmbeddingResult]:
        return self.values(EMBEDDINGS, EmbeddingResult)


def request(text: str, kind: VectorKind = VectorKind.FACT, about: str = "", **changes: str) -> EmbeddingRequest:
    """A request for the vector of ``text``, for what ``about`` is the name of."""
    return request_for(
        kind, text_fact_id("default", "ada", about or text), text, "ada", changes.get("tenant", "default")
    )


@pytest.fixture
def embedder() -> WordEmbedder:
    return WordEmbedder()


@pytest.fixture
def harness(embedder: WordEmbedder) -> Harness:
    return Harness(embedder)


class TestVectors:
    async def test_each_text_gets_its_vector_in_half_precision(self, harness: Harness) -> None:
        texts = (ESPRESSO, ENGINEER, CELLO)
        await harness.call(*[harness.record(request(text)) for text in texts])
        expected = await harness.embedder.embed(texts)
        assert [result.text_hash for result in harness.results] == [text_hash(text) for text in texts]
        for result, vector in zip(harness.results, expected, strict=True):
            assert unpack(result) == pytest.approx(vector, abs=1e-3)
            assert len(result.vector) == 2 * result.dimensions

    async def test_a_batch_is_one_call_and_each_text_counts_once(
        self, harness: Harness, embedder: WordEmbedder
    ) -> None:
        first, second, repeated = request(CELLO), request(ENGINEER), request(CELLO, about="another")
        await harness.call(*[harness.record(each) for each in (first, second, repeated, first)])
        assert embedder.asked == [CELLO, ENGINEER]
        assert [result.id for result in harness.results] == [first.id, second.id, repeated.id]


class TestErasure:
    async def test_it_is_handed_on_in_its_place(self, harness: Harness, embedder: WordEmbedder) -> None:
        erased, anew = request(CELLO), request(ESPRESSO)
        keys = [f"fact/{each.id}".encode() for each in (erased, anew)]
        await harness.call(
            harness.record(erased),
            harness.record(None, key=keys[0]),
            harness.record(None, key=keys[1]),
            harness.record(anew),
        )
        assert [(output.key, output.value is None) for output in harness.outputs] == [
            (keys[0], True),
            (keys[1], False),
        ]
        assert embedder.asked == [ESPRESSO]
        assert {output.partition for output in harness.outputs} == {harness.partition}


async def test_an_embedder_that_is_down_is_waited_for() -> None:
    class Down(WordEmbedder):
        async def embed(self, texts: Sequence[str]) -> Vectors:
            raise DependencyUnavailable("embedder", "429")

    harness = Harness(Down())
    with pytest.raises(DependencyUnavailable, match="embedder"):
        await harness.call(harness.record(request(CELLO)))
    assert harness.outputs == []


class Purse:
    """Makes vectors for whom there is money; asks for all or some."""

    def __init__(self, embedder: Embedder) -> None:
        self.embedder = embedder
        self.broke: set[str] = set()
        self.asked: list[str] = []

    async def vectors(
        self, partition: int, asked: Mapping[bytes, EmbeddingRequest], *, some: bool = False
    ) -> dict[bytes, bytes]:
        if not some and self.broke & {request.tenant_id for request in asked.values()}:
            raise DependencyUnavailable("budget", "spent")
        paid = {key: request for key, request in asked.items() if request.tenant_id not in self.broke}
        self.asked += [request.text for request in paid.values()]
        made = await self.embedder.embed([request.text for request in paid.values()]) if paid else []
        return {key: pack(vector) for key, vector in zip(paid, made, strict=True)}


class Marks:
    """As much of an index as a stage asks for that waits: up to where it is filled."""

    def __init__(self, answered: int = 0) -> None:
        self.answered = answered

    async def marks(self, places: Sequence[tuple[str, int]]) -> dict[tuple[str, int], int]:
        return dict.fromkeys(places, self.answered)


class TestOverBudget:
    """A tenant that has spent its budget waits; nobody else does."""

    NIGHT = (datetime(2026, 3, 2, tzinfo=UTC)).timestamp()

    @pytest.fixture
    def purse(self, embedder: WordEmbedder) -> Purse:
        purse = Purse(embedder)
        purse.broke.add("acme")
        return purse

    @pytest.fixture
    def harness(self, embedder: WordEmbedder, purse: Purse) -> StageHarness:
        stage = Embedding(
            Settings(), embedder, purse, clock=lambda: datetime(2026, 3, 1, 22, 30, tzinfo=UTC)
        ).stage()
        return StageHarness(stage)

    def embedded(self, harness: StageHarness) -> list[str]:
        return [each.text_hash for each in harness.values(EMBEDDINGS, EmbeddingResult)]

    def embedded_or_erased(self, harness: StageHarness) -> list[str | None]:
        told = [each.value for each in harness.outputs if each.topic == EMBEDDINGS]
        return [value and msgspec.json.decode(value, type=EmbeddingResult).text_hash for value in told]

    def again(self, harness: StageHarness) -> list[Record]:
        """What the stage has asked for again so far, as it will read it."""
        asked = [each for each in harness.outputs if each.topic == REQUESTS]
        assert all(each.partition == harness.partition for each in asked)
        return [harness.record(each.value, key=each.key, headers=list(each.headers)) for each in asked]

    async def test_its_neighbours_go_on_until_midnight(self, harness: StageHarness, purse: Purse) -> None:
        theirs = request(CELLO, tenant="acme")
        await harness.call(harness.record(theirs), harness.record(request(ESPRESSO)))
        await harness.call(harness.record(request(ENGINEER)))
        assert self.embedded(harness) == [text_hash(ESPRESSO), text_hash(ENGINEER)]
        assert harness.timers == {f"fact/{theirs.id}".encode(): self.NIGHT}
        purse.broke.clear()
        harness.tick(datetime.fromtimestamp(self.NIGHT, UTC), *harness.timers)
        await harness.call(*self.again(harness))
        assert self.embedded(harness)[2:] == [text_hash(CELLO)]
        assert not [*harness.state.items()] and not harness.timers

    @pytest.mark.parametrize("in_one_batch", [True, False])
    @pytest.mark.parametrize("erased", [True, False])
    async def test_what_came_of_it_since_is_not_undone(
        self, harness: StageHarness, purse: Purse, in_one_batch: bool, erased: bool
    ) -> None:
        theirs = request(CELLO, about="it", tenant="acme")
        await harness.call(harness.record(theirs))
        harness.tick(datetime.fromtimestamp(self.NIGHT, UTC), *harness.timers)
        purse.broke.clear()
        newer = (
            harness.record(None, key=f"fact/{theirs.id}".encode())
            if erased
            else harness.record(request(ESPRESSO, about="it", tenant="acme"))
        )
        batches = [[newer, *self.again(harness)]] if in_one_batch else [[newer], self.again(harness)]
        for batch in batches:
            await harness.call(*batch)
        assert purse.asked == ([] if erased else [ESPRESSO])
        (told,) = [each for each in harness.outputs if each.topic == EMBEDDINGS]
        assert (told.value is None) is erased
        assert not [*harness.state.items()]

    async def test_after_an_answer_readers_find_the_request(self, harness: StageHarness, purse: Purse) -> None:
        """Compaction keeps the last record of each key: what asks again is none of the request's."""
        theirs = harness.record(request(CELLO, tenant="acme"))
        await harness.call(theirs)
        harness.tick(datetime.fromtimestamp(self.NIGHT, UTC), *harness.timers)
        purse.broke.clear()
        again = self.again(harness)
        await harness.call(*again)
        compacted = {record.key: record for record in (theirs, *again)}
        await harness.call(*compacted.values())
        assert purse.asked == [CELLO, CELLO]

    @pytest.mark.parametrize("erased", [True, False])
    async def test_a_rebuilt_index_gets_what_is_asked_again(
        self, harness: StageHarness, embedder: WordEmbedder, purse: Purse, erased: bool
    ) -> None:
        theirs = request(CELLO, about="it", tenant="acme")
        await harness.call(harness.record(theirs))
        newer = (
            harness.record(None, key=f"fact/{theirs.id}".encode())
            if erased
            else harness.record(request(ESPRESSO, about="it", tenant="acme"))
        )
        harness.tick(datetime.fromtimestamp(self.NIGHT, UTC), *harness.timers)
        assert all(CELLO.encode() not in (each.value or b"") for each in harness.outputs), "it may be erased"
        purse.broke.clear()
        anew = StageHarness(Embedding(Settings(), embedder, purse, Building(Marks(), "build")).stage())
        await anew.call(newer, *self.again(harness))
        assert self.embedded_or_erased(anew) == [None if erased else text_hash(ESPRESSO)]

    async def test_while_an_index_is_built_anew_it_waits_in_place(
        self, embedder: WordEmbedder, purse: Purse
    ) -> None:
        built = Building(Marks(), "build")
        harness = StageHarness(Embedding(Settings(), embedder, purse, built).stage())
        with pytest.raises(DependencyUnavailable, match="spent"):
            await harness.call(harness.record(request(CELLO, tenant="acme")))
        assert harness.spec.table is None
