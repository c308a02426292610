"""Known notes of the people in a window, read from a real index."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
import samples
from test_search import embedder, index, make_fact, store
from word_embedder import WordEmbedder

from models.errors import DependencyUnavailable
from models.facts import Fact, FactStatus
from models.index import FactIndex
from models.windows import Window
from streams.stores.remembered.known import KnownFacts
from streams.stores.search import MemorySearch
from tests import prompt_examples as examples

__all__ = ["embedder", "index"]

WINDOW = examples.window()
BEGAN = WINDOW.messages[0].sent_at


def fact(text: str, days: float, **changes: Any) -> Fact:
    """Return a fact about Mara that was said so many days before the window began."""
    return samples.fact(text, at=BEGAN - timedelta(days=days), user_id="mara", **changes)


@pytest.fixture
def source(index: FactIndex, embedder: WordEmbedder) -> KnownFacts:
    return KnownFacts(MemorySearch(index, embedder), index)


async def known(source: KnownFacts, window: Window = WINDOW) -> list[str]:
    return [each.text for each in await source.known([window])]


async def test_standing_notes_come_first_and_only_earlier_ones(
    source: KnownFacts, index: FactIndex, embedder: WordEmbedder
) -> None:
    await store(
        index,
        embedder,
        fact("lives in Munich since January", 30),
        fact("is allergic to nuts", 300, importance=3),
        fact("owns a boat", 3),
        fact("will say so tomorrow", -1),
        fact("sold the car", 9, status=FactStatus.ENDED, valid_to=BEGAN - timedelta(days=2)),
        make_fact("somebody else lives in Munich", user_id="jo"),
    )
    found = await known(source)
    assert found[0] == "is allergic to nuts"
    assert sorted(found) == ["is allergic to nuts", "lives in Munich since January", "owns a boat"]


async def test_a_window_does_not_wait_for_the_views(index: FactIndex, embedder: WordEmbedder) -> None:
    class Down:
        async def page(self, *of: Any) -> Any:
            raise DependencyUnavailable("recall", "gone")

    assert await known(KnownFacts(MemorySearch(index, embedder), Down())) == []  # type: ignore[arg-type]
    embedder.free.clear()
    await index.upsert([fact("owns a boat", 3)])
    slow = KnownFacts(MemorySearch(index, embedder, embed_timeout=60.0), index, seconds=0.2)
    assert await known(slow) == []
