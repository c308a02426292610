"""When files of embedded indexes are rewritten, and what is said while they cannot be."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import samples

from models.index import TurnFilter, VectorSpace
from models.turns import Turn
from streams.agents.erasure.clean_files import CleanFiles
from streams.stores.dual_write_index import DualWriteIndex
from streams.stores.qdrant_edge import QdrantEdgeIndex
from streams.stores.qdrant_kinds import TURNS, version_at
from streams.telemetry.health import ERASED_FILES, HealthState
from streams.telemetry.metrics import Metrics

AFTER = timedelta(minutes=30)

Index = QdrantEdgeIndex[Turn, TurnFilter]


@pytest.fixture
async def indexes(tmp_path: Path) -> AsyncIterator[list[Index]]:
    opened: list[Index] = [
        QdrantEdgeIndex(tmp_path / str(number), TURNS, VectorSpace("words-1", 4)) for number in range(2)
    ]
    yield opened
    for each in opened:
        await each.close()


async def erase(index: Index, number: int = 1) -> None:
    turn = samples.turn(number, f"quokka {number}")
    await index.upsert([turn])
    await index.erase({turn.turn_id: version_at(turn.arrived_at)})


def looking(metrics: Metrics, later: timedelta, *indexes: Index) -> CleanFiles:
    both = DualWriteIndex[Turn, TurnFilter](*indexes)
    return CleanFiles([both], AFTER, metrics, lambda: datetime.now(UTC) + later)


async def test_files_are_rewritten_once_the_first_erasure_is_old_enough(indexes: list[Index]) -> None:
    metrics = Metrics()
    await erase(indexes[1])
    for later, done, age in ((AFTER / 2, 0, 900), (AFTER * 2, 1, 0), (AFTER * 2, 0, 0)):
        assert await looking(metrics, later, *indexes).look() == done
        shown = metrics.registry.get_sample_value("switchboard_index_erased_seconds")
        assert shown is not None and age <= shown < age + 600
    assert [each.erased_at for each in indexes] == [None, None]


async def test_a_full_disk_is_reported_until_there_is_room(
    indexes: list[Index], monkeypatch: pytest.MonkeyPatch
) -> None:
    metrics, health = Metrics(), HealthState(60.0)
    monkeypatch.setattr("streams.agents.erasure.clean_files._EVERY_SECONDS", 0.01)
    monkeypatch.setattr("streams.stores.qdrant_edge.bytes_of", lambda files: 2**62)
    await erase(indexes[0])
    stop = await looking(metrics, AFTER * 2, *indexes).begin(health)
    async with asyncio.timeout(60):
        while ERASED_FILES not in health.details() or "free some space" not in str(
            health.details()[ERASED_FILES]
        ):
            await asyncio.sleep(0.01)
        assert not health.why_unhealthy()
        monkeypatch.setattr("streams.stores.qdrant_edge.bytes_of", lambda files: 0)
        while health.details().get(ERASED_FILES) is not None:
            await asyncio.sleep(0.01)
    await stop()
    assert indexes[0].erased_at is None
