"""Windows over HTTP and from the topic: a real Valkey, a real broker."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import msgspec
import pytest
from test_conversation_log import turn

from models.turns import Turn
from streams.clients.local_valkey import LocalValkey
from streams.config.namespace import Namespace
from streams.queries.conversations.windows import WindowRetriever
from streams.server.api.app import create_api
from streams.server.api.parts import Parts
from streams.stores.conversation_log import ConversationLog


class NoTopic:
    async def turns(self, tenant_id: str, conversation_id: str) -> list[Turn]:
        return []


@pytest.fixture
async def client(tmp_path: Path) -> AsyncIterator[httpx.AsyncClient]:
    valkey = LocalValkey(tmp_path, "n")
    log = ConversationLog(valkey.client(), Namespace("w-"), ready=valkey.ensure)
    await log.write((turn(index, "chat/1"), index) for index in range(20))
    app = create_api(Parts(windows=WindowRetriever(log, NoTopic())))
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost") as made:
        yield made
    await log.close()
    await valkey.close()


PATH = "/v1/conversations/chat%2F1/window"
GOOD = {"user_id": "ada", "first": "10", "last": "11"}


async def test_a_window(client: httpx.AsyncClient) -> None:
    answer = await client.get(PATH, params=GOOD)
    assert answer.status_code == 200
    found = answer.json()
    assert (found["windowStart"], found["windowEnd"], found["matchedSequenceRange"]) == (4, 17, [10, 11])
    assert found["conversationId"] == "chat/1"
    assert [each["index"] for each in found["messages"]] == list(range(4, 18))
    assert msgspec.convert(found["messages"][0], Turn) == turn(4, "chat/1")
    assert (await client.get(PATH, params=GOOD | {"turns": "1"})).json()["windowStart"] == 8
