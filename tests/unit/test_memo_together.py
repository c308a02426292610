"""How far the view is and where the topic ends are asked side by side: somebody waits for an answer."""

from __future__ import annotations

import asyncio
from typing import Any

from streams.llm.memo.memo import MemoLog


class Together:
    """Answers two questions as soon as both are asked."""

    partitions = 1

    def __init__(self) -> None:
        self._both = asyncio.Barrier(2)

    async def ends(self) -> list[int]:
        await self._both.wait()
        return [7]

    async def marks(self, partitions: int) -> list[int]:
        await self._both.wait()
        return [7]


async def test_how_far_the_view_is_and_where_the_topic_ends() -> None:
    both: Any = Together()
    async with asyncio.timeout(60):
        await MemoLog(both, both).catch_up()
