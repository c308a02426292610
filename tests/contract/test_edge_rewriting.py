"""Files of an embedded index in which something was erased: rewritten while it serves, by whoever lives on."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest
from fact_samples import ADA, SPACE, make_fact, unit
from hypothesis import given, settings
from hypothesis import strategies as st

from models.errors import DependencyUnavailable
from models.facts import Fact
from models.index import FactFilter
from streams.stores import qdrant_edge_rewriting as rewriting
from streams.stores.qdrant_edge import QdrantEdgeIndex
from streams.stores.qdrant_kinds import FACTS

PLACE = ("memory.facts.v1", 3)

KEPT, GONE = make_fact("Ada likes blueberries"), make_fact("Ada grows quokkaberries")
MORE = [make_fact(f"Ada likes berry number {number}") for number in range(40)]

#: Rewrites the index in a folder, and is killed when it comes to a step for the so many-th time.
KILLED = """
import asyncio, os, signal, sys
from pathlib import Path
from fact_samples import SPACE
from streams.stores import qdrant_edge_rewriting as rewriting
from streams.stores.qdrant_edge import QdrantEdgeIndex
from streams.stores.qdrant_edge_files import EdgeFiles
from streams.stores.qdrant_kinds import FACTS

folder, place, name, times = sys.argv[1:]
owner = {"class": rewriting.Rewriting, "files": EdgeFiles, "module": rewriting}[place]
step, left = getattr(owner, name), int(times)

def killed(*args, **kwargs):
    global left
    left -= 1
    if left == 0:
        os.kill(os.getpid(), signal.SIGKILL)
    return step(*args, **kwargs)

async def main():
    index = QdrantEdgeIndex(Path(folder), FACTS, SPACE)
    setattr(owner, name, killed)
    await index.rewrite(rest=0.0)

asyncio.run(main())
"""

Index = QdrantEdgeIndex[Fact, FactFilter]


@pytest.fixture
async def index(tmp_path: Path) -> AsyncIterator[Index]:
    """An index with facts that stay and one that was erased."""
    index: Index = QdrantEdgeIndex(tmp_path, FACTS, SPACE)
    await index.upsert([KEPT, GONE, *MORE])
    names = [KEPT.fact_id, GONE.fact_id]
    await index.store_vectors(names, np.array([unit(1.0), unit(0.0, 1.0)]), SPACE.model)
    await index.set_mark(PLACE, 41)
    await index.erase({GONE.fact_id: 5})
    yield index
    await index.close()


def holding(folder: Path, word: bytes) -> list[str]:
    return [str(each) for each in folder.rglob("*") if each.is_file() and word in each.read_bytes().lower()]


def copies(folder: Path, pattern: str = "rewritten*") -> list[Path]:
    return [*folder.glob(pattern)]


async def check(index: Index) -> None:
    """Nothing but the erased fact is gone, and an old copy does not bring it back."""
    await index.upsert([GONE])
    assert await index.get([KEPT.fact_id, GONE.fact_id]) == [KEPT]
    assert await index.count() == 1 + len(MORE)
    assert [each.item for each in await index.search_vector(unit(1.0), ADA, 5)] == [KEPT]
    assert [each.item for each in await index.search_text("blueberries", ADA, 5)] == [KEPT]
    assert await index.marks([PLACE]) == {PLACE: 41}


async def check_files(folder: Path) -> None:
    """Opened again it is as it was, and its files hold nothing of what was erased."""
    index: Index = QdrantEdgeIndex(folder, FACTS, SPACE)
    await check(index)
    await index.close()
    assert not holding(folder, b"quokka")
    assert holding(folder, b"blueberries")


async def test_files_hold_nothing_of_it_while_the_index_runs(index: Index, tmp_path: Path) -> None:
    assert holding(tmp_path, b"quokka"), "the engine keeps it"
    for _ in range(2):
        assert index.erased_at is not None and (datetime.now(UTC) - index.erased_at).total_seconds() < 600
        await index.rewrite(rest=0.0)
        assert index.erased_at is None
        assert not holding(tmp_path, b"quokka")
        await check(index)
        another = make_fact("Ada sells quokkaberries")
        await index.upsert([another])
        await index.erase({another.fact_id: 1})
    await index.rewrite(rest=0.0)
    await index.close()
    await check_files(tmp_path)


@pytest.mark.parametrize(
    ("place", "name", "times"),
    [
        ("class", "copy", 1),
        ("class", "copy", 3),
        ("class", "complete", 1),
        ("module", "_sync", 1),
        ("files", "take_place", 1),
        ("module", "_remove", 1),
        ("module", "_remove", 3),
    ],
)
async def test_a_rewriting_that_is_killed_loses_nothing(
    place: str, name: str, times: int, index: Index, tmp_path: Path
) -> None:
    await index.close()
    here = Path(__file__).parent
    environment = os.environ | {"PYTHONPATH": f"{here}:{here.parent}"}
    command = [sys.executable, "-c", KILLED, str(tmp_path), place, name, str(times)]
    done = await asyncio.to_thread(subprocess.run, command, env=environment, timeout=120)
    assert done.returncode == -signal.SIGKILL
    again: Index = QdrantEdgeIndex(tmp_path, FACTS, SPACE)
    assert again.erased_at is not None or not holding(tmp_path, b"quokka"), "clean from the start"
    await check(again)
    if again.erased_at is not None:
        await again.rewrite(rest=0.0)
    await again.close()
    await check_files(tmp_path)


async def test_on_a_full_disk_the_index_stays_as_it_is(
    index: Index, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr("streams.stores.qdrant_edge.bytes_of", lambda files: 2**62)
        with pytest.raises(DependencyUnavailable, match="rewritten without what was erased"):
            await index.rewrite()
    await check(index)
    await index.rewrite(rest=0.0)
    await index.close()
    await check_files(tmp_path)


async def test_a_disk_that_fills_meanwhile_gets_its_room_back(
    index: Index, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = rewriting.Rewriting.copy

    def filling(self: rewriting.Rewriting[Fact]) -> bool:
        index._disk.minimum_free_bytes = 2**60
        return copy(self)

    with monkeypatch.context() as patched:
        patched.setattr(rewriting.Rewriting, "copy", filling)
        with pytest.raises(DependencyUnavailable, match="free some space"):
            await index.rewrite(rest=0.0)
    index._disk.minimum_free_bytes = 0
    await check(index)
    assert not copies(tmp_path)
    assert index.erased_at is not None


async def test_a_copy_that_fails_at_a_write_is_given_up(
    index: Index, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The write itself is done; a copy that lacks it must never live."""
    late = make_fact("Ada likes gooseberries")

    def failing(self: rewriting.Rewriting[Fact], ids: set[str]) -> None:
        raise Exception("the engine fails")

    await index._in_thread(index._files.begin_rewriting)
    with monkeypatch.context() as patched:
        patched.setattr(rewriting.Rewriting, "refresh", failing)
        await index.upsert([late])
    with pytest.raises(DependencyUnavailable, match="given up"):
        await index._in_thread(index._files.take_place)
    assert await index.get([late.fact_id]) == [late]
    await index.rewrite(rest=0.0)
    assert await index.get([late.fact_id]) == [late]


async def test_erasures_during_a_rewrite_are_noted_in_the_new_files(index: Index, tmp_path: Path) -> None:
    late = make_fact("Ada likes gooseberries")
    await index.upsert([late])
    await index._in_thread(index._files.begin_rewriting)
    while await index._in_thread(index._files.copy):
        pass
    await index.erase({late.fact_id: 5})
    await index._in_thread(index._files.take_place)
    assert holding(index._files.living, b"gooseberries")
    assert index.erased_at is not None
    await index.rewrite(rest=0.0)
    assert not holding(tmp_path, b"gooseberries")


async def test_an_index_is_closed_in_the_middle_of_it(index: Index, tmp_path: Path) -> None:
    doing = asyncio.create_task(index.rewrite(rest=1000.0))
    while not copies(tmp_path, "rewritten-*/segments"):
        await asyncio.sleep(0.01)
    doing.cancel()
    await index.close()
    await asyncio.gather(doing, return_exceptions=True)
    assert not copies(tmp_path)
    again: Index = QdrantEdgeIndex(tmp_path, FACTS, SPACE)
    await check(again)
    await again.close()


#: What is done to one of a few facts, between two pieces of a rewriting.
STEPS = st.lists(
    st.tuples(
        st.sampled_from(["upsert", "vector", "forget", "erase", "expire", "mark", "copy"]), st.integers(0, 30)
    ),
    max_size=25,
)


@pytest.mark.property
@settings(max_examples=25, deadline=None)
@given(before=STEPS, meanwhile=STEPS)
async def test_writes_that_come_meanwhile_are_in_the_new_files(
    before: list[tuple[str, int]], meanwhile: list[tuple[str, int]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    index: Index = QdrantEdgeIndex(tmp_path_factory.mktemp("index"), FACTS, SPACE)
    versions = dict.fromkeys(range(31), 0)
    for step in before:
        await do(index, versions, *step)
    await index._in_thread(index._files.begin_rewriting)
    for step in meanwhile:
        await do(index, versions, *step)
    while await index._in_thread(index._files.copy):
        pass
    left = await index._run(lambda shard: everything(shard.engine))
    await index._in_thread(index._files.take_place)
    assert await index._run(lambda shard: everything(shard.engine)) == left
    await index.close()


async def do(index: Index, versions: dict[int, int], what: str, number: int) -> None:
    versions[number] += 1
    fact = make_fact(f"statement {number}", version=versions[number])
    match what:
        case "upsert":
            await index.upsert([fact])
        case "vector":
            row = np.array([unit(1.0, versions[number])])
            await index.store_vectors([fact.fact_id], row, SPACE.model)
        case "forget":
            await index.forget_vectors([fact.fact_id])
        case "erase":
            await index.erase({fact.fact_id: versions[number]})
        case "expire":
            await index.expire("erased_at", datetime.now(UTC))
        case "mark":
            await index.set_mark(PLACE, number)
        case _ if index._files.rewriting is not None:
            await index._in_thread(index._files.copy)


def everything(engine: object) -> dict[str, tuple[object, object]]:
    """Return payload and vector of each point."""
    import qdrant_edge as edge

    assert isinstance(engine, edge.EdgeShard)
    records, following = engine.scroll(edge.ScrollRequest(limit=1000, with_payload=True, with_vector=True))
    assert following is None
    return {str(each.id): (each.payload, each.vector) for each in records}
