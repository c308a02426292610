"""recall/index, called without a broker, on the real embedded Qdrant."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from memory_samples import fact

from models.errors import DependencyUnavailable
from models.facts import Fact, FactChange, FactStatus
from models.index import FactFilter, VectorSpace
from streams.adapters.qdrant_edge import QdrantEdgeIndex
from streams.adapters.qdrant_kinds import FACTS as FACT_KIND
from streams.agents.recall.index import Index
from streams.runtime.testing import START, StageHarness
from streams.settings import Settings

DIMENSIONS = 4
ADA = FactFilter(user_id="ada")


class Harness(StageHarness):
    """The stage around ``index``."""

    def __init__(self, index: Any) -> None:
        super().__init__(Index(Settings(), index).stage())
        self.index = index

    def tombstone(self, fact: Fact) -> Any:
        return self.record(None, key=fact.fact_id.encode())

    async def found(self, words: str) -> list[str]:
        return [found.item.statement for found in await self.index.search_text(words, ADA, 10)]


@pytest.fixture
async def index(tmp_path: Path) -> AsyncIterator[QdrantEdgeIndex]:
    opened = QdrantEdgeIndex(tmp_path / "qdrant", FACT_KIND, VectorSpace("words-1", DIMENSIONS))
    yield opened
    await opened.close()


@pytest.fixture
def harness(index: QdrantEdgeIndex) -> Harness:
    return Harness(index)


def reinforced(before: Fact, times: int = 1) -> Fact:
    return msgspec.structs.replace(
        before,
        version=before.version + times,
        change=FactChange.REINFORCED,
        evidence_count=before.evidence_count + times,
    )


def begun_anew(before: Fact, version: int) -> Fact:
    """The fact as somebody said it again after it was erased."""
    return msgspec.structs.replace(before, version=version, erased_until=START)


class TestStoring:
    async def test_a_fact_is_found_by_its_words_at_once(self, harness: Harness) -> None:
        await harness.call(harness.record(fact()), harness.record(fact("plays the cello")))
        assert await harness.found("blueberry") == ["likes blueberries"]
        assert await harness.index.get([fact().fact_id]) == [fact()]

    async def test_a_newer_version_replaces_and_an_older_one_does_not(self, harness: Harness) -> None:
        newer = reinforced(fact(), 2)
        await harness.call(harness.record(fact()))
        await harness.call(harness.record(newer))
        await harness.call(harness.record(reinforced(fact())))
        assert await harness.index.get([newer.fact_id]) == [newer]

    async def test_a_tombstone_removes(self, harness: Harness) -> None:
        await harness.call(harness.record(fact()), harness.record(fact("plays the cello")))
        effects = await harness.call(harness.tombstone(fact()))
        assert effects.dead_letters == []
        assert await harness.index.get([fact().fact_id]) == []
        assert await harness.found("blueberries cello") == ["plays the cello"]

    @pytest.mark.parametrize("batches", [1, 2, 3])
    async def test_a_fact_may_begin_anew_after_its_tombstone(self, harness: Harness, batches: int) -> None:
        """The facts stage goes on counting, so what is no newer than the erased version is a late copy."""
        old, new = reinforced(fact(), 8), begun_anew(fact(), 10)
        records = [
            harness.record(old),
            harness.tombstone(old),
            harness.record(reinforced(fact(), 3)),
            harness.record(new),
            harness.record(old),
        ]
        for at in range(0, len(records), -(-len(records) // batches)):
            await harness.call(*records[at : at + -(-len(records) // batches)])
        assert await harness.index.get([new.fact_id]) == [new]

    async def test_merged_facts_are_kept_and_not_found(self, harness: Harness) -> None:
        merged = msgspec.structs.replace(
            reinforced(fact()), status=FactStatus.MERGED_INTO, merged_into_id=fact("other").fact_id
        )
        await harness.call(harness.record(fact()))
        await harness.call(harness.record(merged))
        assert await harness.found("blueberries") == []
        assert await harness.index.get([merged.fact_id]) == [merged]


BAD: dict[str, Any] = {
    "null_value": {"key": None},
    "empty_value": {"value": b""},
    "invalid_utf8": {"value": b'{"fact_id":"\xff"}'},
    "invalid_json": {"value": b"{not json"},
    "invalid_field": {"value": b'{"fact_id":"f"}'},
    "invalid_fact_id": {"value": msgspec.json.encode(fact(fact_id="fact-7"))},
}


class TestBadInput:
    @pytest.mark.parametrize("reason", BAD)
    async def test_a_bad_record_is_dead_lettered_alone(self, harness: Harness, reason: str) -> None:
        bad = harness.record(None, key=b"k")._replace(**BAD[reason])
        effects = await harness.call(harness.record(fact()), bad, harness.record(fact("plays the cello")))
        assert [(letter.record, letter.reason) for letter in effects.dead_letters] == [(bad, reason)]
        assert await harness.index.count() == 2

    @pytest.mark.parametrize("key", [b"fact-7", b"\xff\xfe", fact().fact_id.upper().encode()])
    async def test_a_tombstone_for_what_is_no_fact_is_dead_lettered_alone(
        self, harness: Harness, key: bytes
    ) -> None:
        bad = harness.record(None, key=key)
        effects = await harness.call(harness.record(fact()), bad, harness.tombstone(fact("plays the cello")))
        assert [(letter.record, letter.reason) for letter in effects.dead_letters] == [(bad, "invalid_fact_id")]
        assert await harness.index.count() == 1


class TestDependencies:
    async def test_an_index_that_is_down_is_waited_for(self, harness: Harness) -> None:
        await harness.index.close()
        with pytest.raises(DependencyUnavailable, match="qdrant"):
            await harness.call(harness.record(fact()))
        assert harness.outputs == []
