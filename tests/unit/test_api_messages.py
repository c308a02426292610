"""Requests over HTTP, without a broker: which messages are written, and what is refused before it is."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Sequence
from datetime import UTC, datetime
from typing import Any

import httpx
import msgspec
import pytest

from models.messages import ChatMessage, Role
from streams.clients.policies.topic import PolicyStore
from streams.clients.sending import Outgoing, Sent
from streams.config.settings import Settings
from streams.queries.conversations.listing import LoggedMessage, Overview
from streams.server.api.app import create_api
from streams.server.api.parts import Parts
from streams.server.api.routes.messages import MOST_RECORD_BYTES
from streams.stores.search import Results, Wanted
from streams.stores.search.results import scope_of


class Broker:
    """Takes everything."""

    def __init__(self) -> None:
        self.taken: list[Outgoing] = []

    async def send(self, records: Sequence[Outgoing]) -> list[Sent]:
        self.taken += records
        return [Sent(0, offset, int(time.time() * 1000)) for offset in range(len(records))]


class Listing:
    """A conversation of three messages; what was said with index 1 is erased."""

    async def check(self, *_: Any) -> int:
        return 3

    async def overview(self, *_: Any) -> Overview:
        return Overview(messages=3, tokens=None, open_window=None, ranges=[])

    async def said(
        self, _tenant: str, _name: str, first: int, limit: int, _overview: Any
    ) -> list[LoggedMessage]:
        return [_said(index) for index in (0, 2) if first <= index < first + limit]

    async def check_writable(self, *_: Any, **__: Any) -> None: ...


def _said(index: int) -> LoggedMessage:
    return LoggedMessage(
        message_id=f"m-{index}",
        user_id="ada",
        role=Role.USER,
        content="figs",
        sent_at=datetime.now(UTC),
        index=index,
        token_count=1,
        is_summarized=False,
        partition=0,
        offset=index,
    )


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


async def say(client: httpx.AsyncClient, content: Any, key: str = "", **more: Any) -> httpx.Response:
    message = {"conversation_id": "c-1", "role": "user", "content": content, **more}
    headers = {"idempotency-key": key} if key else {}
    return await client.post("/v1/messages", json={"user_id": "ada", "messages": [message]}, headers=headers)


async def test_only_the_same_under_a_key_is_a_repetition(client: httpx.AsyncClient, broker: Broker) -> None:
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


async def test_half_a_character_is_replaced_but_refused_in_ids(
    client: httpx.AsyncClient, broker: Broker
) -> None:
    async def post(message_id: str, content: str) -> int:
        body = (
            '{"user_id":"ada","messages":[{"conversation_id":"c","role":"user",'
            f'"message_id":"{message_id}","content":"{content}"}}]}}'
        )
        headers = {"content-type": "application/json"}
        return (await client.post("/v1/messages", content=body.encode(), headers=headers)).status_code

    assert await post("m", r"figs \ud83d") == 202
    assert msgspec.json.decode(broker.taken[0].value)["content"] == "figs \ufffd"
    assert await post(r"m\ud83d", "figs") == 400
    assert len(broker.taken) == 1


async def test_a_message_too_large_for_its_topic_is_refused(client: httpx.AsyncClient, broker: Broker) -> None:
    """The broker would refuse it, and try it again is no advice."""
    refused = await say(client, "I like figs.", metadata={"page": "x" * MOST_RECORD_BYTES})
    assert (refused.status_code, refused.json()["type"]) == (413, "urn:switchboard:problem:too-large")
    assert "messages[0]" in refused.json()["detail"]
    assert not broker.taken


@pytest.mark.parametrize(("order", "limit", "pages"), [
    ("oldest", 2, [[0], [2]]),
    ("newest", 2, [[2], [0]]),
    ("newest", 3, [[2, 0]]),
    ("oldest", 1, [[0], [], [2]]),
    ("newest", 1, [[2], [], [0]]),
])  # fmt: skip
async def test_a_conversation_is_read_from_either_end(
    client: httpx.AsyncClient, order: str, limit: int, pages: list[list[int]]
) -> None:
    """A page of which all is erased is not the last."""
    read: list[list[int]] = []
    wanted: dict[str, Any] = {"user_id": "ada", "order": order, "limit": limit}
    while wanted.get("cursor", "") is not None:
        page = (await client.get("/v1/conversations/c-1", params=wanted)).json()
        assert page["total"] == 3
        read.append([each["index"] for each in page["messages"]])
        wanted["cursor"] = page["next"]
    assert read == pages


class Search:
    """Finds nothing, and keeps what it was asked."""

    def __init__(self) -> None:
        self.asked: list[Wanted] = []

    async def search(self, wanted: Wanted) -> Results:
        self.asked.append(wanted)
        return Results(scope=scope_of(wanted))


async def ask(search: Any, metadata: dict[str, Any], **more: Any) -> httpx.Response:
    app = create_api(Parts(search=search, metadata_keys=("topic", "thread", "is_test")))
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost") as client:
        body = {"q": "tea", "user_id": "ada", "metadata": metadata, **more}
        return await client.post("/v1/search", json=body)


async def test_values_are_compared_as_text() -> None:
    search = Search()
    answer = await ask(search, {"topic": "tea", "thread": 7, "is_test": True})
    assert answer.status_code == 200, answer.text
    [wanted] = search.asked
    assert wanted.metadata == {"topic": "tea", "thread": "7", "is_test": "true"}
    assert answer.json()["scope"]["metadata"] == wanted.metadata


@pytest.mark.parametrize(
    ("metadata", "more", "said"),
    [
        ({"page": "x"}, {}, "metadata.page is not indexed: SWITCHBOARD_METADATA_KEYS"),
        ({"topic": ""}, {}, "1 to 256 characters"),
        ({"topic": ["tea"]}, {}, "metadata"),
        ({"topic": "tea"}, {"search_type": "facts"}, "search_type=turns"),
    ],
)
async def test_what_is_not_indexed_is_refused_with_the_setting(
    metadata: dict[str, Any], more: dict[str, Any], said: str
) -> None:
    search = Search()
    refused = await ask(search, metadata, **more)
    assert refused.status_code == 400, refused.text
    assert said in refused.json()["detail"]
    assert not search.asked


async def put(body: Any) -> httpx.Response:
    # Nothing listens there: a policy that came so far would be answered with 503.
    store = PolicyStore(Settings(bootstrap_servers="127.0.0.1:1", request_timeout_seconds=1.0))
    app = create_api(Parts(policies=store))
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost") as client:
        return await client.put("/v1/policies/clinic", json=body)


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({"never_kept": {"patterns": ["a"] * 33}}, "patterns"),
        ({"instructions": "x" * 2001}, "instructions"),
        ({"expires_after": {"secret": "90d"}}, "expires_after"),
        ({"instruction": "x"}, "instruction"),
    ],
)
async def test_rules_that_cannot_be_followed_are_a_bad_request(body: Any, said: str) -> None:
    refused = await put(body)
    assert refused.status_code == 400, refused.text
    assert said in refused.json()["detail"]


async def test_rules_that_can_be_followed_are_written() -> None:
    assert (await put({"expires_after": {"event": "90d"}})).status_code == 503
