"""A question understood over HTTP: recent turns in a real Valkey, facts in the embedded index."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import msgspec
import pytest
from samples import turn

from models.facts import Fact
from models.ids import slot_id, text_fact_id
from models.index import VectorSpace
from models.understanding import QueryUnderstanding
from streams.chat.answering.understanding import Understanding
from streams.clients.local_valkey import LocalValkey
from streams.config.namespace import Namespace
from streams.llm.onnx_embedder import OnnxEmbedder
from streams.server.api.access import Access
from streams.server.api.app import create_api
from streams.server.api.parts import Parts
from streams.server.api.server import serve
from streams.stores.conversation_log import ConversationLog
from streams.stores.qdrant_edge import QdrantEdgeIndex
from streams.stores.qdrant_kinds import FACTS
from streams.stores.search import MemorySearch
from tests.integration.test_api import make_fact

SAID = ["I saw my sister Anna yesterday.", "How is she?", "Very well, thank you."]


def home() -> Fact:
    fact = make_fact("Lives in Munich")
    return msgspec.structs.replace(
        fact,
        fact_id=text_fact_id("default", "ada", "Lives in Munich"),
        slot_id=slot_id("default", "ada", "ada", "home"),
    )


@pytest.fixture
async def client(tmp_path: Path) -> AsyncIterator[httpx.AsyncClient]:
    valkey = LocalValkey(tmp_path, "n")
    await valkey.ensure()
    log = ConversationLog(valkey.client(), Namespace("test-"))
    await log.write([(turn(index, text), index) for index, text in enumerate(SAID)])
    embedder = OnnxEmbedder()
    index = QdrantEdgeIndex(tmp_path / "facts", FACTS, VectorSpace(embedder.model, embedder.dimensions))
    await index.upsert([home()])
    await index.store_vectors([home().fact_id], await embedder.embed([home().statement]), embedder.model)
    search = MemorySearch(index, embedder)
    app = create_api(Parts(search, index, understanding=Understanding(search, log)), Access())
    server = await serve(app, "127.0.0.1", 0)
    async with httpx.AsyncClient(base_url=server.url, trust_env=False, timeout=30.0) as opened:
        yield opened
    await server.stop()
    await index.close()
    await embedder.close()
    await log.close()
    await valkey.close()


async def ask(client: httpx.AsyncClient, query: str, **parameters: str) -> QueryUnderstanding:
    asked = {"q": query, "user_id": "ada", **parameters}
    answer = await client.get("/v1/understanding", params=asked)
    assert answer.status_code == 200, answer.text
    assert (await client.post("/v1/understanding", json=asked)).content == answer.content
    return msgspec.json.decode(answer.content, type=QueryUnderstanding)


async def test_what_was_said_just_before_settles_a_reference(client: httpx.AsyncClient) -> None:
    found = await ask(client, "What does she eat?", conversation_id="c")
    assert found.rewritten_query == "What does Anna eat?"
    assert not found.is_ambiguous


async def test_what_is_remembered_answers(client: httpx.AsyncClient) -> None:
    found = await ask(client, "Where do I live?")
    assert not found.is_ambiguous
    assert found.needed_context_from_memory == ("Lives in Munich",)
