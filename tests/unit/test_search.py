"""Search by meaning and by words at once."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from models import ids
from models.errors import DependencyUnavailable
from models.facts import Fact, FactChange, FactStatus
from models.ports import FactIndex, Found, Vectors, VectorSpace
from models.statements import Kind
from streams.adapters.qdrant_edge import QdrantEdgeIndex
from streams.adapters.qdrant_kinds import FACTS as FACT_KIND
from streams.search import FactSearch, fuse

DIMENSIONS = 256


class WordEmbedder:
    """Bags of words: each word has a direction of its own, and ``meanings`` gives words a common one."""

    model = "words"
    dimensions = DIMENSIONS

    def __init__(self, meanings: dict[str, str] | None = None) -> None:
        self.meanings = meanings or {}
        self.error: Exception | None = None
        self.hangs = False

    async def embed(self, texts: Sequence[str]) -> Vectors:
        if self.error is not None:
            raise self.error
        if self.hangs:
            await asyncio.sleep(3600)
        rows = np.zeros((len(texts), DIMENSIONS), dtype=np.float32)
        for row, text in zip(rows, texts, strict=True):
            for word in text.casefold().split():
                meaning = self.meanings.get(word, word)
                row[int(hashlib.sha1(meaning.encode()).hexdigest(), 16) % DIMENSIONS] += 1.0
            row /= np.linalg.norm(row)
        return rows


def make_fact(
    statement: str,
    status: FactStatus = FactStatus.ACTIVE,
    confidence: float = 0.7,
    user_id: str = "ada",
    tenant_id: str = "default",
) -> Fact:
    now = datetime.now(UTC)
    return Fact(
        fact_id=ids.text_fact_id(tenant_id, user_id, statement),
        slot_id=ids.slot_id(tenant_id, user_id, "", ""),
        user_id=user_id,
        kind=Kind.PREFERENCE,
        statement=statement,
        confidence=confidence,
        status=status,
        change=FactChange.CREATED,
        version=1,
        evidence_count=1,
        provenance=(),
        valid_from=now,
        learned_at=now,
        changed_at=now,
        last_evidence_at=now,
        tenant_id=tenant_id,
    )


@pytest.fixture
def embedder() -> WordEmbedder:
    return WordEmbedder({"beverage": "coffee", "espresso": "coffee"})


@pytest.fixture
async def index(tmp_path: Path) -> AsyncIterator[FactIndex]:
    opened = QdrantEdgeIndex(tmp_path, FACT_KIND, VectorSpace("words-1", DIMENSIONS))
    yield opened
    await opened.close()


async def store(index: FactIndex, embedder: WordEmbedder, *facts: Fact, waiting: Sequence[Fact] = ()) -> None:
    """Store the facts, and the vectors of all but those that are ``waiting`` for theirs."""
    await index.upsert([*facts, *waiting])
    embedded = list(facts)
    if embedded:
        vectors = await embedder.embed([fact.statement for fact in embedded])
        await index.store_vectors([fact.fact_id for fact in embedded], vectors, "words-1")


async def test_finds_by_meaning_what_shares_no_word(index: FactIndex, embedder: WordEmbedder) -> None:
    fact = make_fact("espresso daily")
    await store(index, embedder, fact, make_fact("lives near Lisbon"))
    found = await FactSearch(index, embedder).search("beverage", "ada")
    assert found[0].fact == fact
    assert not found.degraded


async def test_a_fact_without_a_vector_is_found_by_its_words(index: FactIndex, embedder: WordEmbedder) -> None:
    waiting = make_fact("drinks coffee at noon")
    others = [make_fact(f"coffee note{number}") for number in range(8)]
    await store(index, embedder, *others, waiting=[waiting])
    found = await FactSearch(index, embedder).search("coffee at noon", "ada", limit=3)
    assert found[0].fact == waiting


async def test_each_fact_once_and_no_more_than_asked_for(index: FactIndex, embedder: WordEmbedder) -> None:
    await store(index, embedder, *(make_fact(f"coffee note{number}") for number in range(30)))
    search = FactSearch(index, embedder)
    found = await search.search("coffee", "ada", limit=7)
    assert len(found) == len({result.fact.fact_id for result in found}) == 7
    assert len(await search.search("coffee", "ada", limit=30)) == 30
    assert await search.search("coffee", "ada", limit=0) == []


async def test_only_active_facts_of_this_person_that_are_sure_enough(
    index: FactIndex, embedder: WordEmbedder
) -> None:
    wanted = {"coffee active", "coffee just enough"}
    await store(
        index,
        embedder,
        make_fact("coffee active"),
        make_fact("coffee just enough", confidence=0.31),
        make_fact("coffee unsure", confidence=0.29),
        make_fact("coffee deprecated", FactStatus.DEPRECATED),
        make_fact("coffee merged", FactStatus.MERGED_INTO),
        make_fact("coffee of bob", user_id="bob"),
        make_fact("coffee of acme", tenant_id="acme"),
    )
    search = FactSearch(index, embedder)
    found = await search.search("coffee", "ada", limit=20)
    assert {result.fact.statement for result in found} == wanted
    [other] = await search.search("coffee", "ada", tenant_id="acme")
    assert other.fact.statement == "coffee of acme"
    sure = await search.search("coffee", "ada", minimum_confidence=0.5)
    assert {result.fact.statement for result in sure} == {"coffee active"}


@pytest.mark.parametrize("how", ["fails", "hangs"])
async def test_words_alone_while_the_embedder_is_down(
    index: FactIndex, embedder: WordEmbedder, how: str
) -> None:
    fact = make_fact("likes coffee")
    await store(index, embedder, fact, make_fact("likes tea"))
    search = FactSearch(index, embedder, embed_timeout=0.05)
    embedder.error = DependencyUnavailable("embedder", "down") if how == "fails" else None
    embedder.hangs = how == "hangs"
    found = await search.search("coffee", "ada")
    assert [result.fact for result in found] == [fact]
    assert found.degraded
    embedder.error, embedder.hangs = None, False
    assert not (await search.search("coffee", "ada")).degraded


async def test_a_mistake_in_the_embedder_is_not_hidden(index: FactIndex, embedder: WordEmbedder) -> None:
    embedder.error = ZeroDivisionError()
    with pytest.raises(ZeroDivisionError):
        await FactSearch(index, embedder).search("coffee", "ada")


async def test_an_index_that_is_down_is_no_empty_result(index: FactIndex, embedder: WordEmbedder) -> None:
    await index.close()
    with pytest.raises(DependencyUnavailable):
        await FactSearch(index, embedder).search("coffee", "ada")


@pytest.mark.parametrize("query", ["", "   ", "\n\t"])
async def test_a_blank_query_finds_nothing(index: FactIndex, embedder: WordEmbedder, query: str) -> None:
    await store(index, embedder, make_fact("likes coffee"))
    assert await FactSearch(index, embedder).search(query, "ada") == []


FACTS = [make_fact(f"fact {number}") for number in range(8)]
WAITING = {fact.fact_id for fact in FACTS[1::2]}
rankings = st.lists(st.sampled_from(FACTS), unique=True).map(
    lambda facts: [Found(fact, 1.0 - rank / 10) for rank, fact in enumerate(facts)]
)


@given(by_meaning=rankings, by_words=rankings)
def test_fusing_keeps_every_fact_once_with_scores_in_order(
    by_meaning: list[Found[Fact]], by_words: list[Found[Fact]]
) -> None:
    fused = fuse(by_meaning, by_words)
    scores = [found.score for found in fused]
    assert len(fused) == len({found.fact.fact_id for found in fused})
    assert {found.fact for found in fused} == {found.item for found in (*by_meaning, *by_words)}
    assert scores == sorted(scores, reverse=True)
    assert all(0.0 < score <= 1.0 for score in scores)


@given(by_meaning=rankings, by_words=rankings)
def test_a_fact_ahead_in_both_rankings_stays_ahead(
    by_meaning: list[Found[Fact]], by_words: list[Found[Fact]]
) -> None:
    """Of two facts that both have a vector."""
    order = [found.fact for found in fuse(by_meaning, by_words)]
    meaning, words = ([found.item for found in ranking] for ranking in (by_meaning, by_words))
    both = [fact for fact in meaning if fact in words]
    for one in both:
        for other in both:
            if meaning.index(one) < meaning.index(other) and words.index(one) < words.index(other):
                assert order.index(one) < order.index(other)


@given(by_meaning=rankings.filter(bool), by_words=rankings.filter(bool))
def test_the_best_match_by_words_is_in_front_if_it_has_no_vector(
    by_meaning: list[Found[Fact]], by_words: list[Found[Fact]]
) -> None:
    first = by_words[0].item
    by_meaning = [found for found in by_meaning if found.item.fact_id not in WAITING]
    if first.fact_id in WAITING:
        assert fuse(by_meaning, by_words, WAITING)[0].fact == first
