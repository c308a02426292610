"""Vectors that cost money, on a real broker and a real Valkey, with a server that counts what it is asked."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from datetime import datetime, timedelta
from typing import Any

import pytest
from memo_rig import NOON, Rig, rig

from deploy.local.model_faults import Fault
from models.errors import DependencyUnavailable
from models.ids import text_fact_id
from models.memo import Memo, Outcome, memo_id
from models.ports import Embedder
from models.vectors import EmbeddingRequest, VectorKind
from processors.retrieval.embedding.wording import request_for
from streams.admin.topics import admin
from streams.agents.recall.embedding import Embedding
from streams.agents.vectors.requests import REQUESTS, key_of
from streams.cli.costs import By, Costs, costs
from streams.clients.catalog import Catalog, catalog_for
from streams.llm.embedders import open_vectors
from streams.llm.memo.topic import Entry, MemoTopic
from streams.llm.memo.vectors import VECTORS
from streams.llm.vectors import ModelVectors
from streams.runtime.testing import StageHarness

pytestmark = pytest.mark.kafka

__all__ = ["rig"]


def request(text: str, tenant: str = "default", about: str = "") -> EmbeddingRequest:
    name = text_fact_id(tenant, "ada", about or text)
    return request_for(VectorKind.FACT, name, text, "ada", tenant)


class Recall:
    """Workers that fill the log of vectors, one after the other."""

    def __init__(self, rig: Rig, resources: AsyncExitStack) -> None:
        self._rig = rig
        self._resources = resources
        self.settings = rig.settings.model_copy(update={"embedder": "gemini"})
        self.topic = MemoTopic(self.settings, topic=VECTORS)
        resources.push_async_callback(self.topic.close)

    async def start(self, at: datetime = NOON, **changes: Any) -> StageHarness:
        """Return the stage of a worker that has just started; ``at``: when it is."""
        settings = self.settings.model_copy(update=changes)
        embedder, paid = await self.opened(at, **changes)
        return StageHarness(Embedding(settings, embedder, paid, clock=lambda: at).stage())

    async def opened(self, at: datetime = NOON, **changes: Any) -> tuple[Embedder, ModelVectors]:
        settings = self.settings.model_copy(update=changes)
        embedder, paid = await open_vectors(settings, self._resources, self._rig.metrics)
        assert isinstance(paid, ModelVectors)
        paid._account.clock = lambda: at
        return embedder, paid

    async def embed(self, stage: StageHarness, *requests: EmbeddingRequest) -> dict[bytes | None, bytes | None]:
        """Return what the stage makes of requests, by key; it is not in the log yet."""
        before = len(stage.outputs)
        await stage.call(*[stage.record(each) for each in requests])
        return {each.key: each.value for each in stage.outputs[before:]}

    async def spend(self, dollars: float) -> None:
        """Have the default tenant spend money on something else."""
        spent = Memo(
            memo_id=memo_id("p-1", "m", "", "default", "mara", "what?"),
            user_id="mara",
            purpose="test",
            prompt="p-1",
            model="m",
            outcome=Outcome.ANSWERED,
            asked_at=NOON,
            cost_usd=dollars,
        )
        await self._rig.log().write([spent])

    async def publish(self, stage: StageHarness, values: dict[bytes | None, bytes | None]) -> None:
        await self.topic.write([Entry(key or b"", value, stage.partition) for key, value in values.items()])

    @property
    def calls(self) -> int:
        return self._rig.server.count("batchEmbedContents")

    def counted(self, outcome: str) -> float:
        found = self._rig.metrics.model_questions_total.labels("embedding", outcome)
        return float(found._value.get())

    async def costs(self) -> Costs:
        return (await costs(self.settings, By.PURPOSE, None))["embedding", "gemini-embedding-001"]


@pytest.fixture
async def recall(rig: Rig) -> AsyncIterator[Recall]:
    async with AsyncExitStack() as resources:
        made = Recall(rig, resources)
        catalog = catalog_for(made.settings)
        await admin.apply(Catalog([catalog.get(VECTORS)], catalog.prefix), made.settings)
        yield made


TEA, CELLO, CATS = request("drinks green tea"), request("plays the cello"), request("owns two cats")


async def test_a_vector_is_paid_once_though_redis_is_emptied(rig: Rig, recall: Recall) -> None:
    stage = await recall.start()
    first = await recall.embed(stage, TEA, CELLO, CATS)
    await recall.publish(stage, first)
    assert recall.calls == 1
    spent = await recall.costs()
    assert (spent.asked, spent.calls, spent.answered) == (3, 1, 3)
    assert spent.input_tokens > 3 and spent.cost_usd > 0.0
    await rig.empty_redis()
    assert await recall.embed(await recall.start(), TEA, CELLO) == {
        key: first[key] for key in map(key_of, (TEA, CELLO))
    }
    assert recall.calls == 1, "the requests were read again"
    assert recall.counted("memo") == 2
    assert await recall.costs() == spent


async def test_a_vector_missing_in_the_log_is_made_again(recall: Recall) -> None:
    stage = await recall.start()
    made = await recall.embed(stage, TEA, CELLO)
    await recall.publish(stage, {key_of(TEA): made[key_of(TEA)]})
    # The worker was killed between the receipt and the vector.
    assert await recall.embed(await recall.start(), TEA, CELLO) == made
    assert recall.calls == 2
    spent = await recall.costs()
    assert (spent.asked, spent.calls) == (3, 2), "what it cost again is counted, too"


async def test_another_text_and_what_was_erased_since_are_made_anew(recall: Recall) -> None:
    stage = await recall.start()
    await recall.publish(stage, await recall.embed(stage, TEA, CELLO))
    await recall.publish(stage, {key_of(CELLO): None})
    again = await recall.start()
    other = request("drinks black tea", about="drinks green tea")
    assert key_of(other) == key_of(TEA)
    await recall.publish(again, await recall.embed(again, other))
    await recall.embed(again, CELLO)
    assert recall.calls == 3
    await recall.embed(await recall.start(), TEA)
    assert recall.calls == 4, "the log has the vector of another text by now"


async def test_above_the_budget_it_waits_for_the_next_day(recall: Recall) -> None:
    await recall.spend(1.0)
    stage = await recall.start(model_budget_usd=1.0)
    assert await recall.embed(stage, TEA, CELLO) == {}
    assert recall.calls == 0 and len(stage.timers) == 2
    assert recall.counted("over_budget") == 2
    stage.tick(NOON + timedelta(hours=12), *stage.timers)
    tomorrow = await recall.start(NOON + timedelta(hours=12), model_budget_usd=1.0)
    assert [each.topic for each in stage.outputs] == [REQUESTS, REQUESTS]
    assert len(await recall.embed(tomorrow, TEA, CELLO)) == 2
    assert recall.calls == 1


async def test_where_nothing_may_be_left_out_nothing_is_called_for(recall: Recall) -> None:
    await recall.spend(1.0)
    _, paid = await recall.opened(model_budget_usd=1.0)
    theirs = request("drinks green tea", "acme")
    for _ in range(2):
        with pytest.raises(
            DependencyUnavailable, match=r"tenant default .* SWITCHBOARD_MODEL_BUDGET_USD"
        ) as waiting:
            await paid.vectors(0, {key_of(each): each for each in (theirs, CELLO)})
        assert waiting.value.dependency == "budget"
    assert recall.calls == 0
    assert recall.counted("over_budget") == 1, "each request once, however often it is tried"


async def test_a_requested_wait_is_kept_by_the_next_vectors(
    rig: Rig, recall: Recall, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("deploy.local.gemini_routes.RETRY_AFTER", 300)
    rig.server.fail(Fault.RATE_LIMITED_AFTER)
    for words in ("429", "the next call may begin in"):
        stage = await recall.start()
        with pytest.raises(DependencyUnavailable, match=words):
            await recall.embed(stage, TEA)
    assert recall.calls == 1
