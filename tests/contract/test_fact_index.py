"""One contract for every fact index: the embedded engine, qdrant-client's local mode, a Qdrant server.

The server is the one that ``SWITCHBOARD_TEST_QDRANT_URL`` names, and without it one that answers as the oldest
and the newest version do; each test gets a collection of its own.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np
import pytest
from fact_samples import ADA, DIMENSIONS, SPACE, make_fact, unit
from qdrant_stand_in import a_qdrant

from models.errors import ConfigurationError, InvalidRecord
from models.facts import FactStatus
from models.index import FactFilter, FactIndex, VectorSpace
from models.statements import Kind as StatementKind
from streams.stores import qdrant_payload
from streams.stores.qdrant_edge import QdrantEdgeIndex
from streams.stores.qdrant_kinds import FACTS, Kind
from streams.stores.qdrant_payload import SEAL_ID, mark_id
from streams.stores.qdrant_server import QdrantServerIndex

SERVER_URL = os.environ.get("SWITCHBOARD_TEST_QDRANT_URL", "")

Reopen = Callable[[], Awaitable[FactIndex]]


SERVERS = ["server"] if SERVER_URL else [(1, 16), (1, 20)]


@pytest.fixture(params=["edge", "local", *SERVERS], ids=str)
async def reopen(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Reopen]:
    """A function that closes the index, if it is open, and opens the same data again."""
    collection = f"switchboard_test_{uuid4().hex}"
    opened: list[FactIndex] = []
    resources = AsyncExitStack()
    url = SERVER_URL
    if isinstance(request.param, tuple):
        _, url = await resources.enter_async_context(a_qdrant(request.param))

    async def open_again() -> FactIndex:
        if opened:
            await opened.pop().close()
        match request.param:
            case "edge":
                opened.append(QdrantEdgeIndex(tmp_path, FACTS, SPACE))
            case "local":
                opened.append(QdrantServerIndex(str(tmp_path), "facts", FACTS, SPACE))
            case _:
                opened.append(QdrantServerIndex(url, collection, FACTS, SPACE))
        return opened[0]

    async with resources:
        yield open_again
        for index in opened:
            if request.param == "server":
                assert isinstance(index, QdrantServerIndex)
                await index._client.delete_collection(collection)
            await index.close()


@pytest.fixture
async def index(reopen: Reopen) -> FactIndex:
    return await reopen()


@pytest.mark.parametrize("as_one_batch", [True, False])
async def test_an_older_version_never_replaces_a_newer_one(index: FactIndex, as_one_batch: bool) -> None:
    versions = [make_fact(version=number, confidence=number / 10) for number in (2, 3, 1)]
    for batch in [versions] if as_one_batch else [[fact] for fact in versions]:
        await index.upsert(batch)
    assert await index.get([versions[0].fact_id]) == [versions[1]]


async def test_a_fact_id_that_is_no_uuid_is_refused(index: FactIndex) -> None:
    good = make_fact()
    with pytest.raises(InvalidRecord, match="not-a-uuid"):
        await index.upsert([good, make_fact(fact_id="not-a-uuid")])
    assert await index.count() == 0


async def test_the_vector_is_kept_when_the_fact_changes(index: FactIndex) -> None:
    fact = make_fact()
    await index.upsert([fact])
    await index.store_vectors([fact.fact_id], np.array([unit(1.0)]), SPACE.model)
    changed = make_fact(version=2, confidence=0.9)
    await index.upsert([changed])
    found = await index.search_vector(unit(1.0), ADA, 5)
    assert [result.item for result in found] == [changed]
    assert found[0].score == pytest.approx(1.0, abs=1e-5)


async def test_a_vector_before_its_fact_belongs_to_nobody(index: FactIndex, reopen: Reopen) -> None:
    known, unknown = make_fact("known"), make_fact("unknown")
    await index.upsert([known])
    rows = np.array([unit(1.0), unit(0.0, 1.0), unit(0.0, 0.0, 1.0)])
    await index.store_vectors([unknown.fact_id, known.fact_id, "not a uuid"], rows, SPACE.model)
    assert await index.count() == await index.count(ADA) == 1
    assert await index.get([unknown.fact_id]) == []
    assert await index.without_vector([known.fact_id, unknown.fact_id]) == set()
    assert await index.page(ADA, 5) == ([known], None)
    assert await index.search_text("unknown", ADA, 5) == []
    [found] = await index.search_vector(unit(0.0, 1.0), ADA, 5)
    assert (found.item, found.score) == (known, pytest.approx(1.0, abs=1e-5))

    index = await reopen()
    await index.store_vectors([unknown.fact_id], np.array([unit(1.0)]), SPACE.model)
    await index.upsert([unknown])
    assert await index.count() == 2
    assert await index.without_vector([unknown.fact_id]) == set()
    [found, _] = await index.search_vector(unit(1.0), ADA, 5)
    assert (found.item, found.score) == (unknown, pytest.approx(1.0, abs=1e-5))


async def test_vectors_of_another_model_are_refused(index: FactIndex) -> None:
    fact = make_fact()
    await index.upsert([fact])
    with pytest.raises(ConfigurationError, match="words-2 do not fit an index of words-1"):
        await index.store_vectors([fact.fact_id], np.array([unit(1.0)]), "words-2")
    assert await index.without_vector([fact.fact_id]) == {fact.fact_id}
    with pytest.raises(ConfigurationError, match="dimensions"):
        await index.store_vectors([fact.fact_id], np.ones((1, DIMENSIONS + 1), dtype=np.float32), SPACE.model)
    with pytest.raises(ConfigurationError, match="dimensions"):
        await index.search_vector(np.ones(DIMENSIONS + 1, dtype=np.float32), ADA, 5)


async def test_a_fact_without_vector_is_found_by_text(index: FactIndex) -> None:
    fact = make_fact("Ada likes blueberries in smoothies")
    await index.upsert([fact, make_fact("Ada works in Berlin")])
    [found] = await index.search_text("BLUEBERRIES?", ADA, 5)
    assert found.item == fact
    assert found.score > 0.0
    assert await index.search_vector(unit(1.0), ADA, 5) == []


async def test_vector_search_is_ordered_by_cosine(index: FactIndex) -> None:
    directions = {"near": unit(1.0, 0.1), "middle": unit(1.0, 1.0), "far": unit(-1.0, 0.2)}
    facts = [make_fact(name) for name in ("middle", "far", "near")]
    await index.upsert([*facts, make_fact("no vector yet")])
    # Lengths differ on purpose: only the direction counts.
    rows = np.array([directions[fact.statement] * (3.0 if fact.statement == "far" else 0.5) for fact in facts])
    await index.store_vectors([fact.fact_id for fact in facts], rows, SPACE.model)
    found = await index.search_vector(unit(1.0), ADA, 10)
    assert [result.item.statement for result in found] == ["near", "middle", "far"]
    expected = [float(directions[name] @ unit(1.0)) for name in ("near", "middle", "far")]
    assert [result.score for result in found] == pytest.approx(expected, abs=1e-5)
    assert len(await index.search_vector(unit(1.0), ADA, 2)) == 2
    waiting = make_fact("no vector yet").fact_id
    asked = [facts[0].fact_id, facts[2].fact_id, waiting, str(uuid4()), "no uuid"]
    cosines = await index.cosines(unit(1.0), asked)
    assert cosines == pytest.approx({facts[0].fact_id: expected[1], facts[2].fact_id: expected[0]}, abs=1e-5)
    assert await index.cosines(unit(1.0), []) == {}


async def test_one_search_finds_what_two_find(index: FactIndex) -> None:
    drawn = np.random.default_rng(7)
    facts = [make_fact(f"likes {'tea' if number % 3 else 'coffee'} number{number}") for number in range(60)]
    others = [make_fact(f"likes tea number{number}", user_id="bob") for number in range(5)]
    await index.upsert([*facts, *others])
    rows = drawn.standard_normal((60, DIMENSIONS)).astype(np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    with_vectors = [fact.fact_id for number, fact in enumerate(facts) if number % 4]
    await index.store_vectors(with_vectors, rows[: len(with_vectors)], SPACE.model)
    by_meaning = await index.search_vector(rows[50], ADA, 9)
    by_words = await index.search_text("coffee number8 number20", ADA, 9)
    found, cosines = await index.search("coffee number8 number20", rows[50], ADA, 9)
    exact = {name: float(row @ rows[50]) for name, row in zip(with_vectors, rows, strict=False)}
    both = dict.fromkeys(each.item.fact_id for each in (*by_meaning, *by_words))
    assert [each.fact_id for each in found] == [*both]
    assert cosines == pytest.approx({name: exact[name] for name in both if name in exact}, abs=1e-5)
    assert both.keys() - exact.keys(), "none without a vector was found"
    nearest = sorted(exact, key=lambda name: -exact[name])[:9]
    assert [each.item.fact_id for each in by_meaning] == nearest


#: When the facts were last heard of.
HEARD = make_fact().last_evidence_at

FILTERS: dict[str, tuple[FactFilter, set[str]]] = {
    "user": (FactFilter(user_id="bob"), {"of bob"}),
    "tenant": (FactFilter(user_id="ada", tenant_id="acme"), {"of acme"}),
    "default statuses": (ADA, {"active", "profile", "unsure", "lasting"}),
    "any status": (
        FactFilter(user_id="ada", statuses=()),
        {"active", "profile", "unsure", "lasting", "deprecated", "merged"},
    ),
    "kind": (FactFilter(user_id="ada", kinds=(StatementKind.PROFILE,)), {"profile"}),
    "confidence is inclusive": (
        FactFilter(user_id="ada", minimum_confidence=0.7),
        {"active", "profile", "lasting"},
    ),
    "the last moment that counts": (
        FactFilter(user_id="ada", active_at=HEARD),
        {"active", "profile", "unsure", "lasting"},
    ),
    "faded for who is not asked": (
        FactFilter(user_id="ada", passive_at=HEARD + timedelta(days=40)),
        {"lasting"},
    ),
    "lasting": (FactFilter(user_id="ada", lasting_until=HEARD + timedelta(days=100_000)), {"lasting"}),
}


@pytest.fixture
async def varied(index: FactIndex) -> FactIndex:
    """An index with facts that differ in one field each, all with the same vector and the word "fact"."""
    active = {"status": FactStatus.ACTIVE}
    fields: dict[str, dict[str, object]] = {
        "active": active,
        "profile": {**active, "kind": StatementKind.PROFILE},
        "unsure": {**active, "kind": StatementKind.EVENT, "confidence": 0.29},
        "lasting": {**active, "kind": StatementKind.INSTRUCTION},
        "deprecated": {"status": FactStatus.DEPRECATED},
        "merged": {"status": FactStatus.MERGED_INTO},
        "of bob": {**active, "user_id": "bob"},
        "of acme": {**active, "tenant_id": "acme"},
    }
    facts = [make_fact(f"fact {name}", **changes) for name, changes in fields.items()]
    await index.upsert(facts)
    await index.store_vectors([fact.fact_id for fact in facts], np.array([unit(1.0)] * len(facts)), SPACE.model)
    return index


@pytest.mark.parametrize("name", FILTERS)
async def test_every_filter_holds_for_every_way_to_read(varied: FactIndex, name: str) -> None:
    where, expected = FILTERS[name]
    statements = {f"fact {statement}" for statement in expected}
    by_vector = await varied.search_vector(unit(1.0), where, 20)
    by_text = await varied.search_text("fact", where, 20)
    listed, following = await varied.page(where, 20)
    assert {found.item.statement for found in by_vector} == statements
    assert {found.item.statement for found in by_text} == statements
    assert {fact.statement for fact in listed} == statements
    assert following is None
    assert await varied.count(where) == len(statements)


async def test_pages_cover_everything_once_in_order(index: FactIndex) -> None:
    facts = [make_fact(f"statement {number}") for number in range(7)]
    await index.upsert(facts)
    seen: list[str] = []
    start: str | None = None
    for _ in range(4):
        page, start = await index.page(ADA, 2, start)
        seen += [fact.fact_id for fact in page]
    assert start is None
    assert seen == sorted(fact.fact_id for fact in facts)


async def test_erasing_removes_the_fact(index: FactIndex) -> None:
    gone, left = make_fact("gone"), make_fact("left")
    await index.upsert([gone, left])
    await index.store_vectors([gone.fact_id, left.fact_id], np.array([unit(1.0), unit(1.0)]), SPACE.model)
    await index.erase({gone.fact_id: 1, make_fact("never stored").fact_id: 4, "not a uuid": 1})
    await index.erase({})
    assert await index.count() == 1
    assert await index.get([gone.fact_id, left.fact_id]) == [left]
    assert await index.page(ADA, 10) == ([left], None)
    assert [found.item for found in await index.search_vector(unit(1.0), ADA, 5)] == [left]
    assert await index.search_text("gone", ADA, 5) == []


@pytest.mark.parametrize("stored", [True, False])
async def test_an_erasure_is_remembered_by_version(index: FactIndex, reopen: Reopen, stored: bool) -> None:
    fact = make_fact(version=3)
    if stored:
        await index.upsert([fact])
        await index.store_vectors([fact.fact_id], np.array([unit(1.0)]), SPACE.model)
    await index.erase({fact.fact_id: 3})
    index = await reopen()
    await index.upsert([fact])
    await index.upsert([make_fact(version=1)])
    await index.store_vectors([fact.fact_id], np.array([unit(1.0)]), SPACE.model)
    assert await index.get([fact.fact_id]) == []
    assert await index.without_vector([fact.fact_id]) == set()
    assert await index.search_vector(unit(1.0), ADA, 5) == []
    assert await index.count() == 0

    anew = make_fact(version=4)
    await index.upsert([anew])
    assert await index.get([fact.fact_id]) == [anew]
    assert await index.without_vector([fact.fact_id]) == set(), "vectors go by their own topic"
    assert await index.count() == await index.count(ADA) == 1


async def test_every_write_twice_changes_nothing(index: FactIndex) -> None:
    facts = [make_fact(f"statement {number}") for number in range(3)]
    rows = np.array([unit(1.0), unit(0.0, 1.0), unit(1.0, 1.0)])
    fact_ids = [fact.fact_id for fact in facts]
    for _ in range(2):
        await index.upsert(facts)
        await index.store_vectors(fact_ids, rows, SPACE.model)
    assert await index.count() == 3
    assert await index.without_vector(fact_ids) == set()
    assert {found.item.fact_id for found in await index.search_vector(unit(1.0), ADA, 5)} == set(fact_ids)


OTHERS: dict[str, tuple[Kind[Any], VectorSpace, str]] = {
    "dimensions": (FACTS, SPACE._replace(dimensions=16), "not for vectors of 16 dimensions"),
    "model": (
        FACTS,
        SPACE._replace(model="words-2"),
        "built with the model words-1, and this worker has words-2",
    ),
    "kind": (replace(FACTS, name="turns"), SPACE, "an index of facts, and this worker has turns"),
}


@pytest.mark.parametrize("differs", OTHERS)
async def test_an_index_of_something_else_is_refused(reopen: Reopen, tmp_path: Path, differs: str) -> None:
    kind, space, said = OTHERS[differs]
    first = await reopen()
    await first.upsert([make_fact()])
    await first.close()
    with pytest.raises(ConfigurationError, match=said) as refused:
        await open_as(first, tmp_path, kind, space)
    way_out = "rm -r" if isinstance(first, QdrantEdgeIndex) else "curl -X DELETE"
    assert way_out in str(refused.value)
    assert "topics fill it again" in str(refused.value)


async def open_as(first: FactIndex, folder: Path, kind: Kind[Any], space: VectorSpace) -> None:
    if isinstance(first, QdrantEdgeIndex):
        await QdrantEdgeIndex(folder, kind, space).close()
        return
    assert isinstance(first, QdrantServerIndex)
    other = QdrantServerIndex(first._collection._shown, first._name, kind, space)
    try:
        await other.count()
    finally:
        await other.close()


async def test_a_new_format_is_refused(reopen: Reopen, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = await reopen()
    await first.upsert([make_fact()])
    await first.close()
    with monkeypatch.context() as patch:
        patch.setattr(qdrant_payload, "FORMAT", 2)
        with pytest.raises(ConfigurationError, match="of format 1, and this worker has 2"):
            await open_as(first, tmp_path, FACTS, SPACE)
        patch.setattr(qdrant_payload, "SEAL_ID", str(uuid4()))
        with pytest.raises(ConfigurationError, match="does not say what made it"):
            await open_as(first, tmp_path, FACTS, SPACE)


async def test_marks_are_those_of_the_index_and_nobodys_item(reopen: Reopen) -> None:
    index = await reopen()
    places = [("memory.facts.v1", 0), ("memory.facts.v1", 1), ("memory.embeddings.v1", 0)]
    assert await index.marks(places) == dict.fromkeys(places, 0)
    await index.set_mark(places[0], 7)
    await index.set_mark(places[2], 2**40)
    await index.set_mark(places[0], 9)
    assert await index.count() == 0
    index = await reopen()
    assert await index.marks(places) == {places[0]: 9, places[1]: 0, places[2]: 2**40}
    assert await index.get([mark_id(places[0]), SEAL_ID]) == []
    await index.set_mark(places[0], 3)
    assert await index.marks(places[:1]) == {places[0]: 3}, "what is filled again begins again"
