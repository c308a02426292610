"""Live events and the log of a conversation over HTTP, on a real broker."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import msgspec
import pytest
import samples

from deploy.local.kafka import LocalKafka
from models.messages import ChatMessage
from streams.admin.topics import admin
from streams.clients.catalog import catalog_for
from streams.clients.kafka.lookup import Lookup
from streams.config.settings import Settings
from streams.queries.live.history import History
from streams.queries.live.reader import Live
from streams.queries.live.status import Status
from streams.runtime.testing import START
from streams.server.api.app import create_api
from streams.server.api.parts import Parts
from streams.server.api.server import ApiServer, serve
from tests.topic_records import write

pytestmark = pytest.mark.kafka

TOPIC, FACTS = "chat.messages.v1", "memory.facts.v1"


@pytest.fixture
async def settings(kafka: LocalKafka, topic_prefix: str, tmp_path: Path) -> Settings:
    made = Settings(bootstrap_servers=kafka.bootstrap_servers, topic_prefix=topic_prefix, data_dir=tmp_path)
    await admin.apply(catalog_for(made), made)
    return made


@asynccontextmanager
async def serving(settings: Settings, facts: Any = None) -> AsyncIterator[tuple[ApiServer, Live]]:
    catalog = catalog_for(settings)
    status = Status(settings, catalog)
    live = Live(settings, catalog, status)
    history = History(settings, catalog, Lookup(settings))
    parts = Parts(live=live, history=history, status=status, facts=facts)
    stopping = asyncio.Event()
    live.start()
    server = await serve(create_api(parts, stopping=stopping), "127.0.0.1", 0, stopping=stopping)
    try:
        yield server, live
    finally:
        await server.stop()
        await live.stop()
        await status.close()


def message(number: int, conversation: str = "c-1") -> ChatMessage:
    names = {"message_id": f"m-{number}", "conversation_id": conversation}
    return samples.message(number, f"message {number}\nof two lines", sent_at=START, **names)


async def publish(settings: Settings, *messages: ChatMessage) -> None:
    await write(settings, TOPIC, *((each.conversation_id, each) for each in messages))


class Stream:
    """The events of a stream, one after the other."""

    def __init__(self, lines: AsyncIterator[str]) -> None:
        self._lines = lines
        self.last_id = ""

    async def next(self) -> tuple[str, Any]:
        """Return the next event: its name and its data."""
        event: dict[str, str] = {}
        async with asyncio.timeout(60):
            async for line in self._lines:
                if not line and "event" in event:
                    self.last_id = event.get("id", self.last_id)
                    return event["event"], msgspec.json.decode(event["data"])
                name, _, value = line.partition(": ")
                event[name] = event.get(name, "") + value
        raise AssertionError("the stream has ended")


@asynccontextmanager
async def watching(url: str, last_id: str = "", **query: str) -> AsyncIterator[Stream]:
    headers = {"last-event-id": last_id} if last_id else {}
    async with (
        httpx.AsyncClient(base_url=url, timeout=60, trust_env=False) as client,
        client.stream("GET", "/v1/events", params=query, headers=headers) as answer,
    ):
        assert answer.status_code == 200, await answer.aread()
        assert answer.headers["content-type"] == "text/event-stream; charset=utf-8"
        yield Stream(answer.aiter_lines())


async def test_watchers_see_new_messages_and_continue_where_they_left(
    settings: Settings,
) -> None:
    await publish(settings, message(0))
    async with serving(settings) as (server, _):
        async with watching(server.url, conversation_id="c-1") as stream:
            assert await stream.next() == ("ready", {"resumed": False})
            await publish(settings, message(1), message(2, "c-2"), message(3))
            seen = [await stream.next() for _ in range(2)]
            assert [(kind, event["value"]["message_id"]) for kind, event in seen] == [
                ("message", "m-1"),
                ("message", "m-3"),
            ]
            assert seen[0][1]["value"]["content"] == "message 1\nof two lines"
            assert seen[0][1]["topic"] == TOPIC
        await publish(settings, message(4))
        async with watching(server.url, stream.last_id, conversation_id="c-1") as again:
            assert await again.next() == ("ready", {"resumed": True})
            assert (await again.next())[1]["value"]["message_id"] == "m-4"
        async with watching(server.url, "00000000-7", conversation_id="c-1") as foreign:
            assert await foreign.next() == ("ready", {"resumed": False})
