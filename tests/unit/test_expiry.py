"""What is kept no longer leaves the index, a damaged index is still told from it, and Qdrant may be down."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace

import msgspec
import numpy as np
import pytest
import samples

from models.errors import DependencyUnavailable
from models.index import TurnFilter, VectorSpace
from models.messages import Role
from models.turns import Turn
from streams.agents.erasure import expiry as module
from streams.agents.erasure.expiry import Expiry
from streams.stores.qdrant_edge import QdrantEdgeIndex
from streams.stores.qdrant_kinds import TURNS, version_at
from streams.telemetry.health import EXPIRY, HealthState

SPACE = VectorSpace("words-1", 4)
NOON = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
ADA = TurnFilter(user_id="ada")
PLACE = ("memory.turns.v1", 0)


def turn(number: int, arrived: datetime) -> Turn:
    """Said long ago, as an import brings it: what counts is when it came."""
    names = {"conversation_id": "c-1", "message_id": f"m-{number}", "role": Role.USER}
    times = {"sent_at": NOON - timedelta(days=3000), "arrived_at": arrived, "began_at": arrived}
    return samples.turn(number, f"tea number {number}", **names, **times)


@pytest.fixture
async def index(tmp_path: Path) -> AsyncIterator[QdrantEdgeIndex[Turn, TurnFilter]]:
    opened: QdrantEdgeIndex[Turn, TurnFilter] = QdrantEdgeIndex(tmp_path, TURNS, SPACE)
    yield opened
    await opened.close()


async def test_old_items_go_with_vectors_and_others_stay(
    index: QdrantEdgeIndex[Turn, TurnFilter], tmp_path: Path
) -> None:
    old = [turn(number, NOON - timedelta(days=30, seconds=1)) for number in range(230)]
    kept = [turn(1000, NOON - timedelta(days=30)), turn(1001, NOON)]
    await index.upsert([*old, *kept])
    names = [each.turn_id for each in (*old, *kept)]
    await index.store_vectors(names, np.tile(np.eye(1, 4, dtype=np.float32), (len(names), 1)), SPACE.model)
    await index.set_mark(PLACE, 1002)

    expiry = Expiry({"turns": index}, timedelta(days=30), clock=lambda: NOON)
    assert await expiry.look() == len(old)
    assert await expiry.look() == 0
    assert {each.message_id for each in (await index.page(ADA, 500))[0]} == {"m-1000", "m-1001"}
    assert {*await index.vectors(names)} == {each.turn_id for each in kept}

    # Opened again it has as many points as it counted: nothing is taken for lost, and no mark forgotten.
    await index.close()
    again: QdrantEdgeIndex[Turn, TurnFilter] = QdrantEdgeIndex(tmp_path, TURNS, SPACE)
    try:
        assert await again.marks([PLACE]) == {PLACE: 1002}
    finally:
        await again.close()


async def test_a_tombstone_expires_with_the_last_copy(
    index: QdrantEdgeIndex[Turn, TurnFilter],
) -> None:
    """In indexes of what is kept for ever, too; what came again in its place stays."""
    erased, again = turn(1, NOON), turn(2, NOON)
    now = datetime.now(UTC)
    version = version_at(NOON)
    await index.upsert([erased, again])
    await index.erase({each.turn_id: version for each in (erased, again)})
    newer = msgspec.structs.replace(again, arrived_at=NOON + timedelta(days=1))
    await index.upsert([newer])

    async def tombstones() -> set[str]:
        """Of which turns an old copy stays out."""
        await index.upsert([erased, again])
        found = {each.turn_id for each in await index.get([erased.turn_id, again.turn_id])}
        return {erased.turn_id, again.turn_id} - found

    for days, left in ((30, {erased.turn_id}), (32, set())):
        expiry = Expiry(
            {}, timedelta(days=9_999), {"facts": index}, clock=lambda days=days: now + timedelta(days=days)
        )
        assert await expiry.look() == 0
        assert await tombstones() == left, days
    assert await index.get([again.turn_id]) == [newer]


class Fails:
    """An index that fails the first time."""

    def __init__(self, error: Exception) -> None:
        self.errors = [error]
        self.answers = asyncio.Event()

    async def expire(self, field: str, before: datetime) -> int:
        if self.errors:
            raise self.errors.pop()
        self.answers.set()
        return 0


@pytest.mark.parametrize(
    ("error", "shown"), [(DependencyUnavailable("qdrant", "it is away"), False), (KeyError("id"), True)]
)
async def test_failures_are_retried_and_mistakes_shown(
    error: Exception, shown: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    fails, health = Fails(error), HealthState(60.0)
    slept, may = asyncio.Event(), asyncio.Event()

    async def sleep(seconds: float) -> None:
        slept.set()
        await may.wait()
        may.clear()

    monkeypatch.setattr(module, "asyncio", SimpleNamespace(sleep=sleep, gather=asyncio.gather))
    end = await Expiry({"turns": fails}, timedelta(days=30)).begin(health)  # type: ignore[dict-item]
    async with asyncio.timeout(60):
        await slept.wait()
        assert ("KeyError" in str(health.details().get(EXPIRY))) is shown
        assert not health.why_unhealthy()
        may.set()
        await fails.answers.wait()
        while health.details().get(EXPIRY) is not None:
            await asyncio.sleep(0)
    await end()
