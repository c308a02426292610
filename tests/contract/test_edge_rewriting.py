"""The files of an embedded index in which something was erased, after the next start."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from fact_samples import ADA, SPACE, make_fact, unit

from streams.stores import qdrant_edge_rewriting as rewriting
from streams.stores.qdrant_edge import QdrantEdgeIndex
from streams.stores.qdrant_kinds import FACTS

PLACE = ("memory.facts.v1", 3)

KEPT, GONE = make_fact("Ada likes blueberries"), make_fact("Ada grows quokkaberries")


async def filled(folder: Path) -> None:
    """Fill an index with a fact that stays and one that is erased."""
    index = QdrantEdgeIndex(folder, FACTS, SPACE)
    await index.upsert([KEPT, GONE])
    names = [KEPT.fact_id, GONE.fact_id]
    await index.store_vectors(names, np.array([unit(1.0), unit(0.0, 1.0)]), SPACE.model)
    await index.set_mark(PLACE, 41)
    await index.erase({GONE.fact_id: 5})
    await index.close()


def holding(folder: Path, word: bytes) -> list[str]:
    return [str(each) for each in folder.rglob("*") if each.is_file() and word in each.read_bytes().lower()]


async def check(folder: Path) -> None:
    """Nothing but the erased fact is gone, and an old copy does not bring it back."""
    index = QdrantEdgeIndex(folder, FACTS, SPACE)
    await index.upsert([GONE])
    assert await index.get([KEPT.fact_id, GONE.fact_id]) == [KEPT]
    assert [each.item for each in await index.search_vector(unit(1.0), ADA, 5)] == [KEPT]
    assert [each.item for each in await index.search_text("blueberries", ADA, 5)] == [KEPT]
    assert await index.marks([PLACE]) == {PLACE: 41}
    await index.close()
    assert not holding(folder, b"quokka")
    assert holding(folder, b"blueberries")


async def test_the_files_hold_nothing_of_it(tmp_path: Path) -> None:
    await filled(tmp_path)
    assert holding(tmp_path, b"quokka"), "the engine keeps it"
    await check(tmp_path)


@pytest.mark.parametrize("steps", [1, 2, 3])
async def test_a_rewriting_that_was_interrupted_goes_on(
    steps: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await filled(tmp_path)
    done = 0
    remove = rewriting._remove

    def interrupted(path: Path) -> None:
        nonlocal done
        done += 1
        if done == steps:
            raise KeyboardInterrupt
        remove(path)

    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(rewriting, "_remove", interrupted)
        QdrantEdgeIndex(tmp_path, FACTS, SPACE)
    await check(tmp_path)


async def test_a_copy_that_was_not_finished_is_made_anew(tmp_path: Path) -> None:
    await filled(tmp_path)
    (tmp_path / "rewritten" / "segments").mkdir(parents=True)
    await check(tmp_path)


async def test_on_a_full_disk_the_index_opens_as_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    await filled(tmp_path)
    with monkeypatch.context() as patched:
        patched.setattr(rewriting, "_needed", lambda folder: 2**62)
        index = QdrantEdgeIndex(tmp_path, FACTS, SPACE)
        assert await index.get([KEPT.fact_id]) == [KEPT]
        await index.close()
    await check(tmp_path)
