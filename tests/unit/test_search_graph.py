"""Searching with the graph: a question finds the turns that say what is tied to whom it names."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack
from datetime import timedelta
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
import samples

from models import ids
from models.errors import DependencyUnavailable
from models.index import VectorSpace
from models.messages import Role
from models.turns import Turn
from processors.conversations.episodes.state import kept
from processors.extraction.graph.asking import relations_of
from processors.extraction.graph.reading import read
from processors.extraction.graph.resolving import resolve
from streams.runtime.testing import START
from streams.stores.qdrant_edge import QdrantEdgeIndex
from streams.stores.qdrant_kinds import ENTITIES, FACTS, RELATIONS, TURNS, version_at
from streams.stores.search import MemorySearch, Wanted
from streams.stores.search.graph import GraphSearch

SPACE = VectorSpace("one-way-1", 4)

#: More than an index brings in by itself.
MANY = 130


class OneWay:
    """Every question has the same vector."""

    model, dimensions = SPACE

    async def embed(self, texts: Sequence[str]) -> np.ndarray:
        return np.tile(np.array([1.0, 0, 0, 0], dtype=np.float32), (len(texts), 1))


class Rig(NamedTuple):
    plain: MemorySearch
    search: MemorySearch
    turns: QdrantEdgeIndex
    graph: GraphSearch

    async def tell(self, *texts: str, user: str = "ada", near: bool = True) -> list[Turn]:
        said = [_turn(number, text, user) for number, text in enumerate(texts)]
        await self.turns.upsert(said)
        # Each a little farther from every question than the one before: which come in is no matter of chance.
        angles = np.arange(len(said)) * 0.002 + (0.0 if near else 0.32)
        vectors = np.zeros((len(said), 4), dtype=np.float32)
        vectors[:, 0], vectors[:, 1] = np.cos(angles), np.sin(angles)
        await self.turns.store_vectors([turn.turn_id for turn in said], vectors, SPACE.model)
        found = resolve(read("c", [kept(turn) for turn in said]))
        await self.graph._entities.upsert([*found.entities.values()])
        await self.graph._relations.upsert([*found.relations.values()])
        return said


def _turn(index: int, text: str, user: str) -> Turn:
    at = START + timedelta(minutes=index)
    name = f"{user}-{text}-{index}"
    names = {"turn_id": ids.text_fact_id("default", user, name), "message_id": name, "user_id": user}
    return samples.turn(index, text, at=START, sent_at=at, arrived_at=at, role=Role.USER, **names)


@pytest.fixture
async def rig(tmp_path: Path) -> AsyncIterator[Rig]:
    async with AsyncExitStack() as resources:
        opened = []
        for kind in (FACTS, TURNS, ENTITIES, RELATIONS):
            index: QdrantEdgeIndex = QdrantEdgeIndex(tmp_path / kind.name, kind, SPACE)
            resources.push_async_callback(index.close)
            opened.append(index)
        facts, turns, entities, relations = opened
        graph = GraphSearch(entities, relations)
        plain = MemorySearch(facts, OneWay(), turns, floor=0.0)
        tied = MemorySearch(facts, OneWay(), turns, graph=graph, neighbour_timeout=60.0, floor=0.0)
        yield Rig(plain, tied, turns, graph)


async def find(search: MemorySearch, query: str, **wanted: object) -> dict[str, dict[str, float]]:
    found = await search.search(Wanted(query=query, user_id="ada", limit=50, **wanted))  # type: ignore[arg-type]
    return {each.text: each.parts for each in found}


async def test_a_question_finds_what_neither_words_nor_vectors_do(rig: Rig) -> None:
    await rig.tell("My sister Anna called.", near=False)
    await rig.tell(*[f"It rained again on day {number}." for number in range(MANY)], user="ada")
    question = "Do I have any siblings?"
    assert "My sister Anna called." not in await find(rig.plain, question)
    found = await find(rig.search, question)
    assert next(iter(found)) == "My sister Anna called."
    assert found["My sister Anna called."]["graph"] > 0
    assert {parts["graph"] for text, parts in found.items() if "rained" in text} == {0.0}


async def test_only_turns_that_are_wanted_come_in(rig: Rig) -> None:
    [anna, _] = await rig.tell("My sister Anna called.", "And then it rained.", near=False)
    await rig.tell("My sister Eva called.", user="eve")
    for wanted in (
        {"conversation_id": "other"},
        {"until": anna.sent_at},
        {"since": anna.sent_at + timedelta(seconds=1)},
    ):
        assert anna.text not in await find(rig.search, "my sister", **wanted)
    assert "My sister Eva called." not in await find(rig.search, "my sister")
    assert anna.text in await find(rig.search, "my sister", since=anna.sent_at)


async def test_what_was_erased_does_not_come_back_by_the_graph(rig: Rig) -> None:
    [anna] = await rig.tell("My sister Anna called.", near=False)
    await rig.turns.erase({anna.turn_id: version_at(anna.arrived_at)})
    assert await find(rig.search, "my sister") == {}


async def test_without_the_graph_the_rest_is_found(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    await rig.tell("My sister Anna called.")

    async def down(*_: object) -> object:
        raise DependencyUnavailable("qdrant", "gone")

    monkeypatch.setattr(rig.graph._entities, "search_text", down)
    found = await find(rig.search, "my sister")
    assert found["My sister Anna called."]["graph"] == 0.0


@pytest.mark.parametrize(
    ("question", "relations"),
    [
        ("Which countries have I visited?", {"visited"}),
        ("What are my pets' names?", {"pet"}),
        ("Do I have siblings?", {"brother", "sister"}),
        ("What is the weather like?", set()),
        ("🙂", set()),
    ],
)
def test_which_relations_are_asked_for(question: str, relations: set[str]) -> None:
    assert relations_of(question) == relations
