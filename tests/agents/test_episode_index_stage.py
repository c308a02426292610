"""recall/episode-index, called without a broker, on the real embedded Qdrant."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import samples

from models.episodes import Episode
from models.index import EpisodeFilter, VectorSpace
from streams.agents.recall.episode_index import EpisodeIndex
from streams.clients.erasures import UNTIL_HEADER
from streams.clients.records import Record
from streams.config.settings import Settings
from streams.runtime.testing import StageHarness
from streams.stores.qdrant_edge import QdrantEdgeIndex
from streams.stores.qdrant_kinds import EPISODES as EPISODE_KIND

NOON = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
ADA = EpisodeFilter(user_id="ada")


def episode(number: int, text: str = "Ada: I grow blueberries.", **changes: Any) -> Episode:
    begins = NOON + timedelta(hours=number)
    turns = (samples.turn(2 * number, at=begins), samples.turn(2 * number + 1, at=begins))
    return samples.episode(*turns, **{"text": text, "began_at": NOON, "arrived_at": begins} | changes)


@pytest.fixture
async def index(tmp_path: Path) -> AsyncIterator[QdrantEdgeIndex]:
    opened = QdrantEdgeIndex(tmp_path / "qdrant", EPISODE_KIND, VectorSpace("words-1", 4))
    yield opened
    await opened.close()


async def ids_of(index: QdrantEdgeIndex, where: EpisodeFilter, words: str = "blueberries") -> list[str]:
    return sorted(found.item.episode_id for found in await index.search_text(words, where, 10))


async def test_an_episode_is_found_by_words_then_meaning(
    index: QdrantEdgeIndex,
) -> None:
    harness = StageHarness(EpisodeIndex(Settings(), index).stage())
    await harness.call(harness.record(episode(0)))
    (found,) = await index.search_text("blueberry", ADA, 10)
    assert found.item == episode(0)
    vector = np.array([1, 0, 0, 0], np.float32)
    assert await index.search_vector(vector, ADA, 10) == []
    await index.store_vectors([episode(0).episode_id], vector[None], "words-1")
    (found,) = await index.search_vector(vector, ADA, 10)
    assert found.item == episode(0)


@pytest.mark.parametrize("at_once", [False, True])
async def test_old_copies_of_erased_records_stay_out(index: QdrantEdgeIndex, at_once: bool) -> None:
    """As a worker that was taken for dead may write one; what was said again since comes in."""
    old, name = episode(0, "Ada: I grow blueberries."), episode(0).episode_id
    again = episode(0, "Ada: I grow blueberries again.", arrived_at=NOON + timedelta(days=2))
    harness = StageHarness(EpisodeIndex(Settings(), index).stage())

    async def read(*records: Record) -> None:
        for part in [records] if at_once else [[each] for each in records]:
            await harness.call(*part)

    until = [(UNTIL_HEADER, (NOON + timedelta(days=1)).isoformat().encode())]
    gone = harness.record(None, key=name.encode(), headers=until)
    await read(harness.record(old), gone, harness.record(old))
    assert await ids_of(index, ADA) == []
    await read(harness.record(again), gone, last := harness.record(old))
    assert await index.get([name]) == [again]
    place = (last.topic, last.partition)
    assert await index.marks([place]) == {place: last.offset + 1}
    harness.arrived = NOON + timedelta(days=3)
    await read(harness.record(None, key=name.encode()), harness.record(again))
    assert await ids_of(index, ADA) == []
    assert harness.dead_letters == []
