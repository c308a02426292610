"""What is no text, or nests too deep, is passed over by who reads a topic, as all else that is none of ours."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from aiokafka import TopicPartition

from streams.clients.catalog import load_catalog
from streams.clients.kafka import lookup
from streams.clients.records import Record
from streams.llm.memo import topic as memos
from streams.llm.memo import vectors
from streams.llm.memo.topic import Entry
from streams.server.tokens import topic as tokens
from streams.stores import turn_topic

BAD = [
    pytest.param(b"{", id="no JSON"),
    pytest.param(b"{}", id="nothing of ours"),
    pytest.param(b'{"response_id":"\xff","text":"\xff","user_id":"\xff"}', id="no text"),
    pytest.param(b'{"x":' + b"[" * 20_000 + b"]" * 20_000 + b"}", id="too deep"),
]

_NAMED = lookup._name_of(load_catalog().get("memory.facts.v1"))

READERS: list[Callable[[bytes], object]] = [
    turn_topic._read,
    memos.read,
    lambda value: vectors._read(Entry(b"fact/1", value, 0)),
    lambda value: _NAMED(Record(value)),
]


@pytest.mark.parametrize("value", BAD)
@pytest.mark.parametrize("read", READERS)
def test_it_is_passed_over(read: Callable[[bytes], object], value: bytes) -> None:
    assert read(value) is None


@pytest.mark.parametrize("value", BAD)
async def test_a_token_that_cannot_be_read_allows_nothing(value: bytes) -> None:
    place = TopicPartition("tokens", 0)

    class Consumer:
        async def getmany(self, *_: object, **__: object) -> dict[TopicPartition, list[Any]]:
            return {place: [SimpleNamespace(key=b"t-1", value=value)]}

    consumer: Any = Consumer()
    kept: dict[str, Any] = {"t-1": object()}
    assert await tokens.TOKENS._take(consumer, place, kept)
    assert kept == {}
