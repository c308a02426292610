"""What was erased is gone from all that is read, and no replay brings it back; nobody else loses anything."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from redis.asyncio import Redis
from test_state_reset import (
    EMBEDDINGS,
    FACTS,
    MESSAGES,
    NOW,
    Place,
    bare_place,
    eventually,
    output,
    place,
    read_all,
    serves,
)

from models.index import VectorSpace
from models.messages import ChatMessage
from streams.clients.local_valkey import LocalValkey
from streams.llm.embedders import open_embedder
from streams.llm.onnx_model import DIMENSIONS, MODEL
from streams.llm.tokenizer import cl100k_counter
from streams.queries.contexts.reading import ContextReader
from streams.stores.index_factory import open_index
from streams.stores.qdrant_kinds import ENTITIES, RELATIONS, Kind, facts_kind
from streams.stores.qdrant_kinds import TURNS as TURN_KIND
from streams.stores.qdrant_payload import is_nobodys
from streams.stores.remembered.opening import open_remembered
from streams.stores.remembered.recall_rpc import Indexes, ask_recall
from streams.stores.search import SearchType, Wanted
from streams.stores.search.graph import GraphWanted
from streams.telemetry.metrics import Metrics
from tests.topic_records import records_of, unpacked

__all__ = ["bare_place", "place"]

pytestmark = pytest.mark.kafka

#: What is to be erased says this; what is to stay says the other.
CANARY, OTHER = "quokkaberry", "huckleberry"

SERVICES = ("ingest", "memory", "recall")

#: What is made of whom and what somebody speaks of.
GRAPH = ("memory.entities.v1", "memory.relations.v1", "memory-graph-changelog")


def chat(conversation: str, user: str, word: str, shared_with: str = "") -> list[tuple[str, ChatMessage]]:
    """A conversation of full windows and an open one, and of an episode that has ended; every message names the
    word."""
    lines = [
        f"I'm allergic to {word} jam.",
        f"Good to know about the {word}!",
        f"I live in {word.capitalize()}ville.",
        f"{word.capitalize()}ville is far.",
        f"I love {word} tea.",
        f"{word} it is.",
    ] * 4
    said = []
    for n, line in enumerate(lines[:-1]):
        speaker = shared_with if shared_with and n % 4 == 2 else user
        message = ChatMessage(
            message_id=f"{conversation}-{n}",
            conversation_id=conversation,
            user_id=speaker,
            role="assistant" if n % 2 else "user",
            content=line if speaker == user else line.replace(word, OTHER).replace(word.capitalize(), OTHER),
            sent_at=NOW + timedelta(seconds=n),
        )
        said.append((conversation, message))
    return said


async def latest(place: Place) -> dict[tuple[str, bytes], bytes]:
    """The latest value of each key of each compacted topic, changelogs among them."""
    kept = {spec.name: spec.partitions for spec in place.catalog.all() if spec.is_compacted}
    topics = await records_of(place.settings.bootstrap_servers, kept)
    found = {(topic, record.key): record.value for topic, records in topics.items() for record in records}
    return {at: value for at, value in found.items() if value is not None}


def naming(word: str, records: dict[tuple[str, bytes], bytes]) -> set[str]:
    """The topics that hold a value in which the word stands, packed or not."""
    topics = set()
    for (topic, _), value in records.items():
        if any(word.encode() in text.lower() for text in (value, *unpacked(value))):
            topics.add(topic)
    return topics


@asynccontextmanager
async def remembered(socket: str) -> AsyncIterator[Indexes]:
    """What the recall service behind a socket has, as whoever answers reads it."""
    found, remote = ask_recall(Path(socket))
    try:
        yield found
    finally:
        await remote.close()


async def search(socket: str, user: str, word: str) -> list[str]:
    async with remembered(socket) as found:
        wanted = Wanted(query=word, user_id=user, search_type=SearchType.BOTH, limit=50)
        return [result.text.lower() for result in await found.search.search(wanted)]


async def graph(socket: str, user: str) -> str:
    """Everything of the graph of a person."""
    async with remembered(socket) as found:
        wanted = GraphWanted(user_id=user, steps=2, limit=200)
        return str(await found.graph.look(wanted)).lower()


async def context(place: Place, user: str, conversation: str) -> str:
    """What is shown of the context for the conversation's next turn."""
    async with AsyncExitStack() as resources:
        found = await open_remembered(place.settings, Metrics(), resources, open_embedder)
        reader = ContextReader(found.contexts, found.log, found.facts, cl100k_counter())
        return str(await reader.read("default", user, conversation))


async def in_redis(place: Place) -> str:
    valkey = LocalValkey(place.settings.folder, "recall")
    client: Redis = valkey.client()
    try:
        values = [str(await client.hgetall(key)) for key in await client.keys("*log:*")]
    finally:
        await client.aclose()
    return "\n".join(values).lower()


async def in_indexes(place: Place) -> str:
    """Everything that the indexes hold, while no worker has them open."""
    found = []
    kinds: tuple[Kind[Any], ...] = (TURN_KIND, facts_kind(), ENTITIES, RELATIONS)
    for kind in kinds:
        index = open_index(place.settings, kind, VectorSpace(MODEL, DIMENSIONS))
        records = index._files.shard.engine.scroll(_everything())[0]
        found += [str(record.payload) for record in records if not is_nobodys(record.payload)]
        await index.close()
    return "\n".join(found).lower()


def _everything():
    import qdrant_edge as edge

    return edge.ScrollRequest(limit=10_000, with_payload=True)


class House:
    """All services that remember."""

    def __init__(self, place: Place) -> None:
        self.place = place
        self.workers = {name: place.start("worker", name) for name in SERVICES}

    async def done(self) -> str:
        """Wait until everything is processed; return where the API is."""
        for worker in self.workers.values():
            await worker.ready()

        await eventually(lambda: read_all(self.place, *SERVICES), "everything is read")
        return await serves(self.workers["recall"])

    async def stop(self) -> None:
        ended = await asyncio.gather(*[worker.stops() for worker in self.workers.values()])
        assert set(ended) == {0}


async def erase(place: Place, *arguments: str) -> str:
    process = place.start("erase", *arguments, "--yes")
    assert await process.exits() == 0, output(process)
    return output(process)


async def vectors(place: Place) -> list[bytes]:
    """The keys of all vectors of turns and facts, in the order in which they were computed."""
    keys = [key for key, value in await place.records(EMBEDDINGS) if value is not None]
    return [key for key in keys if not key.startswith(b"episode/")]


def summarized(place: Place) -> None:
    """Let every conversation be long enough for a summary."""
    place.settings = place.settings.model_copy(update={"token_threshold": 60})


def are_summaries(topics: set[str]) -> bool:
    return any(name.endswith("memory.summaries.v1") for name in topics)


async def test_no_replay_brings_an_erased_conversation_back(place):
    summarized(place)
    await place.send(MESSAGES, [*chat("c", "ada", CANARY), *chat("d", "ada", OTHER), *chat("e", "bob", OTHER)])
    house = House(place)
    api = await house.done()
    assert any(CANARY in text for text in await search(api, "ada", CANARY))
    named = naming(CANARY, await latest(place))
    assert len(named) >= 6 and are_summaries(named), "there is something to erase"
    kept = await search(api, "bob", OTHER)
    assert kept

    said = await erase(place, "conversation", "c")
    assert "chat.messages.v1" in said

    async def left() -> set[str]:
        """The context of Ada's other conversation repeats it until that goes on, but shows it to nobody."""
        records = {at: value for at, value in (await latest(place)).items() if at[1] != b"d"}
        return naming(CANARY, records)

    async def gone() -> bool:
        return not await left()

    await eventually(gone, "no compacted topic names it")
    api = await house.done()

    async def check(api: str) -> None:
        assert not await left()
        assert CANARY not in (await context(place, "ada", "d")).lower()
        assert not [text for text in await search(api, "ada", CANARY) if CANARY in text]
        assert [text for text in await search(api, "ada", OTHER) if OTHER in text]
        assert sorted(await search(api, "bob", OTHER)) == sorted(kept)
        assert CANARY not in await in_redis(place)
        assert OTHER in await in_redis(place)

    await check(api)
    await house.stop()
    assert CANARY not in await in_indexes(place)
    computed = await vectors(place)

    # Side by side: each waits for as long as a worker that is gone may be counted as a member.
    resets = [place.state("reset", service, "--yes") for service in ("ingest", "recall")]
    for status, said in await asyncio.gather(*resets):
        assert status == 0, said
    house = House(place)
    await check(await house.done())
    await house.stop()
    assert CANARY not in await in_indexes(place)
    assert await vectors(place) == computed, "no vector was computed twice"


async def test_an_erased_person_leaves_shared_records_and_others_stay(place):
    summarized(place)
    await place.send(
        MESSAGES,
        [
            *chat("c", "ada", CANARY),
            *chat("shared", "ada", CANARY, shared_with="bob"),
            *chat("e", "bob", OTHER),
        ],
    )
    house = House(place)
    api = await house.done()
    assert any(CANARY in text for text in await search(api, "ada", CANARY))
    named = naming(CANARY, await latest(place))
    assert are_summaries(named)
    assert all(any(topic.endswith(each) for topic in named) for each in GRAPH), "there is a graph to erase"
    kept = await search(api, "bob", OTHER)
    said = await erase(place, "person", "ada")
    assert "2 conversations, 1 of them shared" in said

    async def gone() -> bool:
        return not naming(CANARY, await latest(place))

    await eventually(gone, "no compacted topic names them")
    api = await house.done()
    assert await search(api, "ada", CANARY) == []
    assert CANARY not in await graph(api, "ada")
    assert OTHER in await graph(api, "bob")
    assert sorted(await search(api, "bob", OTHER)) == sorted(kept)
    assert CANARY not in await in_redis(place)
    await house.stop()
    assert CANARY not in await in_indexes(place)
    assert {key for key, value in await place.records(FACTS) if value is not None}
