"""Versions of a Qdrant server: what older ones lack is made up for, or refused."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import numpy as np
import pytest
from fact_samples import ADA, SPACE, make_fact, unit
from qdrant_client import models
from qdrant_stand_in import QdrantStandIn, a_qdrant

from models.errors import ConfigurationError
from models.facts import Fact
from models.index import FactFilter, Vectors
from streams.stores import qdrant_words
from streams.stores.qdrant_kinds import FACTS
from streams.stores.qdrant_requests import replace_if
from streams.stores.qdrant_server import QdrantServerIndex
from streams.stores.search import MemorySearch
from streams.stores.search.wanted import Wanted

Index = QdrantServerIndex[Fact, FactFilter]

WITHOUT_TEXT_QUERY = [(1, 16), (1, 17), (1, 18), (1, 19)]


@asynccontextmanager
async def an_index(url: str) -> AsyncIterator[Index]:
    index: Index = QdrantServerIndex(url, "facts", FACTS, SPACE)
    yield index
    await index.close()


@pytest.fixture(params=[*WITHOUT_TEXT_QUERY, (1, 20)], ids=str)
async def served(request: pytest.FixtureRequest) -> AsyncIterator[tuple[QdrantStandIn, str]]:
    async with a_qdrant(request.param) as found:
        yield found


async def test_words_are_ranked_whatever_the_version(served: tuple[QdrantStandIn, str]) -> None:
    qdrant, url = served
    facts = [
        make_fact("Ada likes blueberries and coffee"),
        make_fact("Ada drinks coffee, coffee and coffee"),
        make_fact("Ada likes the blueberries of Bob"),
        make_fact("Bob drinks coffee", user_id="bob"),
        make_fact("Ada likes tea"),
    ]
    async with an_index(url) as index:
        await index.upsert(facts)
        found = await index.search_text("blueberries with coffee", ADA, 2)
        assert len(found) == 2 and found[0].item == facts[0]
        assert found[0].score > found[1].score > 0
        everything = await index.search_text("blueberries with coffee", ADA, 50)
        assert {each.item.statement for each in everything} == {each.statement for each in facts[:3]}
        assert await index.search_text("the", ADA, 5) == [] or qdrant.version == (1, 20)
        assert index.is_degraded == (qdrant.version < (1, 20))
        assert bool(qdrant.text_queries) == (qdrant.version >= (1, 20))


async def test_an_older_write_replaces_no_newer_one(served: tuple[QdrantStandIn, str]) -> None:
    """Another process has written a newer version since the versions were read."""
    _, url = served
    newer = make_fact(version=3)
    async with an_index(url) as index:
        await index.upsert([newer])
        late = make_fact(version=2)
        await index._collection.insert({late.fact_id: FACTS.to_payload(late)})
        replacing = replace_if(models.Range(lt=2), late.fact_id, FACTS.to_payload(late))
        await index._client.batch_update_points("facts", [replacing])
        await index.store_vectors([late.fact_id], np.array([unit(1.0)]), SPACE.model)
        assert await index.get([newer.fact_id]) == [newer]
        await index.erase({newer.fact_id: 3})
        await index.upsert([late])
        assert await index.get([newer.fact_id]) == []


@pytest.mark.parametrize("version", [(1, 9), (1, 15)], ids=str)
async def test_a_version_that_loses_newer_writes_is_refused(version: tuple[int, int]) -> None:
    async with a_qdrant(version) as (_, url), an_index(url) as index:
        said = re.escape(f"{version[0]}.{version[1]}.3")
        with pytest.raises(
            ConfigurationError, match=f"version {said}, in which .* upgrade it to 1.16 or newer"
        ):
            await index.marks([("memory.facts.v1", 0)])
        assert not await index._client.collection_exists("facts")


async def test_only_so_many_texts_are_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(qdrant_words, "MOST_TEXTS", 20)
    monkeypatch.setattr(qdrant_words, "_PAGE", 8)
    async with a_qdrant((1, 19)) as (_, url), an_index(url) as index:
        await index.upsert([make_fact(f"Ada likes coffee number {number}") for number in range(60)])
        assert len(await index.search_text("coffee", ADA, 50)) == 24


async def test_a_server_that_was_upgraded_ranks_words_itself() -> None:
    async with a_qdrant((1, 19)) as (qdrant, url):
        async with an_index(url) as index:
            await index.upsert([make_fact()])
        qdrant.version = (1, 20)
        async with an_index(url) as index:
            assert [each.item for each in await index.search_text("blueberries", ADA, 5)] == [make_fact()]
            assert qdrant.text_queries == 1 and not index.is_degraded


class Embedder:
    """Makes the same vector of everything."""

    model, dimensions = SPACE

    async def embed(self, texts: list[str]) -> Vectors:
        return np.array([unit(1.0)] * len(texts))


async def test_a_search_says_that_it_is_degraded(served: tuple[QdrantStandIn, str]) -> None:
    qdrant, url = served
    async with an_index(url) as index:
        await index.upsert([make_fact()])
        search = MemorySearch(index, Embedder())  # type: ignore[arg-type]
        found = await search.search(Wanted(query="What does Ada like?", user_id="ada"))
        assert found.degraded == (qdrant.version < (1, 20))
