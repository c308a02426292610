"""Versions of a Qdrant server: what older ones lack is made up for, or refused."""

from __future__ import annotations

import asyncio
import json
import os
import re
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import numpy as np
import pytest
from fact_samples import ADA, SPACE, make_fact, unit
from qdrant_client import models
from qdrant_stand_in import QdrantStandIn, a_qdrant
from starlette.responses import HTMLResponse, JSONResponse, Response

from models.errors import ConfigurationError
from models.facts import Fact
from models.index import FactFilter, Vectors
from streams.config.exits import EXIT_CONFIGURATION
from streams.config.settings import Settings
from streams.server.serve import index_server
from streams.stores import qdrant_words
from streams.stores.qdrant_kinds import FACTS
from streams.stores.qdrant_requests import replace_if
from streams.stores.qdrant_server import QdrantServerIndex
from streams.stores.search import MemorySearch
from streams.stores.search.wanted import Wanted
from streams.telemetry.health import INDEX_SERVER, HealthState

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


UNREADABLE = {"a word": ("dev", "'dev', which cannot be read"), "a gateway": (None, "is not told")}
FOREIGN = {
    "another database": JSONResponse({"name": "node", "version": {"number": "8.1.0"}}),
    "another engine with a version": JSONResponse({"title": "weaviate", "version": "1.30.0"}),
    "a web page": HTMLResponse("<html>Welcome</html>"),
}


def unreadable(version: str | None) -> Response:
    if version is None:
        return Response("nothing here", status_code=404)
    return JSONResponse({"title": "qdrant - vector search engine", "version": version})


@pytest.mark.parametrize(("version", "said"), UNREADABLE.values(), ids=UNREADABLE)
async def test_an_unreadable_version_stays_unchecked_and_is_told(version: str | None, said: str) -> None:
    health = HealthState(60)
    async with a_qdrant((1, 20)) as (qdrant, url), an_index(url) as index:
        qdrant.says = unreadable(version)
        await index.upsert([make_fact()])
        assert len(await index.search_text("blueberries", ADA, 5)) == 1
        assert index.is_degraded
        assert await index_server.check(Settings(qdrant_url=url), health)
    told = str(health.details()[INDEX_SERVER])
    assert told.startswith("unchecked: ") and said in told and "1.16 or newer" in told


@pytest.mark.parametrize("answer", FOREIGN.values(), ids=FOREIGN)
async def test_another_program_is_refused(answer: Response) -> None:
    async with a_qdrant((1, 20)) as (qdrant, url), an_index(url) as index:
        qdrant.says = answer
        with pytest.raises(ConfigurationError, match="is no Qdrant server: set SWITCHBOARD_QDRANT_URL"):
            await index.marks([("memory.facts.v1", 0)])


async def test_serve_refuses_at_its_start_what_a_search_would_refuse() -> None:
    async with a_qdrant((1, 9)) as (_, url), an_index(url) as index:
        with pytest.raises(ConfigurationError) as refused:
            await index.count()
        kept = {name: value for name, value in os.environ.items() if not name.startswith("SWITCHBOARD_")}
        given = {"QDRANT_URL": url, "LOG_FORMAT": "json", "METRICS_PORT": "0", "API_PORT": "0"}
        done = await asyncio.to_thread(
            subprocess.run,
            [sys.executable, "-m", "streams.cli", "serve"],
            env=kept | {f"SWITCHBOARD_{name}": value for name, value in given.items()},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
    assert done.returncode == EXIT_CONFIGURATION, done.stderr
    assert json.loads(done.stderr.splitlines()[-1])["error"] == str(refused.value)


async def test_serve_starts_without_qdrant_and_checks_it_later(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(index_server, "_AGAIN_SECONDS", 0)
    health = HealthState(60)
    async with a_qdrant((1, 9)) as (qdrant, url):
        settings = Settings(qdrant_url=url)
        qdrant.says = Response("starting", status_code=503)
        assert not await index_server.check(settings, health)
        assert "unchecked: qdrant" in str(health.details()[INDEX_SERVER])
        checking = asyncio.create_task(index_server.check_until_known(settings, health))
        qdrant.says = None
        async with asyncio.timeout(30):
            while "upgrade it to 1.16" not in str(health.details()[INDEX_SERVER]):
                await asyncio.sleep(0.02)
        qdrant.version = (1, 20)
        await asyncio.wait_for(checking, 30)
        assert health.details()[INDEX_SERVER] is None


async def test_only_so_many_texts_are_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(qdrant_words, "MOST_TEXTS", 20)
    monkeypatch.setattr(qdrant_words, "_PAGE", 8)
    async with a_qdrant((1, 19)) as (_, url), an_index(url) as index:
        await index.upsert([make_fact(f"Ada likes coffee number {number}") for number in range(60)])
        assert len(await index.search_text("coffee", ADA, 50)) == 24


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
