"""Both index engines leave out, when they are read, notes that a policy has expired."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec
import numpy as np
import pytest
import samples

from models import ids
from models.facts import Fact
from models.index import FactFilter, GraphFilter, SearchIndex, VectorSpace
from models.policies import Rules
from models.statements import Kind
from streams.clients.policies.known import prepared
from streams.stores.expiring_index import shown_facts, shown_relations
from streams.stores.qdrant_edge import QdrantEdgeIndex
from streams.stores.qdrant_kinds import FACTS, RELATIONS
from streams.stores.qdrant_kinds import Kind as IndexKind
from streams.stores.qdrant_server import QdrantServerIndex
from tests.agents.memory_samples import fact

SPACE = VectorSpace("words-1", 4)
NOW = datetime(2026, 6, 1, 12, 0, tzinfo=UTC)
WHERE = FactFilter(user_id="ada")


def aged(text: str, kind: Kind, days: float, tenant_id: str = "default") -> Fact:
    return msgspec.structs.replace(
        fact(text),
        fact_id=ids.fact_id(tenant_id, "ada", text),
        kind=kind,
        last_evidence_at=NOW - timedelta(days=days),
        tenant_id=tenant_id,
    )


OLD, NEW = aged("tea at the fair", Kind.EVENT, 91), aged("tea in town", Kind.EVENT, 89)
OTHER = aged("tea with milk", Kind.PREFERENCE, 400)
ELSEWHERE = aged("tea abroad", Kind.EVENT, 400, "acme")
VECTOR = np.array([1, 0, 0, 0], dtype=np.float32)


def opened(kind: IndexKind, engine: str, folder: Path) -> SearchIndex:
    if engine == "edge":
        return QdrantEdgeIndex(folder, kind, SPACE)
    return QdrantServerIndex(str(folder), kind.name, kind, SPACE)


@pytest.fixture(params=["edge", "local"])
async def engine(request: pytest.FixtureRequest) -> AsyncIterator[str]:
    yield request.param


async def test_facts_are_shown_as_long_as_policies_say(engine: str, tmp_path: Path) -> None:
    index = opened(FACTS, engine, tmp_path)
    stored = [OLD, NEW, OTHER, ELSEWHERE]
    await index.upsert(stored)
    await index.store_vectors([each.fact_id for each in stored], np.stack([VECTOR] * 4), SPACE.model)
    clinic = samples.Policies(default=Rules(expires_after={Kind.EVENT: "90d"}))
    shown = shown_facts(index, clinic, lambda: NOW)

    async def read(where: FactFilter) -> list[set[str]]:
        page, _ = await shown.page(where, 10)
        both, _ = await shown.search("tea", VECTOR, where, 10)
        by_words = [each.item for each in await shown.search_text("tea", where, 10)]
        by_vector = [each.item for each in await shown.search_vector(VECTOR, where, 10)]
        return [{each.fact_id for each in found} for found in (page, both, by_words, by_vector)]

    left = {NEW.fact_id, OTHER.fact_id}
    assert await read(WHERE) == [left] * 4
    assert await shown.count(WHERE) == 2
    assert {each.fact_id for each in await shown.get([each.fact_id for each in stored])} == left | {
        ELSEWHERE.fact_id
    }
    # One result is not lost because an expired one was nearer or had a lower id.
    assert len((await shown.page(WHERE, 2))[0]) == 2
    assert await read(FactFilter(user_id="ada", tenant_id="acme")) == [{ELSEWHERE.fact_id}] * 4

    # Nothing was rewritten: with a longer time it is there again.
    clinic.known["default"] = prepared(Rules(expires_after={Kind.EVENT: "92d"}))
    assert await read(WHERE) == [left | {OLD.fact_id}] * 4
    await index.close()


async def test_the_graph_expires_as_relation(engine: str, tmp_path: Path) -> None:
    index = opened(RELATIONS, engine, tmp_path)
    ties = [samples.tie(name, at=NOW - timedelta(days=days)) for name, days in (("Anna", 800), ("Ben", 10))]
    await index.upsert(ties)
    where = GraphFilter(user_id="ada")
    clinic = samples.Policies(default=Rules(expires_after={Kind.RELATION: "730d"}))
    shown = shown_relations(index, clinic, lambda: NOW)
    assert (await shown.page(where, 10))[0] == [ties[1]]
    assert await shown.get([each.relation_id for each in ties]) == [ties[1]]
    clinic.known["default"] = prepared(Rules(expires_after={Kind.EVENT: "1d"}))
    assert len((await shown.page(where, 10))[0]) == 2
    await index.close()
