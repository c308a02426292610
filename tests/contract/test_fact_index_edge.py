"""What only the embedded index promises: one owner, writes that outlive the process, clear errors."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import subprocess
import sys
import threading
from collections.abc import AsyncIterator
from pathlib import Path

import numpy as np
import pytest
from fact_samples import ADA, SPACE, make_fact, unit

from models.errors import ConfigurationError, ConsistencyError, DependencyUnavailable
from streams.stores.qdrant_edge import QdrantEdgeIndex
from streams.stores.qdrant_kinds import FACTS

#: Opens the folder, then upserts, embeds and deletes without end, and says after each write that it returned.
WRITER = """
import asyncio, sys
from pathlib import Path
import numpy as np
from fact_samples import SPACE, make_fact, unit
from streams.stores.qdrant_edge import QdrantEdgeIndex
from streams.stores.qdrant_kinds import FACTS

async def main():
    # No flush: the log alone must carry what has returned.
    index = QdrantEdgeIndex(Path(sys.argv[1]), FACTS, SPACE, flush_seconds=3600.0)
    print("open", flush=True)
    if sys.argv[2] == "hold":
        await asyncio.sleep(3600)
    for number in range(100_000):
        fact = make_fact(f"statement {sys.argv[2]}{number}")
        await index.upsert([fact])
        print("fact", number, flush=True)
        await index.store_vectors([fact.fact_id], np.array([unit(1.0)]), SPACE.model)
        print("vector", number, flush=True)
        await index.upsert([make_fact(fact.statement, version=2)])
        print("version", number, flush=True)
        if number % 3 == 0:
            await index.erase({fact.fact_id: 2})
            print("deleted", number, flush=True)

asyncio.run(main())
"""


@pytest.fixture
async def index(tmp_path: Path) -> AsyncIterator[QdrantEdgeIndex]:
    opened = QdrantEdgeIndex(tmp_path, FACTS, SPACE)
    yield opened
    await opened.close()


def start_writer(folder: Path, mode: str) -> subprocess.Popen[str]:
    """Start a process that owns ``folder``; it has opened it when this returns."""
    here = Path(__file__).parent
    environment = os.environ | {"PYTHONPATH": f"{here}:{here.parent}"}
    command = [sys.executable, "-c", WRITER, str(folder), mode]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
    assert process.stdout is not None
    assert process.stdout.readline() == "open\n"
    return process


async def test_a_second_process_learns_the_owner_and_the_setting(tmp_path: Path) -> None:
    owner = start_writer(tmp_path, "hold")
    try:
        with pytest.raises(ConfigurationError) as refused:
            QdrantEdgeIndex(tmp_path, FACTS, SPACE)
    finally:
        owner.kill()
        owner.communicate()
    message = str(refused.value)
    assert f"process {owner.pid}" in message
    assert str(tmp_path) in message
    assert "one process" in message
    assert "SWITCHBOARD_QDRANT_URL" in message
    # The owner is dead now, and its lock with it.
    await QdrantEdgeIndex(tmp_path, FACTS, SPACE).close()


async def test_the_nearest_among_thousands_are_the_nearest(tmp_path: Path) -> None:
    """Vectors are compared in a few bits first: none of the nearest may get lost by that, then or later."""
    drawn = np.random.default_rng(11)
    rows = drawn.standard_normal((4_000, 384)).astype(np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    facts = [make_fact(f"statement {number}") for number in range(len(rows))]
    names = [fact.fact_id for fact in facts]
    space = SPACE._replace(dimensions=384)
    for _ in range(2):
        opened = QdrantEdgeIndex(tmp_path, FACTS, space)
        if not await opened.count():
            await opened.upsert(facts)
            await opened.store_vectors(names, rows, space.model)
        for asked in drawn.standard_normal((5, 384)).astype(np.float32):
            cosines = rows @ asked / np.linalg.norm(asked)
            nearest = [names[at] for at in np.argsort(-cosines)[:50]]
            found = await opened.search_vector(asked, ADA, 50)
            assert [each.item.fact_id for each in found] == nearest
            assert [each.score for each in found] == pytest.approx(-np.sort(-cosines)[:50], abs=1e-5)
            exact = await opened.cosines(asked, names[:40])
            assert exact == pytest.approx(dict(zip(names, cosines[:40].tolist(), strict=False)), abs=1e-5)
        await opened.close()


async def test_a_second_opener_in_the_same_process_is_refused(index: QdrantEdgeIndex, tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=f"process {os.getpid()}"):
        QdrantEdgeIndex(tmp_path, FACTS, SPACE)
    await index.upsert([make_fact()])
    assert await index.count() == 1


async def test_a_folder_that_failed_to_open_is_free_again(tmp_path: Path) -> None:
    await QdrantEdgeIndex(tmp_path, FACTS, SPACE).close()
    for _ in range(2):
        with pytest.raises(ConfigurationError, match="not for vectors of 16 dimensions"):
            QdrantEdgeIndex(tmp_path, FACTS, SPACE._replace(dimensions=16))
    await QdrantEdgeIndex(tmp_path, FACTS, SPACE).close()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_cannot_be_written_is_a_configuration_error(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(ConfigurationError, match="SWITCHBOARD_DATA_DIR"):
        QdrantEdgeIndex(tmp_path / "qdrant", FACTS, SPACE)


async def test_what_has_returned_survives_kill_9(tmp_path: Path, seed: int) -> None:
    pauses = random.Random(seed)
    for run in ("a", "b", "c"):
        said = await kill_a_writer(tmp_path, run, pauses.uniform(0.0, 0.3))
        returned = {(word, int(number)) for word, number in map(str.split, said)}
        # The last one may have been under way; all before it were finished.
        finished = max(number for _, number in returned)
        opened = QdrantEdgeIndex(tmp_path, FACTS, SPACE)
        facts = [make_fact(f"statement {run}{number}") for number in range(finished)]
        fact_ids = [fact.fact_id for fact in facts]
        stored = {fact.fact_id: fact for fact in await opened.get(fact_ids)}
        by_text = await opened.search_text("statement", ADA, 100_000)
        by_vector = await opened.search_vector(unit(1.0), ADA, 100_000)
        for number, fact in enumerate(facts):
            assert (("deleted", number) in returned) == (number % 3 == 0)
            expected = None if number % 3 == 0 else make_fact(fact.statement, version=2)
            assert stored.get(fact.fact_id) == expected
        assert set(stored) <= {found.item.fact_id for found in by_text}
        assert set(stored) <= {found.item.fact_id for found in by_vector}
        await opened.close()


async def kill_a_writer(folder: Path, run: str, pause: float) -> list[str]:
    """Return what the writer had said, a whole line each, when it was killed after ``pause`` s or so."""
    writer = start_writer(folder, run)
    assert writer.stdout is not None
    said = ""
    while "deleted 3\n" not in said:
        said += writer.stdout.readline()
    await asyncio.sleep(pause)
    writer.send_signal(signal.SIGKILL)
    said += writer.communicate()[0]
    return said[: said.rindex("\n")].splitlines()


def damage(folder: Path, pattern: str) -> None:
    """Overwrite the beginning of every file in ``folder`` that matches."""
    files = list(folder.glob(pattern))
    assert files
    for file in files:
        with file.open("r+b") as stream:
            stream.write(b"garbage!" * 8)


@pytest.mark.parametrize(
    "pattern",
    ["edge_config.json", "segments/*/segment.json", "wal/open-*", "segments/*/mutable_id_tracker.mappings"],
)
async def test_damaged_files_are_a_configuration_error(tmp_path: Path, pattern: str) -> None:
    opened = QdrantEdgeIndex(tmp_path, FACTS, SPACE)
    await opened.upsert([make_fact()])
    await opened.close()
    damage(tmp_path, pattern)
    with pytest.raises(ConfigurationError, match=r"cannot open the index in .* delete it \(rm -r"):
        QdrantEdgeIndex(tmp_path, FACTS, SPACE)


def cut_short(folder: Path, pattern: str) -> None:
    """Leave the first half of the file in ``folder`` that matches."""
    [file] = folder.glob(pattern)
    with file.open("r+b") as stream:
        stream.truncate(file.stat().st_size // 2)


async def test_an_index_that_silently_lost_points_is_refilled(tmp_path: Path) -> None:
    """The engine opens a file that was cut short, and leaves out what it does not hold."""
    places = [("memory.facts.v1", 0), ("memory.facts.v1", 1)]
    opened = QdrantEdgeIndex(tmp_path, FACTS, SPACE)
    for at in range(100):
        await opened.upsert([make_fact(f"statement {at}")])
        await opened.set_mark(places[at % 2], at)
    await opened.close()
    cut_short(tmp_path, "segments/*/mutable_id_tracker.versions")

    opened = QdrantEdgeIndex(tmp_path, FACTS, SPACE)
    assert await opened.count() < 100
    assert await opened.marks(places) == dict.fromkeys(places, 0)
    await opened.upsert([make_fact(f"statement {at}") for at in range(100)])
    await opened.set_mark(places[0], 100)
    await opened.close()
    opened = QdrantEdgeIndex(tmp_path, FACTS, SPACE)
    assert await opened.count() == 100
    assert await opened.marks(places) == {places[0]: 100, places[1]: 0}, "the other one is not filled yet"
    await opened.close()


async def test_a_full_disk_stops_writes_and_nothing_else(tmp_path: Path) -> None:
    opened = QdrantEdgeIndex(tmp_path, FACTS, SPACE)
    known, new = make_fact("known"), make_fact("new")
    await opened.upsert([known])
    opened._disk.minimum_free_bytes = 2**60
    for write in (
        opened.upsert([new]),
        opened.store_vectors([known.fact_id], np.array([unit(1.0)]), SPACE.model),
        opened.erase({known.fact_id: 1}),
    ):
        with pytest.raises(DependencyUnavailable, match="free some space"):
            await write
    assert [found.item for found in await opened.search_text("known", ADA, 5)] == [known]
    opened._disk.minimum_free_bytes = 0
    await opened.upsert([new])
    assert await opened.count() == 2
    await opened.close()
    with pytest.raises(DependencyUnavailable, match="free some space"):
        QdrantEdgeIndex(tmp_path, FACTS, SPACE, minimum_free_bytes=2**60)


async def test_an_error_of_the_engine_is_waited_out(tmp_path: Path) -> None:
    opened = QdrantEdgeIndex(tmp_path, FACTS, SPACE)
    opened._files.shard.engine.close()
    with pytest.raises(DependencyUnavailable, match=f"the embedded index in {tmp_path} failed"):
        await opened.count()
    await opened.close()


async def test_an_error_while_flushing_is_told_to_the_next_writer(tmp_path: Path) -> None:
    opened = QdrantEdgeIndex(tmp_path, FACTS, SPACE)
    opened._files.shard.engine.close()
    opened._flush()
    with pytest.raises(DependencyUnavailable, match="not initialized"):
        await opened.erase({make_fact().fact_id: 1})
    assert opened._flush_error is None
    await opened.close()


async def test_a_panic_of_the_engine_stops_the_worker(index: QdrantEdgeIndex) -> None:
    class PanicException(BaseException):
        """What the engine's bindings raise; their own class cannot be imported."""

    def panic(_: object) -> None:
        raise PanicException("index out of bounds")

    with pytest.raises(ConsistencyError, match="index out of bounds"):
        await index._run(panic)


async def test_a_call_that_cannot_start_in_time_is_given_up(tmp_path: Path) -> None:
    opened = QdrantEdgeIndex(tmp_path, FACTS, SPACE, timeout=0.05)
    free = threading.Event()
    busy = opened._thread.submit(free.wait)
    try:
        with pytest.raises(DependencyUnavailable, match=r"no answer within 0.05 s"):
            await opened.upsert([make_fact()])
    finally:
        free.set()  # or nobody could end the thread
    await asyncio.wrap_future(busy)
    opened._timeout = 30.0
    assert await opened.count() == 0
    await opened.close()


async def test_a_closed_index_says_so(tmp_path: Path) -> None:
    opened = QdrantEdgeIndex(tmp_path, FACTS, SPACE)
    await opened.close()
    await opened.close()
    with pytest.raises(DependencyUnavailable, match="closed"):
        await opened.count()
