"""Messages over HTTP, without a broker: under which ids they are written, and what is not."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Sequence
from typing import Any

import httpx
import msgspec
import pytest

from models.messages import ChatMessage
from streams.api.app import create_api
from streams.api.cursors import cursor_of
from streams.api.parts import Parts
from streams.api.routes.messages import MOST_RECORD_BYTES
from streams.sending import Outgoing, Sent


class Broker:
    """Takes everything."""

    def __init__(self) -> None:
        self.taken: list[Outgoing] = []

    async def send(self, records: Sequence[Outgoing]) -> list[Sent]:
        self.taken += records
        return [Sent(0, offset, int(time.time() * 1000)) for offset in range(len(records))]


class Listing:
    """A conversation of three messages."""

    async def check(self, *_: Any) -> int:
        return 3

    async def check_writable(self, *_: Any, **__: Any) -> None: ...


@pytest.fixture
def broker() -> Broker:
    return Broker()


@pytest.fixture
async def client(broker: Broker) -> AsyncIterator[httpx.AsyncClient]:
    sender: Any = broker
    listing: Any = Listing()
    app = create_api(Parts(sender=sender, conversations=listing))
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost") as made:
        yield made


async def say(client: httpx.AsyncClient, content: str, key: str = "", **more: Any) -> httpx.Response:
    message = {"conversation_id": "c-1", "role": "user", "content": content, **more}
    headers = {"idempotency-key": key} if key else {}
    return await client.post("/v1/messages", json={"user_id": "ada", "messages": [message]}, headers=headers)


async def test_the_same_under_a_key_is_a_repetition_and_nothing_else_is(
    client: httpx.AsyncClient, broker: Broker
) -> None:
    for content, key in (
        ("I like figs.", "k"),
        ("I like figs.", "k"),
        ("I like plums.", "k"),
        ("I like figs.", "l"),
    ):
        assert (await say(client, content, key)).status_code == 202
    first, again, other, another = [msgspec.json.decode(each.value, type=ChatMessage) for each in broker.taken]
    assert first.message_id == again.message_id
    assert len({first.message_id, other.message_id, another.message_id}) == 3


async def test_a_message_that_its_topic_has_no_room_for_is_refused(
    client: httpx.AsyncClient, broker: Broker
) -> None:
    """The broker would refuse it, and try it again is no advice."""
    refused = await say(client, "I like figs.", metadata={"page": "x" * MOST_RECORD_BYTES})
    assert (refused.status_code, refused.json()["type"]) == (413, "urn:switchboard:problem:too-large")
    assert "messages[0]" in refused.json()["detail"]
    assert not broker.taken


@pytest.mark.parametrize("item", ["\u00b2", "1" * 5000, "-1", "x"])
async def test_a_cursor_that_somebody_made_up_is_none(client: httpx.AsyncClient, item: str) -> None:
    cursor = cursor_of("messages c-1", item)
    answer = await client.get("/v1/conversations/c-1", params={"cursor": cursor, "user_id": "ada"})
    assert (answer.status_code, answer.json()["type"]) == (400, "urn:switchboard:problem:invalid-request")
