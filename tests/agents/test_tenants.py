"""The tenant of a record, for stages that serve tenants in turn."""

from __future__ import annotations

import asyncio
import json

import pytest

from models.consolidation import MergeQuestion
from models.ports import Summarized
from models.summaries import SessionSummary, SummaryRequest
from models.windows import Window
from processors.text.validation import decode
from streams.admin.topics.examples import load_examples
from streams.agents.memory.summaries import Summaries
from streams.agents.tenants import tenant_of
from streams.clients.records import Record, RecordBatch
from streams.config.settings import Settings
from streams.runtime.effects import Effects
from streams.runtime.table import NoState

TOPICS = {
    "memory.windows.v1": Window,
    "memory.summary-requests.v1": SummaryRequest,
    "memory.merge-questions.v1": MergeQuestion,
}


@pytest.mark.parametrize("topic", TOPICS)
def test_each_example_belongs_to_the_tenant_that_its_stage_reads(topic: str) -> None:
    for example in load_examples(topic):
        assert tenant_of(Record(example.value)) == decode(TOPICS[topic], example.value).tenant_id


@pytest.mark.parametrize("value", [None, b"", b"{", b'{"tenant_id": 7}', b'{"tenant_id": "\xff"}', b"[" * 9999])
def test_an_unreadable_record_has_no_tenant(value: bytes | None) -> None:
    assert tenant_of(Record(value)) == ""


def test_a_record_without_tenant_has_the_default_one() -> None:
    assert tenant_of(Record(b"{}")) == "default"


async def test_a_calm_tenants_summary_is_next_beside_many_of_another() -> None:
    """Those of all lanes share the calls that may be open."""
    value = json.loads(load_examples("memory.summary-requests.v1")[0].value or b"")
    began: list[str] = []
    answered: list[asyncio.Event] = []

    class Slow:
        name = "slow"

        async def summarize(self, request: SummaryRequest) -> Summarized:
            began.append(request.tenant_id)
            answered.append(asyncio.Event())
            await answered[-1].wait()
            return Summarized(SessionSummary())

    step = Summaries(Settings(calls_in_flight=2), Slow(), lambda text: 1).stage().async_step
    assert step is not None

    async def turn(tenant: str, count: int) -> Effects:
        asked = json.dumps(value | {"tenant_id": tenant}).encode()
        return await step(RecordBatch([Record(asked, b"k", number) for number in range(count)]), NoState())

    steps = [asyncio.create_task(turn("flood", 5))]
    async with asyncio.timeout(60):
        while len(began) < 2:
            await asyncio.sleep(0)
        steps.append(asyncio.create_task(turn("calm", 1)))
        for _ in range(20):
            await asyncio.sleep(0)
        for number in range(6):
            while len(answered) <= number:
                await asyncio.sleep(0)
            answered[number].set()
        await asyncio.gather(*steps)
    assert began == ["flood", "flood", "calm", "flood", "flood", "flood"]
