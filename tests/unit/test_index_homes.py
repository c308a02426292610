"""Where indexes live while the embedder is changed: which answer, which are built, which take their place."""

from __future__ import annotations

import re
import shutil
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack
from datetime import timedelta
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from models.errors import ConfigurationError, DependencyUnavailable
from models.index import FactFilter, SearchIndex, VectorSpace
from models.vectors import EmbeddingResult, VectorKind
from processors.embedding.vectors import pack
from processors.embedding.wording import request_for
from streams.adapters.beside import Beside
from streams.adapters.folder_lock import FolderLock
from streams.adapters.index_homes import Homes, find_homes, forget_builds, noted
from streams.adapters.living_embedder import open_former, open_living
from streams.adapters.onnx_model import DIMENSIONS, MODEL
from streams.adapters.qdrant_edge import QdrantEdgeIndex
from streams.adapters.qdrant_kinds import FACTS
from streams.agents.recall.embedding import ANSWERED_TO, Building, Embedding
from streams.agents.recall.index import Index
from streams.agents.recall.vectors import VectorViews
from streams.runtime.testing import START, StageHarness
from streams.settings import Settings
from streams.telemetry.metrics import Metrics
from streams.topics.reset import _empty
from streams.vectors.recall_indexes import Indexes, open_indexes
from streams.vectors.requests import EMBEDDINGS, REQUESTS
from tests.agents.memory_samples import fact

BEFORE, AFTER = VectorSpace(MODEL, DIMENSIONS), VectorSpace("after/2", 3)


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(data_dir=tmp_path)


def chosen(settings: Settings, embedder: str) -> Settings:
    return settings.model_copy(update={"embedder": embedder})


def started(settings: Settings, space: VectorSpace) -> Homes:
    """Do what a worker does when it starts: find its homes, make them, and note what they are for."""
    homes = find_homes(settings, space)
    (homes.folder / "facts").mkdir(parents=True, exist_ok=True)
    homes.note(space, settings)
    if homes.beside is not None:
        (homes.beside / "facts").mkdir(exist_ok=True)
    return homes


def embedder_of_living(settings: Settings) -> str:
    found = noted(settings)
    return "" if found is None else found[1].embedder


def there(settings: Settings) -> list[str]:
    """What is in the data folder, but for the lock and what its names end with."""
    names = [each.name for each in settings.folder.iterdir() if each.name != "qdrant.moving"]
    return sorted(re.sub("-[0-9a-f]{8}$", "", name) for name in names)


def test_with_the_same_embedder_nothing_is_built_or_moved(settings: Settings) -> None:
    assert noted(settings) is None
    assert [started(settings, BEFORE).built for _ in range(2)] == [None, None]
    assert [each.name for each in settings.folder.iterdir()] == ["qdrant"], "not even a lock"
    written = (settings.folder / "qdrant" / "embedder.json").stat().st_mtime_ns
    assert started(settings, BEFORE).note(BEFORE, settings) == ""
    assert (settings.folder / "qdrant" / "embedder.json").stat().st_mtime_ns == written


def test_another_embedder_is_built_for_beside_until_it_is_whole(settings: Settings) -> None:
    after = chosen(settings, "onnx:after")
    started(settings, BEFORE)
    for _ in range(2):  # a restart goes on
        homes = started(after, AFTER)
        assert homes.beside is not None and homes.beside.name.startswith("qdrant-after-2-3-")
        assert homes.living.embedder == "builtin" == embedder_of_living(after)
    (homes.beside / "facts" / "mine").touch()
    homes.whole()
    again = started(after, AFTER)
    assert (again.built, embedder_of_living(after)) == (None, "onnx:after")
    assert (again.folder / "facts" / "mine").exists()
    assert there(settings) == ["qdrant"], "the old one is gone"
    assert not (again.folder / "whole").exists()


def test_a_build_keeps_its_name_and_another_has_another(settings: Settings) -> None:
    """What one has said in the topic of how far it was must not be taken for another's."""
    after = chosen(settings, "onnx:after")
    started(settings, BEFORE)
    first, again = started(after, AFTER), started(after, AFTER)
    assert first.note(AFTER, after) == again.note(AFTER, after) != ""
    back = started(settings, BEFORE)
    in_place = back.note(BEFORE, settings)
    assert started(settings, BEFORE).note(BEFORE, settings) == in_place != ""
    anew = started(after, AFTER).note(AFTER, after)
    assert started(settings, BEFORE).note(BEFORE, settings) not in {in_place, anew, first}
    (settings.folder / "qdrant" / "behind").write_text("")  # a crash in the middle
    assert started(settings, BEFORE).note(BEFORE, settings) != ""


#: After which step of the exchange the crash came: one is out, one is in, one is not deleted yet.
CRASHES = ("out", "taken", "in", "left")


def crashed(settings: Settings, homes: Homes, step: str) -> None:
    """Have done what the exchange does, up to a step."""
    assert homes.beside is not None
    out = homes.folder.with_name("qdrant.replaced-by-switchboard")
    homes.folder.rename(out)
    if step == "taken":
        (homes.folder / "facts").mkdir(parents=True)  # by a command that found none
    if step in ("in", "left"):
        homes.beside.rename(homes.folder)
    if step == "left":
        (homes.folder / "whole").unlink()
        out.rename(homes.folder.with_name("qdrant.removed-by-switchboard"))


@pytest.mark.parametrize("step", CRASHES)
def test_a_crash_while_one_takes_the_others_place(settings: Settings, step: str) -> None:
    after = chosen(settings, "onnx:after")
    started(settings, BEFORE)
    homes = started(after, AFTER)
    (homes.built / "facts" / "theirs").touch()
    homes.whole()
    crashed(settings, homes, step)
    assert started(after, AFTER).built is None
    assert embedder_of_living(after) == "onnx:after"
    assert (homes.folder / "facts" / "theirs").exists()
    assert there(settings) == ["qdrant"]


@pytest.mark.parametrize("step", CRASHES[:2])
def test_who_goes_back_after_such_a_crash_has_the_living_ones(settings: Settings, step: str) -> None:
    after = chosen(settings, "onnx:after")
    started(settings, BEFORE)
    (settings.folder / "qdrant" / "facts" / "mine").touch()
    homes = started(after, AFTER)
    homes.whole()
    crashed(settings, homes, step)
    back = started(settings, BEFORE)
    assert back.built == back.folder, "what is missing is made again"
    assert (back.folder / "facts" / "mine").exists()
    assert there(settings) == ["qdrant"]


def test_what_another_process_has_keeps_its_place(settings: Settings) -> None:
    after = chosen(settings, "onnx:after")
    started(settings, BEFORE)
    started(after, AFTER).whole()
    for held in ("qdrant/facts", "qdrant.moving"):
        lock = FolderLock(settings.folder / held, "")
        try:
            with pytest.raises(ConfigurationError, match="in use by"):
                find_homes(after, AFTER)
        finally:
            lock.release()
        assert embedder_of_living(after) == "builtin"
        assert there(settings)[:2] == ["qdrant", "qdrant-after-2-3"]


def test_who_goes_back_has_what_is_missing_made_in_place(settings: Settings) -> None:
    started(settings, BEFORE)
    started(chosen(settings, "onnx:after"), AFTER)
    back = started(settings, BEFORE)
    assert (back.built, back.beside) == (back.folder, None)
    assert there(settings) == ["qdrant"], "what was begun is gone"
    back.whole()
    assert started(settings, BEFORE).built is None


def test_living_indexes_that_were_deleted_are_those_that_were_begun(settings: Settings) -> None:
    """Their requests are answered in part: in a new one the others would be missing for ever."""
    after = chosen(settings, "onnx:after")
    started(settings, BEFORE)
    homes = started(after, AFTER)
    build = homes.note(AFTER, after)
    (homes.built / "facts" / "begun").touch()
    shutil.rmtree(homes.folder)
    again = started(after, AFTER)
    assert again.built == again.folder and (again.folder / "facts" / "begun").exists()
    assert again.note(AFTER, after) == build


def test_a_folder_of_somebody_elses_stays(settings: Settings, tmp_path: Path) -> None:
    theirs = [settings.folder / name for name in ("qdrant-server", "qdrant-old", "qdrant-copy")]
    for each in theirs[:2]:
        each.mkdir(parents=True)
    started(settings, BEFORE)
    shutil.copytree(settings.folder / "qdrant", theirs[2])
    begun = started(chosen(settings, "onnx:after"), AFTER).built
    linked = settings.folder / "qdrant-linked"
    linked.symlink_to(begun)
    started(settings, BEFORE)
    started(chosen(settings, "onnx:after"), AFTER).whole()
    started(chosen(settings, "onnx:after"), AFTER)
    assert all(each.is_dir() for each in theirs) and linked.is_symlink()


def test_a_folder_that_does_not_say_what_made_it_is_not_built_in(settings: Settings) -> None:
    after = chosen(settings, "onnx:after")
    started(settings, BEFORE)
    beside = find_homes(after, AFTER).beside
    (beside / "theirs").mkdir(parents=True)
    with pytest.raises(ConfigurationError, match="Move it away"):
        started(after, AFTER)
    assert (beside / "theirs").is_dir()


@pytest.mark.parametrize("damage", [b"", b"{", b"[]"])
def test_a_note_that_cannot_be_read_leaves_it_to_the_seal(settings: Settings, damage: bytes) -> None:
    started(settings, BEFORE)
    (settings.folder / "qdrant" / "embedder.json").write_bytes(damage)
    assert noted(settings) is None
    assert started(settings, BEFORE).built is None
    assert embedder_of_living(settings) == "builtin"


def test_a_third_embedder_takes_the_place_of_one_that_was_begun(settings: Settings) -> None:
    started(settings, BEFORE)
    started(chosen(settings, "onnx:after"), AFTER)
    third = started(chosen(settings, "onnx:third"), VectorSpace("third", 3))
    assert third.living.embedder == "builtin"
    assert there(settings) == ["qdrant", "qdrant-third-3"]


def test_models_that_read_alike_have_folders_of_their_own(settings: Settings) -> None:
    started(settings, BEFORE)
    spaces = [VectorSpace(name, 3) for name in ("a/b", "a-b", "A-b", "m" * 300, "мод", "")]
    names = {find_homes(settings, space).beside.name for space in spaces}
    assert len(names) == len(spaces) and max(map(len, names)) < 120


def test_what_is_begun_goes_when_the_indexes_are_emptied(settings: Settings) -> None:
    """It is filled from topics that may have been made again: what they held before must not come back."""
    after = chosen(settings, "onnx:after")
    started(settings, BEFORE)
    homes = started(after, AFTER)
    behind = (homes.folder / "behind").read_text()
    assert _empty(homes.folder)
    assert there(settings) == ["qdrant"]
    assert (homes.folder / "behind").read_text() not in {"", behind}
    assert not forget_builds(homes.folder)


def test_what_a_crash_left_does_not_come_back_once_the_indexes_were_emptied(settings: Settings) -> None:
    after = chosen(settings, "onnx:after")
    started(settings, BEFORE)
    (settings.folder / "qdrant" / "facts" / "mine").touch()
    homes = started(after, AFTER)
    homes.whole()
    crashed(settings, homes, "out")
    assert _empty(homes.folder)
    assert there(settings) == []
    again = started(after, AFTER)
    assert (again.built, [*(again.folder / "facts").iterdir()]) == (None, [])


# -- both at once ------------------------------------------------------------------------------------------

ADA = FactFilter(user_id="ada")
TEA, CELLO = fact("likes tea"), fact("plays the cello")
PLACE = ("memory.facts.v1", 3)


@pytest.fixture
async def both(tmp_path: Path) -> AsyncIterator[Beside[Any, Any]]:
    living = QdrantEdgeIndex[Any, Any](tmp_path / "living", FACTS, VectorSpace("before", 2))
    coming = QdrantEdgeIndex[Any, Any](tmp_path / "coming", FACTS, VectorSpace("after", 3))
    made: SearchIndex[Any, Any] = Beside(living, coming)
    assert isinstance(made, Beside)
    yield made
    await made.close()


def axis(length: int, *places: int) -> Any:
    return np.eye(length, dtype=np.float32)[[*places]]


async def test_both_are_written_and_the_living_one_is_read(both: Beside[Any, Any]) -> None:
    await both.upsert([TEA, CELLO])
    await both.store_vectors([TEA.fact_id], axis(2, 0), "before")
    await both.store_vectors([CELLO.fact_id], axis(3, 0), "after")
    assert both.space.model == "before"
    assert [each.item for each in await both.search_vector(axis(2, 0)[0], ADA, 5)] == [TEA]
    assert [each.item for each in await both.coming.search_vector(axis(3, 0)[0], ADA, 5)] == [CELLO]
    assert {each.item.fact_id for each in await both.search_text("cello", ADA, 5)} == {CELLO.fact_id}
    await both.erase({TEA.fact_id: 1})
    await both.forget_vectors([TEA.fact_id, CELLO.fact_id])
    for index in (both.living, both.coming):
        assert [each.fact_id for each in await index.get([TEA.fact_id, CELLO.fact_id])] == [CELLO.fact_id]
        assert await index.vectors([TEA.fact_id, CELLO.fact_id]) == {}


async def test_what_is_in_both_is_read(both: Beside[Any, Any]) -> None:
    await both.living.set_mark(PLACE, 9)
    assert await both.marks([PLACE]) == {PLACE: 0}
    await both.set_mark(PLACE, 12)
    assert await both.marks([PLACE]) == {PLACE: 12}


# -- as the recall service opens them ----------------------------------------------------------------------


class Length:
    """An embedder of nothing."""

    def __init__(self, space: VectorSpace) -> None:
        self.model, self.dimensions = space

    async def embed(self, texts: Sequence[str]) -> Any:
        return axis(self.dimensions, *[0 for _ in texts])


async def opened(settings: Settings, space: VectorSpace, resources: AsyncExitStack) -> Indexes:
    return await open_indexes(settings, Length(space), Metrics(), resources, 0.0)


async def test_the_living_ones_answer_and_it_is_seen_how_far_the_others_are(
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


@pytest.mark.parametrize("embedder", ["builtin", "onnx:/gone"])
async def test_an_embedder_that_is_gone_or_another_by_now_leaves_the_words(embedder: str) -> None:
    was = VectorSpace("what-it-was", 2)
    async with AsyncExitStack() as resources:
        found = await open_former(was, Settings(embedder=embedder), resources)
        assert (found.model, found.dimensions) == was
        with pytest.raises(DependencyUnavailable, match="cannot be loaded any more"):
            await found.embed(["tea"])


async def test_a_command_asks_with_the_embedder_of_the_living_ones(settings: Settings, tmp_path: Path) -> None:
    async with AsyncExitStack() as resources:
        assert (await open_living(settings, resources)).model == MODEL
        started(chosen(settings, f"onnx:{tmp_path / 'gone'}"), AFTER)
        assert await open_living(settings, resources, start=True) is not None
        assert (await open_living(settings, resources)).model == AFTER.model
        elsewhere = settings.model_copy(update={"qdrant_url": "http://q"})
        assert (await open_living(elsewhere, resources)).model == MODEL


# -- what is erased, and what is said of vectors, while one is built -----------------------------------------


@pytest.mark.parametrize("together", [False, True])
async def test_what_was_erased_before_does_not_come_back_in_the_new_one(
    both: Beside[Any, Any], together: bool
) -> None:
    """A tombstone that says no version erases what is stored, and the living one has nothing any more."""
    stage = StageHarness(Index(Settings(), both).stage())
    records = [stage.record(TEA), stage.record(CELLO), stage.record(None, key=TEA.fact_id.encode())]
    await both.living.upsert([TEA])
    await both.living.erase({TEA.fact_id: TEA.version})
    for part in [records] if together else [[each] for each in records]:
        await stage.call(*part)
    for index in (both.living, both.coming):
        assert [each.fact_id for each in await index.get([TEA.fact_id, CELLO.fact_id])] == [CELLO.fact_id]


async def test_what_began_anew_since_stays_in_the_living_one(both: Beside[Any, Any]) -> None:
    stage = StageHarness(Index(Settings(), both).stage())
    anew = msgspec.structs.replace(TEA, version=7, erased_until=START + timedelta(days=1))
    await both.living.upsert([anew])
    await stage.call(stage.record(TEA))
    await stage.call(stage.record(None, key=TEA.fact_id.encode()))
    assert await both.living.get([TEA.fact_id]) == [anew]
    assert await both.coming.get([TEA.fact_id]) == []
    await stage.call(stage.record(anew))
    assert await both.coming.get([TEA.fact_id]) == [anew]


def vector(of: Any, model: str, length: int, place: int) -> EmbeddingResult:
    return EmbeddingResult(
        kind=VectorKind.FACT,
        id=of.fact_id,
        user_id="ada",
        text_hash="h",
        model=model,
        dimensions=length,
        vector=pack(axis(length, place)[0]),
    )


def views(both: Beside[Any, Any], build: str = "mine") -> StageHarness:
    made = VectorViews(Settings(), {VectorKind.FACT: both}, built=Building(both.coming, build))
    return StageHarness(made.stage())


async def test_a_vector_of_one_model_does_not_stand_for_the_others(both: Beside[Any, Any]) -> None:
    stage = views(both)
    await both.upsert([TEA, CELLO])
    await stage.call(
        stage.record(vector(TEA, "before", 2, 0)),
        stage.record(vector(TEA, "after", 3, 1)),
        stage.record(vector(CELLO, "before", 2, 1)),
        stage.record(vector(CELLO, "other", 2, 1)),
    )
    assert {*await both.living.vectors([TEA.fact_id, CELLO.fact_id])} == {TEA.fact_id, CELLO.fact_id}
    assert {*await both.coming.vectors([TEA.fact_id, CELLO.fact_id])} == {TEA.fact_id}
    key = f"fact/{TEA.fact_id}".encode()
    await stage.call(stage.record(None, key=key), stage.record(vector(TEA, "after", 3, 2)))
    assert {*await both.living.vectors([TEA.fact_id])} == set(), "erased, and only the other model has it anew"
    assert {*await both.coming.vectors([TEA.fact_id])} == {TEA.fact_id}


async def test_how_far_requests_are_answered_is_said_for_one_build_only(both: Beside[Any, Any]) -> None:
    """Those of another stay in the topic, and what they say is not true of a later one."""
    request = request_for(VectorKind.FACT, TEA.fact_id, "likes tea", "ada", "default")
    for build, mark in (("earlier", 0), ("mine", 1)):
        asked = Embedding(Settings(), Length(AFTER), built=Building(both.coming, build))
        asking = StageHarness(asked.stage())
        await asking.call(asking.record(request))
        [said] = [each for each in asking.last.outputs if each.topic == EMBEDDINGS]
        stage = views(both)
        await stage.call(stage.record(said.value, key=said.key, headers=list(said.headers)))
        place = REQUESTS, stage.partition
        assert (await both.coming.marks([place]))[place] == mark
        assert (await both.living.marks([place]))[place] == 0
    stage = views(both)
    headers = [(ANSWERED_TO, value) for value in (b"mine", b"mine x", b"", b" 7")]
    await stage.call(*[stage.record(None, key=b"fact/x", headers=[each]) for each in headers])
    assert (await both.coming.marks([place]))[place] == 1


@pytest.mark.parametrize(("stored", "mark"), [(True, 3), (False, 0)])
async def test_requests_that_cannot_be_read_do_not_keep_it_from_being_whole(
    both: Beside[Any, Any], stored: bool, mark: int
) -> None:
    """At the end of a partition nothing comes behind them; but what came before must be stored."""
    stage = StageHarness(Embedding(Settings(), Length(AFTER), built=Building(both.coming, "mine")).stage())
    request = request_for(VectorKind.FACT, TEA.fact_id, "likes tea", "ada", "default")
    await stage.call(stage.record(request))
    place = REQUESTS, stage.partition
    if stored:
        await both.coming.set_mark(place, 1)
    await stage.call(stage.record(b"{no json"), stage.record(None, key=b"nothing/x"))
    assert len(stage.dead_letters) == 2
    assert (await both.coming.marks([place]))[place] == mark


async def test_without_a_build_nothing_is_said(tmp_path: Path) -> None:
    stage = StageHarness(Embedding(Settings(), Length(AFTER)).stage())
    request = request_for(VectorKind.FACT, TEA.fact_id, "likes tea", "ada", "default")
    await stage.call(stage.record(request))
    assert all(name != ANSWERED_TO for each in stage.last.outputs for name, _ in each.headers)
    assert stage.spec.view_marks is None
