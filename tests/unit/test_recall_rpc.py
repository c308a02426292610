"""What is remembered, asked for over the recall service's socket by many at once."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from models.errors import DependencyUnavailable
from models.index import FactFilter
from streams.config.settings import Settings
from streams.llm.embedders import open_embedder
from streams.stores.remembered.opening import open_remembered
from streams.stores.remembered.ports import Facts, Graph
from streams.stores.remembered.recall_rpc import Indexes, answer_others, ask_recall, recall_socket
from streams.stores.search import Results, Wanted
from streams.stores.search.results import scope_of
from streams.telemetry.metrics import Metrics


class Search:
    """Answers when it may; ``at_once``: how many it was asked at most."""

    def __init__(self) -> None:
        self.may = asyncio.Event()
        self.running = self.at_once = 0

    async def search(self, wanted: Wanted) -> Results:
        self.running += 1
        self.at_once = max(self.at_once, self.running)
        await self.may.wait()
        await asyncio.sleep(0)
        self.running -= 1
        return Results(scope=scope_of(wanted))

    async def knows(self, user_id: str, tenant_id: str) -> bool:
        return True

    has_turns = knows


_NOT_ASKED = {name for port in (Facts, Graph) for name in vars(port)}


async def count(where: FactFilter | None = None) -> int:
    return 7


async def test_who_counts_facts_does_not_wait_for_those_who_search(tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path)
    search: Any = Search()
    nothing: Any = SimpleNamespace(**dict.fromkeys(_NOT_ASKED))
    facts: Any = SimpleNamespace(**{**dict.fromkeys(_NOT_ASKED), "count": count})
    server = await answer_others(settings, Indexes(search, facts, nothing), lambda: {})
    far, remote = ask_recall(recall_socket(settings))
    wanted = Wanted(query="tea", user_id="ada")
    searching = [asyncio.create_task(far.search.search(wanted)) for _ in range(300)]
    async with asyncio.timeout(60):
        while not search.running:
            await asyncio.sleep(0.01)
        assert await far.facts.count() == 7
        assert not any(each.done() for each in searching)
        search.may.set()
        assert all(found == [] for found in await asyncio.gather(*searching))
    assert 1 < search.at_once <= 8
    await remote.close()
    await server.close()


FACT = "1f0c7c1e-3c5a-5f0e-9d0a-6c1b2f3a4d5e"


async def test_with_a_qdrant_server_serve_opens_the_index_itself(tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path, qdrant_url="http://127.0.0.1:9")
    wanted = Wanted(query="tea", user_id="ada")
    async with AsyncExitStack() as resources:
        own = await open_remembered(settings, Metrics(), resources, open_embedder)
        asked = await open_remembered(Settings(data_dir=tmp_path), Metrics(), resources, open_embedder)
        for looking, part in (
            (own.search.search(wanted), "qdrant"),
            (own.facts.get([FACT]), "qdrant"),
            (own.log.people("default"), "recall"),
            (asked.search.search(wanted), "recall"),
            (asked.facts.get([FACT]), "recall"),
        ):
            with pytest.raises(DependencyUnavailable) as caught:
                await looking
            assert caught.value.dependency == part
