"""Looking up in the log of vectors, when a call is over before the log was read to its end."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any, cast

import msgspec
import pytest

from models.errors import DependencyUnavailable
from models.vectors import EmbeddingResult, VectorKind
from streams.llm.memo.topic import Entry
from streams.llm.memo.vectors import VectorLog

COUNT = 10


class Slow:
    """A topic of which one read yields so many records, and then the time is up."""

    def __init__(self, at_once: int) -> None:
        self._at_once = at_once

    async def ends(self) -> list[int]:
        return [COUNT]

    async def read(self, partition: int, start: int, end: int) -> AsyncGenerator[tuple[list[Entry], int], None]:
        for offset in range(start, min(end, start + self._at_once)):
            yield [entry(offset)], offset + 1
        if start + self._at_once < end:
            raise DependencyUnavailable("kafka", "too late")


def entry(offset: int) -> Entry:
    made = EmbeddingResult(
        kind=VectorKind.FACT,
        id=f"f{offset}",
        user_id="ada",
        text_hash=f"h{offset}",
        model="words-1",
        dimensions=1,
        vector=bytes([offset, 0]),
    )
    return Entry(f"fact/f{offset}".encode(), msgspec.json.encode(made), 0, offset)


async def test_a_long_log_is_read_in_consecutive_calls() -> None:
    log = VectorLog(cast(Any, Slow(4)))
    wanted = {b"fact/f1": ("h1", "words-1"), b"fact/f2": ("other", "words-1")}
    for _ in range(2):
        with pytest.raises(DependencyUnavailable):
            await log.find(0, wanted)
    assert await log.find(0, wanted) == {b"fact/f1": bytes([1, 0])}
