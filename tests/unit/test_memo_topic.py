"""The topic of the memo, when it is closed while somebody asks where it ends."""

from __future__ import annotations

from typing import Any

import pytest

from models.errors import DependencyUnavailable
from streams.clients import kafka
from streams.config.settings import Settings
from streams.llm.memo.topic import Entry, MemoTopic


@pytest.mark.parametrize("use", [MemoTopic.ends, lambda topic: topic.write([Entry(b"k", None, 0)])])
async def test_what_cannot_be_connected_is_closed(use: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Any] = []
    closed: list[Any] = []

    async def connect(client: Any, *_: Any) -> None:
        made.append(client)
        raise DependencyUnavailable("kafka", "nobody answers")

    async def close(client: Any) -> None:
        closed.append(client)
        await closing(client)

    closing = kafka.close
    monkeypatch.setattr(kafka, "connect", connect)
    monkeypatch.setattr(kafka, "close", close)
    with pytest.raises(DependencyUnavailable):
        await use(MemoTopic(Settings()))
    assert made == closed != []
