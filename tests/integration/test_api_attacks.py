"""Nobody reads what is another person's or another tenant's, on any path, whatever they name."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import NAMESPACE_URL, uuid5

import httpx
import msgspec
import pytest
import samples
from starlette.applications import Starlette
from test_conversation_log import turn

from models.episodes import Episode
from models.facts import Fact
from models.graph import Entity, EntityType, Relation
from models.ids import turn_id
from models.index import VectorSpace
from models.turns import Turn
from streams.clients.local_valkey import LocalValkey
from streams.config.settings import Settings
from streams.llm.onnx_embedder import OnnxEmbedder
from streams.queries.conversations.windows import WindowRetriever
from streams.server.api.access import Access
from streams.server.api.app import create_api
from streams.server.api.catalog import OPERATIONS
from streams.server.api.operations import Scope
from streams.server.api.parts import Parts
from streams.stores.conversation_log import ConversationLog
from streams.stores.index_factory import open_index
from streams.stores.qdrant_kinds import ENTITIES, EPISODES, FACTS, RELATIONS, TURNS
from streams.stores.search import MemorySearch
from streams.stores.search.graph import GraphSearch

#: Attacked where there is what they need.
ELSEWHERE = {
    "/v1/context",
    "/v1/understanding",
    "/v1/events",
    "/v1/status",
    "/v1/conversations/{conversation_id}/log",
    # For operators, of every tenant:
    "/v1/dead-letters",
    "/v1/dead-letters/{topic}",
    "/v1/dead-letters/{topic}/{partition}/{offset}",
    "/v1/dead-letters/{topic}/retry",
    "/v1/dead-letters/{topic}/drop",
    "/v1/policies/{tenant}",
    "/v1/replays",
    "/v1/replays/{generation}",
    # tests/integration/test_api_writing.py
    "/v1/facts/{fact_id}/correct",
    "/v1/messages",
    "/v1/conversations",
    "/v1/conversations/{conversation_id}",
    "/v1/conversations/{conversation_id}/summaries",
    "/v1/conversations/{conversation_id}/close",
    "/v1/conversations/{conversation_id}/export",
    "/v1/people",
    "/v1/people/{user_id}",
    "/v1/people/{user_id}/export",
    "/v1/progress",
    "/v1/conversations/{conversation_id}/turns",
    "/v1/turns/{turn_id}/events",
    "/v1/turns/{turn_id}/stop",
    # tests/integration/test_erase_certificate.py
    "/v1/erasures/{erasure_id}",
    # tests/integration/test_completions.py
    "/v1/chat/completions",
}

#: Who there is, and the word that only they know.  All talk in conversations of the same name.
WORDS = {
    ("default", "ada"): "quince",
    ("default", "bob"): "medlar",
    ("acme", "ada"): "loquat",
    ("acme", "bob"): "damson",
}
PEOPLE = list(WORDS)


def conversation(user: str) -> str:
    return f"talk of {user}"


def said(tenant: str, user: str) -> list[Turn]:
    name, word = conversation(user), WORDS[tenant, user]
    return [
        turn(
            index,
            name,
            tenant_id=tenant,
            user_id=user,
            turn_id=turn_id(tenant, name, f"m{index}"),
            text=f"I keep a {word} tree, said {index} times",
        )
        for index in range(6)
    ]


def known(tenant: str, user: str) -> Fact:
    names = {"user_id": user, "tenant_id": tenant, "last_evidence_at": datetime.now(UTC)}
    return samples.fact(f"Keeps a {WORDS[tenant, user]} tree", **names)


def episode(tenant: str, user: str) -> Episode:
    turns = said(tenant, user)
    return samples.episode(*turns, text="\n".join(each.text for each in turns))


def tied(tenant: str, user: str) -> tuple[list[Entity], Relation]:
    """Whom the person knows, and that they grow what only the person grows."""
    word, at = WORDS[tenant, user], said(tenant, user)[0].sent_at
    grower, tree = (
        Entity(
            entity_id=str(uuid5(NAMESPACE_URL, f"{tenant}/{user}/{name}")),
            user_id=user,
            tenant_id=tenant,
            type=kind,
            name=name,
            aliases=(name,),
            mentions=1,
            first_said_at=at,
            last_said_at=at,
            changed_at=at,
            version=1,
        )
        for name, kind in (("Anna", EntityType.PERSON), (f"{word} tree", EntityType.ORGANIZATION))
    )
    grows = samples.tie(
        tree.name,
        at=at,
        user_id=user,
        tenant_id=tenant,
        from_id=grower.entity_id,
        from_name=grower.name,
        relation="grows",
        to_id=tree.entity_id,
    )
    return [grower, tree], grows


class Topic:
    """All turns, as the topic holds them."""

    async def turns(self, tenant_id: str, conversation_id: str) -> list[Turn]:
        every = [each for person in PEOPLE for each in said(*person)]
        return [
            each for each in every if (each.tenant_id, each.conversation_id) == (tenant_id, conversation_id)
        ]


@pytest.fixture
async def app(tmp_path: Path) -> AsyncIterator[Starlette]:
    folder = tmp_path
    async with AsyncExitStack() as resources:
        settings = Settings(data_dir=folder)
        embedder = OnnxEmbedder()
        resources.push_async_callback(embedder.close)
        await embedder.start()
        space = VectorSpace(embedder.model, embedder.dimensions)
        facts, turns = open_index(settings, FACTS, space), open_index(settings, TURNS, space)
        episodes = open_index(settings, EPISODES, space)
        resources.push_async_callback(facts.close)
        resources.push_async_callback(turns.close)
        resources.push_async_callback(episodes.close)
        entities, relations = open_index(settings, ENTITIES, space), open_index(settings, RELATIONS, space)
        resources.push_async_callback(entities.close)
        resources.push_async_callback(relations.close)
        valkey = LocalValkey(folder, "n")
        resources.push_async_callback(valkey.close)
        log = ConversationLog(valkey.client(), settings.namespace, ready=valkey.ensure)
        resources.push_async_callback(log.close)
        for person in PEOPLE:
            own = said(*person)
            await log.write((each, each.index) for each in own)
            await turns.upsert(own)
            await turns.store_vectors(
                [each.turn_id for each in own], await embedder.embed([each.text for each in own]), space.model
            )
            told = episode(*person)
            await episodes.upsert([told])
            await episodes.store_vectors([told.episode_id], await embedder.embed([told.text]), space.model)
            people, relation = tied(*person)
            await entities.upsert(people)
            await relations.upsert([relation])
            fact = known(*person)
            await facts.upsert([fact])
            await facts.store_vectors([fact.fact_id], await embedder.embed([fact.statement]), space.model)
        search = MemorySearch(facts, embedder, turns, log, episodes)
        graph = GraphSearch(entities, relations)
        parts = Parts(search, facts, windows=WindowRetriever(log, Topic()), graph=graph)
        yield create_api(parts, Access(any_tenant=True))


def attacks(tenant: str, user: str) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """What may be asked of each route that names what is a person's: (route, path, parameters)."""
    word, fact = WORDS[tenant, user], known(tenant, user).fact_id
    for kind in ("both", "facts", "episodes", "turns"):
        yield "/v1/search", "/v1/search", {"q": f"{word} tree", "search_type": kind, "limit": 100}
        yield (
            "/v1/search",
            "/v1/search",
            {"q": word, "search_type": kind, "conversation_id": conversation(user), "minimum_confidence": 0},
        )
    for more in ({}, {"status": "any"}, {"start": fact}, {"start": "00000000-0000-0000-0000-000000000000"}):
        yield "/v1/facts", "/v1/facts", more
    yield "/v1/facts/{fact_id}", f"/v1/facts/{fact}", {}
    (grower, tree), _ = tied(tenant, user)
    for more in (
        {},
        {"q": "Anna"},
        {"q": f"{word} tree"},
        {"entity_id": grower.entity_id},
        {"entity_id": tree.entity_id, "steps": 2},
    ):
        yield "/v1/graph", "/v1/graph", more
    path = f"/v1/conversations/{conversation(user)}/window"
    for more in ({"first": 0, "last": 5}, {"first": 2, "last": 2, "turns": 500}):
        yield "/v1/conversations/{conversation_id}/window", path, more


@pytest.mark.parametrize("asker", PEOPLE, ids=" ".join)
async def test_everybody_finds_their_own_and_nobody_elses(app: Starlette, asker: tuple[str, str]) -> None:
    own = WORDS[asker]
    others = [word for person, word in WORDS.items() if person != asker]
    tried, succeeded = set(), set()
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost") as client:
        for target in PEOPLE:
            for route, path, more in attacks(*target):
                answer = await client.get(path, params={"tenant_id": asker[0], "user_id": asker[1], **more})
                assert answer.status_code in (200, 404), answer.text
                told = msgspec.json.decode(answer.content, type=dict[str, Any])
                told.pop("query", None)  # what was asked is repeated
                text = msgspec.json.encode(told).decode()
                assert not [word for word in others if word in text], (path, more, told)
                what = route, more.get("search_type", "")
                tried.add(what)
                if own in text:
                    succeeded.add(what)
    assert succeeded == tried, "each path answers who may ask"
    paths = {each.path for each in OPERATIONS if each.scope not in (Scope.NONE, Scope.SELF)}
    assert {route for route, _ in tried} | ELSEWHERE == paths, "a new path is attacked, too"
