"""Somebody whose message was accepted and is not read yet is told from somebody nobody ever heard of."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest
from aiokafka import AIOKafkaConsumer, TopicPartition

from deploy.local.kafka import LocalKafka
from streams.admin.topics import admin
from streams.clients.catalog import TURNS, catalog_for
from streams.clients.kafka.lookup import Lookup
from streams.clients.kafka.readers import Readers
from streams.clients.sending import Sender
from streams.config.settings import Settings
from streams.queries.conversations.listing import Conversations
from streams.queries.conversations.unread import MESSAGES, Unread
from streams.server.api.app import create_api
from streams.server.api.parts import Parts
from streams.stores.conversation_log import Erasures
from streams.stores.search import Empty, Results, Wanted
from streams.stores.search.graph import Neighbourhood
from streams.stores.search.results import scope_of
from tests.topic_records import write

pytestmark = pytest.mark.kafka

#: When what is said here arrives (ms), by the topic of turns.
ARRIVED = "2026-03-01T00:00:00Z"


@pytest.fixture(scope="module")
def settings(kafka: LocalKafka, tmp_path_factory: pytest.TempPathFactory) -> Settings:
    made = Settings(
        bootstrap_servers=kafka.bootstrap_servers,
        topic_prefix="test-unread-",
        data_dir=tmp_path_factory.mktemp("unread"),
    )
    asyncio.run(admin.apply(catalog_for(made), made))
    return made


class Views:
    """What the recall service has: nothing of anybody, but of those who are ``known``."""

    def __init__(self) -> None:
        self.known: set[str] = set()
        self.erased = Erasures(-1, {}, {})

    async def search(self, wanted: Wanted) -> Results:
        nobody = wanted.user_id not in self.known
        return Results(scope=scope_of(wanted), empty=Empty.UNKNOWN_PERSON if nobody else Empty.NO_ANSWER)

    async def knows(self, user_id: str, tenant_id: str) -> bool:
        return user_id in self.known

    async def page(self, *_: Any) -> tuple[list[Any], None]:
        return [], None

    async def look(self, *_: Any) -> Neighbourhood:
        return Neighbourhood([], [])

    async def count(self, *_: Any) -> int:
        return 0

    async def conversations(self, *_: Any) -> list[str]:
        return []

    async def length(self, *_: Any) -> int:
        return 0

    async def takes_part(self, *_: Any) -> bool:
        return False

    async def erasures(self, tenant_id: str, user_id: str, turn_ids: Mapping[str, Sequence[str]]) -> Erasures:
        conversations = dict.fromkeys(turn_ids, -1) | dict(self.erased.conversations)
        return self.erased._replace(conversations=conversations)


@pytest.fixture
async def views() -> Views:
    return Views()


@pytest.fixture
async def client(settings: Settings, views: Views) -> AsyncIterator[httpx.AsyncClient]:
    """Asks an API whose views are these, and whose topics are real."""
    readers = Readers(settings)
    looked: Any = views
    parts = Parts(
        search=looked,
        facts=looked,
        graph=looked,
        conversations=Conversations(settings, looked, Sender(settings), Lookup(settings, readers=readers)),
        unread=Unread(settings, views, readers),
    )
    transport = httpx.ASGITransport(create_api(parts))
    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1", timeout=60) as made:
        yield made
    await readers.close()


def said_by(user: str, **more: Any) -> tuple[str, dict[str, Any]]:
    said = {
        "message_id": f"m-of-{user}",
        "conversation_id": f"c-of-{user}",
        "user_id": user,
        "role": "user",
        "content": "Hello.",
        "sent_at": ARRIVED,
    }
    return f"c-of-{user}", said | more


@asynccontextmanager
async def recall_at(settings: Settings) -> AsyncIterator[AIOKafkaConsumer]:
    async with AIOKafkaConsumer(
        bootstrap_servers=settings.bootstrap_servers,
        group_id=settings.group("recall"),
        enable_auto_commit=False,
    ) as member:
        specs = [catalog_for(settings).get(name) for name in (MESSAGES, TURNS)]
        member.assign(
            [TopicPartition(spec.name, number) for spec in specs for number in range(spec.partitions)]
        )
        yield member


async def read_all(settings: Settings) -> None:
    """As the recall service does that has read everything: its views have what there was."""
    async with recall_at(settings) as member:
        await member.commit(await member.end_offsets(member.assignment()))


async def answers(client: httpx.AsyncClient, user: str) -> dict[str, Any]:
    """What each read that is of a person says of this one."""
    asked = {"user_id": user}
    search = await client.get("/v1/search", params={"q": "Where?", **asked})
    posted = await client.post("/v1/search", json={"q": "Where?", **asked})
    facts = await client.get("/v1/facts", params=asked)
    graph = await client.get("/v1/graph", params=asked)
    conversations = await client.get("/v1/conversations", params=asked)
    person = await client.get(f"/v1/people/{user}")
    export = await client.get(f"/v1/people/{user}/export")
    assert all(each.is_success for each in (search, posted, facts, graph, conversations)), search.text
    assert search.json()["empty"] == posted.json()["empty"]
    assert (person.status_code, export.status_code) == (404, 404)
    assert person.json()["type"] == export.json()["type"]
    pages = [facts.json(), graph.json(), conversations.json()]
    assert [page["known"] for page in (search.json(), *pages)] == [False] * 4
    assert [(page["user_id"], page["tenant_id"]) for page in pages] == [(user, "default")] * 3
    assert len({page["unread"] for page in pages}) == 1
    return {
        "search": search.json()["empty"],
        "facts": facts.json()["unread"],
        "person": person.json()["type"].rpartition(":")[2],
    }


NOBODY = {"search": "unknown_person", "facts": False, "person": "unknown-person"}
NOT_YET = {"search": "not_read_yet", "facts": True, "person": "not-read-yet"}


@pytest.mark.parametrize("topic", [MESSAGES, TURNS])
async def test_who_is_not_read_yet_is_told_from_nobody(
    settings: Settings, client: httpx.AsyncClient, topic: str
) -> None:
    await read_all(settings)
    user = f"ada-in-{topic}"
    await write(settings, topic, said_by(user, arrived_at=ARRIVED))
    assert await answers(client, user) == NOT_YET
    assert await answers(client, "nobody-at-all") == NOBODY
    await read_all(settings)
    assert await answers(client, user) == NOBODY, "it was read, and is not there: it was erased"


async def test_empty_results_say_that_not_all_is_read(
    settings: Settings, client: httpx.AsyncClient, views: Views
) -> None:
    views.known.add("eva")

    async def found() -> tuple[str, bool]:
        told = (await client.get("/v1/search", params={"q": "figs", "user_id": "eva"})).json()
        return told["empty"], told["unread"]

    await read_all(settings)
    assert await found() == ("no_answer", False)
    await write(settings, MESSAGES, said_by("eva"))
    assert await found() == ("no_answer", True)
    await read_all(settings)
    assert await found() == ("no_answer", False)


async def test_unread_erased_items_are_not_waited_for(
    settings: Settings, client: httpx.AsyncClient, views: Views
) -> None:
    await read_all(settings)
    await write(settings, MESSAGES, said_by("cleo"))
    assert await answers(client, "cleo") == NOT_YET
    views.erased = Erasures(1 << 60, {}, {})
    assert await answers(client, "cleo") == NOBODY
