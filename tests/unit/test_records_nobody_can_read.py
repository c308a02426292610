"""Every reader of a topic reads the same of a record, and passes over what it cannot read."""

from __future__ import annotations

import json
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from aiokafka import TopicPartition

from models import ids
from models.messages import ChatMessage
from streams.agents.message_log import decode_item, read_message
from streams.clients.catalog import load_catalog
from streams.clients.kafka import lookup
from streams.clients.records import Record
from streams.clients.topics import MESSAGES
from streams.llm.memo import topic as memos
from streams.llm.memo import vectors
from streams.llm.memo.topic import Entry
from streams.queries.conversations import exporting, unread
from streams.queries.live import records as live
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


ARRIVED = 1_793_527_200_000
RECORD = Record(
    json.dumps(
        {
            "conversation_id": -12,
            "user_id": 7,
            "role": "model",
            "content": [{"type": "text", "text": "Hi."}],
            "sent_at": ARRIVED,
            "metadata": None,
        }
    ).encode(),
    b"-12",
    41,
    MESSAGES,
    3,
    ARRIVED,
)
WHOSE = ("default", "-12", "7", ids.message_id(f"{MESSAGES}-3", 41))


def test_every_reader_of_the_log_names_it_alike() -> None:
    seen = live.read(RECORD, MESSAGES, lambda text: len(text.split()))
    assert seen is not None
    found = [
        read_message(RECORD),
        decode_item(RECORD, 65_536),
        seen.event.value,
        unread._read(RECORD),
    ]
    assert [(each.tenant_id, each.conversation_id, each.user_id, each.message_id) for each in found] == [
        WHOSE
    ] * 4
    assert isinstance(found[0], ChatMessage) and found[0].content == "Hi."
    assert (seen.user_id, seen.conversations) == ("7", frozenset({"-12"}))
    exported = exporting._read(RECORD)
    assert exported is not None and (exported.message_id, exported.metadata) == (WHOSE[3], {})
