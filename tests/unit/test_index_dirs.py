"""Where indexes live while the embedder is changed: which answer, which are built, which take their place."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from models.index import FactFilter, SearchIndex, VectorSpace
from streams.agents.recall.index import Index
from streams.agents.vectors.recall_indexes import Indexes, open_indexes
from streams.agents.vectors.requests import REQUESTS
from streams.config.settings import Settings
from streams.llm.onnx_model import DIMENSIONS, MODEL
from streams.runtime.testing import StageHarness
from streams.stores.dual_write_index import DualWriteIndex
from streams.stores.index_dirs import IndexDirs, find_index_dirs, noted
from streams.stores.qdrant_edge import QdrantEdgeIndex
from streams.stores.qdrant_kinds import FACTS
from streams.telemetry.metrics import Metrics
from tests.agents.memory_samples import fact

BEFORE, AFTER = VectorSpace(MODEL, DIMENSIONS), VectorSpace("after/2", 3)


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(data_dir=tmp_path)


def chosen(settings: Settings, embedder: str) -> Settings:
    return settings.model_copy(update={"embedder": embedder})


def started(settings: Settings, space: VectorSpace) -> IndexDirs:
    """Do what a worker does when it starts: find its dirs, make them, and note what they are for."""
    dirs = find_index_dirs(settings, space)
    (dirs.folder / "facts").mkdir(parents=True, exist_ok=True)
    dirs.note(space, settings)
    if dirs.beside is not None:
        (dirs.beside / "facts").mkdir(exist_ok=True)
    return dirs


def embedder_of_living(settings: Settings) -> str:
    found = noted(settings)
    return "" if found is None else found[1].embedder


def there(settings: Settings) -> list[str]:
    """What is in the data folder, but for the lock and what its names end with."""
    names = [each.name for each in settings.folder.iterdir() if each.name != "qdrant.moving"]
    return sorted(re.sub("-[0-9a-f]{8}$", "", name) for name in names)


def test_another_embedder_is_built_for_beside_until_it_is_whole(settings: Settings) -> None:
    after = chosen(settings, "onnx:after")
    started(settings, BEFORE)
    for _ in range(2):  # a restart goes on
        dirs = started(after, AFTER)
        assert dirs.beside is not None and dirs.beside.name.startswith("qdrant-after-2-3-")
        assert dirs.living.embedder == "builtin" == embedder_of_living(after)
    (dirs.beside / "facts" / "mine").touch()
    dirs.mark_ready()
    again = started(after, AFTER)
    assert (again.built, embedder_of_living(after)) == (None, "onnx:after")
    assert (again.folder / "facts" / "mine").exists()
    assert there(settings) == ["qdrant"], "the old one is gone"
    assert not (again.folder / "whole").exists()


#: After which step of the exchange the crash came: one is out, one is in, one is not deleted yet.
CRASHES = ("out", "taken", "in", "left")


def crashed(settings: Settings, dirs: IndexDirs, step: str) -> None:
    """Have done what the exchange does, up to a step."""
    assert dirs.beside is not None
    out = dirs.folder.with_name("qdrant.replaced-by-switchboard")
    dirs.folder.rename(out)
    if step == "taken":
        (dirs.folder / "facts").mkdir(parents=True)  # by a command that found none
    if step in ("in", "left"):
        dirs.beside.rename(dirs.folder)
    if step == "left":
        (dirs.folder / "whole").unlink()
        out.rename(dirs.folder.with_name("qdrant.removed-by-switchboard"))


@pytest.mark.parametrize("step", CRASHES)
def test_a_crash_while_one_takes_the_others_place(settings: Settings, step: str) -> None:
    after = chosen(settings, "onnx:after")
    started(settings, BEFORE)
    dirs = started(after, AFTER)
    (dirs.built / "facts" / "theirs").touch()
    dirs.mark_ready()
    crashed(settings, dirs, step)
    assert started(after, AFTER).built is None
    assert embedder_of_living(after) == "onnx:after"
    assert (dirs.folder / "facts" / "theirs").exists()
    assert there(settings) == ["qdrant"]


# -- both at once ------------------------------------------------------------------------------------------

ADA = FactFilter(user_id="ada")
TEA, CELLO = fact("likes tea"), fact("plays the cello")


@pytest.fixture
async def both(tmp_path: Path) -> AsyncIterator[DualWriteIndex[Any, Any]]:
    living = QdrantEdgeIndex[Any, Any](tmp_path / "living", FACTS, VectorSpace("before", 2))
    coming = QdrantEdgeIndex[Any, Any](tmp_path / "coming", FACTS, VectorSpace("after", 3))
    made: SearchIndex[Any, Any] = DualWriteIndex(living, coming)
    assert isinstance(made, DualWriteIndex)
    yield made
    await made.close()


def axis(length: int, *places: int) -> Any:
    return np.eye(length, dtype=np.float32)[[*places]]


async def test_both_are_written_and_the_living_one_is_read(both: DualWriteIndex[Any, Any]) -> None:
    await both.upsert([TEA, CELLO])
    await both.store_vectors([TEA.fact_id], axis(2, 0), "before")
    await both.store_vectors([CELLO.fact_id], axis(3, 0), "after")
    assert both.space.model == "before"
    assert [each.item for each in await both.search_vector(axis(2, 0)[0], ADA, 5)] == [TEA]
    assert [each.item for each in await both.candidate.search_vector(axis(3, 0)[0], ADA, 5)] == [CELLO]
    assert {each.item.fact_id for each in await both.search_text("cello", ADA, 5)} == {CELLO.fact_id}
    await both.erase({TEA.fact_id: 1})
    await both.forget_vectors([TEA.fact_id, CELLO.fact_id])
    for index in (both.active, both.candidate):
        assert [each.fact_id for each in await index.get([TEA.fact_id, CELLO.fact_id])] == [CELLO.fact_id]
        assert await index.vectors([TEA.fact_id, CELLO.fact_id]) == {}


# -- as the recall service opens them ----------------------------------------------------------------------


class Length:
    """An embedder of nothing."""

    def __init__(self, space: VectorSpace) -> None:
        self.model, self.dimensions = space

    async def embed(self, texts: Sequence[str]) -> Any:
        return axis(self.dimensions, *[0 for _ in texts])


async def opened(settings: Settings, space: VectorSpace, resources: AsyncExitStack) -> Indexes:
    return await open_indexes(settings, Length(space), Metrics(), resources, 0.0)


async def test_living_processes_answer_and_others_progress_is_seen(
    settings: Settings,
) -> None:
    async with AsyncExitStack() as resources:
        first = await opened(settings, BEFORE, resources)
        assert (first.built, first.rebuild) == (None, None)
        assert isinstance(first.facts, QdrantEdgeIndex), "as it always was"
        await first.facts.upsert([TEA])
    async with AsyncExitStack() as resources:
        found = await opened(chosen(settings, "onnx:after"), AFTER, resources)
        assert (found.embedder.model, found.facts.space) == (MODEL, BEFORE)
        assert found.built is not None and found.rebuild is not None
        assert found.built.index.space == AFTER
        assert await found.facts.get([TEA.fact_id]) == [TEA]
        assert await found.built.index.get([TEA.fact_id]) == []
        ends = {(topic, 0): 10 for _, topic in found.rebuild._filled}
        assert await found.rebuild.progress(ends) == (0, 60)
        await found.built.index.set_mark((REQUESTS, 0), 4)
        await found.turns.set_mark(("memory.turns.v1", 0), 25)
        assert await found.rebuild.progress(ends) == (14, 60)


# -- what is erased, and what is said of vectors, while one is built -----------------------------------------


@pytest.mark.parametrize("together", [False, True])
async def test_erased_items_do_not_return_in_the_new_one(
    both: DualWriteIndex[Any, Any], together: bool
) -> None:
    """A tombstone that says no version erases what is stored, and the living one has nothing any more."""
    stage = StageHarness(Index(Settings(), both).stage())
    records = [stage.record(TEA), stage.record(CELLO), stage.record(None, key=TEA.fact_id.encode())]
    await both.active.upsert([TEA])
    await both.active.erase({TEA.fact_id: TEA.version})
    for part in [records] if together else [[each] for each in records]:
        await stage.call(*part)
    for index in (both.active, both.candidate):
        assert [each.fact_id for each in await index.get([TEA.fact_id, CELLO.fact_id])] == [CELLO.fact_id]
