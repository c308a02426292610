"""What an import notes of what it has met: the same whether it is little or much, and never held in memory."""

from __future__ import annotations

import sqlite3
import tracemalloc
from collections.abc import Iterator

import pytest

from models.errors import DependencyUnavailable
from processors.conversations.importing import jsonl
from processors.conversations.importing.drafts import Owner
from streams.admin.importing import scratch
from streams.admin.importing.publishing import Count, Importer
from streams.admin.importing.scratch import Numbers, Repeats
from streams.config.settings import Settings


async def test_short_lines_by_the_million_are_not_held() -> None:
    """Ten thousand of them are looked at: each in its own conversation, none with an id."""

    def lines() -> Iterator[bytes]:
        for number in range(10_000):
            sent = f"2026-01-05T08:{number // 60 % 60:02}:{number % 60:02}Z"
            yield f'{{"role":"user","content":"ok","sent_at":"{sent}","conversation_id":"{number}"}}\n'.encode()

    counted = Count(lambda _: None)
    importer = Importer(Settings(), Owner("jsonl", "ada"), counted, dry=True, close=True)
    tracemalloc.start()
    await importer.run(lambda: jsonl.read(lines(), met=Repeats().met, user_id="ada"), lambda _: None)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert (counted.read, len(counted.conversations), counted.skipped) == (10_000, 10_000, {})
    assert peak < 1_200_000


def test_a_disk_that_is_full_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    numbers = Numbers()

    def full(*_: object) -> None:
        raise sqlite3.OperationalError("database or disk is full")

    monkeypatch.setattr(numbers, "_ask", full)
    with pytest.raises(DependencyUnavailable, match=r"disk is full.*TMPDIR"):
        numbers.add(1)
    assert scratch.number_of("a", "bc") != scratch.number_of("ab", "c")
