"""What is remembered, asked for over the recall service's socket by many at once."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from streams.remembered.far import answer_others, ask_recall, recall_socket
from streams.remembered.ports import Contexts, Facts, Graph, Log, Remembered
from streams.search import Results, Wanted
from streams.search.results import scope_of
from streams.settings import Settings


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


_NOT_ASKED = {name for port in (Facts, Log, Contexts, Graph) for name in vars(port)}


class Leases:
    async def claim(self, *_: str) -> str | None:
        return None

    async def release(self, *_: str) -> None: ...

    async def held(self, tenant_id: str, conversation_id: str) -> str | None:
        return "t-1"

    async def heed(self, turns: Sequence[tuple[str, str, str]]) -> list[bool]:
        return [turn == "t-1" for _, _, turn in turns]

    async def stop(self, turn: tuple[str, str, str]) -> str | None:
        return None

    async def end(self, *_: object) -> None: ...


async def test_who_asks_for_a_lease_does_not_wait_for_those_who_search(tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path)
    search: Any = Search()
    nothing: Any = SimpleNamespace(**dict.fromkeys(_NOT_ASKED))
    server = await answer_others(
        settings, Remembered(search, nothing, nothing, nothing, nothing, Leases()), lambda: {}
    )
    far, remote = ask_recall(recall_socket(settings))
    wanted = Wanted(query="tea", user_id="ada")
    searching = [asyncio.create_task(far.search.search(wanted)) for _ in range(300)]
    async with asyncio.timeout(60):
        while not search.running:
            await asyncio.sleep(0.01)
        assert await far.leases.held("default", "c-1") == "t-1"
        assert await far.leases.heed([("default", "ada", "t-1"), ("default", "ada", "t-2")]) == [True, False]
        assert not any(each.done() for each in searching)
        search.may.set()
        assert all(found == [] for found in await asyncio.gather(*searching))
    assert 1 < search.at_once <= 8
    await remote.close()
    await server.close()
