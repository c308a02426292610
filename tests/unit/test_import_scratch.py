"""What an import notes of what it has met: the same whether it is little or much, and never held in memory."""

from __future__ import annotations

import json
import sqlite3
import tracemalloc
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from models.errors import DependencyUnavailable
from models.messages import DEFAULT_TENANT
from processors.importing import jsonl
from processors.importing.drafts import Owner
from streams.importing import scratch
from streams.importing.known import Known
from streams.importing.publishing import Count, Importer
from streams.importing.scratch import Numbers, Repeats
from streams.settings import Settings


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


def erasure(**of: str) -> Any:
    body = '{"punctuation":"erase",' + ",".join(f'"{name}":"{value}"' for name, value in of.items()) + "}"
    return record(b"c-1", body.encode(), [("sw_punctuation", b"erase")])


def record(key: bytes, value: bytes | None, headers: list[tuple[str, bytes]]) -> Any:
    return SimpleNamespace(key=key, value=value, headers=headers)


def test_the_first_message_under_an_id_decides_what_becomes_of_later_ones() -> None:
    known = Known()
    lines = [("c-1", "ada", "m-1"), ("c-1", "bob", "m-2"), ("c-2", "ada", "m-1"), ("c-2", "eve", "m-1")]

    def send() -> list[str]:
        for conversation, person, message in lines:
            body = {"message_id": message, "conversation_id": conversation, "user_id": person}
            known.see_message(record(conversation.encode(), json.dumps(body).encode(), []))
        return [known.find(DEFAULT_TENANT, *each).value for each in lines]

    assert [known.find(DEFAULT_TENANT, *each) for each in lines] == ["nothing"] * 4
    assert send() == ["there", "there", "there", "anothers"]
    known.see_message(erasure(conversation_id="c-1", user_id="bob"))
    assert send() == ["there", "erased", "there", "anothers"]
    known.see_message(erasure(conversation_id="c-1", tenant_id="acme"))
    assert send() == ["there", "erased", "there", "anothers"]
    known.see_message(erasure(conversation_id="c-1"))
    assert send() == ["erased", "erased", "there", "anothers"]


def test_a_disk_that_is_full_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    numbers = Numbers()

    def full(*_: object) -> None:
        raise sqlite3.OperationalError("database or disk is full")

    monkeypatch.setattr(numbers, "_ask", full)
    with pytest.raises(DependencyUnavailable, match=r"disk is full.*TMPDIR"):
        numbers.add(1)
    assert scratch.number_of("a", "bc") != scratch.number_of("ab", "c")
