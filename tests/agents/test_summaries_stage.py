"""memory/summaries, called without a broker: every request gets its answer."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Any

import msgspec
import pytest
from memory_samples import MESSAGES, said

from models.errors import DependencyUnavailable
from models.ids import summary_id
from models.ports import Summarized, Summarizer
from models.summaries import SessionSummary, Summary, SummaryRequest
from models.windows import WindowSource
from processors.summaries.building import summary_tokens
from streams.agents.memory.summaries import Summaries
from streams.clients.topics import SUMMARIES
from streams.config.settings import Settings
from streams.llm.builtin_summarizer import BuiltinSummarizer
from streams.llm.onnx_embedder import OnnxEmbedder
from streams.llm.onnx_reader import OnnxReader
from streams.llm.tokenizer import cl100k_counter
from streams.runtime.testing import PARTITION, START, StageHarness

COUNT = cl100k_counter()


class Harness(StageHarness):
    """The stage around ``summarizer``."""

    def __init__(self, summarizer: Summarizer, **settings: Any) -> None:
        super().__init__(Summaries(Settings(**settings), summarizer, COUNT).stage())

    @property
    def summaries(self) -> list[Summary]:
        return self.values(SUMMARIES, Summary)


class ScriptedSummarizer:
    """Says which request it saw, after waiting for as long as ``waits`` says; counts what is open."""

    name = "scripted-1"

    def __init__(self, waits: dict[int, int] | None = None) -> None:
        self._waits = waits or {}
        self.open = 0
        self.cancelled = 0

    async def summarize(self, request: SummaryRequest) -> Summarized:
        self.open += 1
        try:
            for _ in range(self._waits.get(request.from_index, 1)):
                await asyncio.sleep(0)
            return Summarized(self.say(request))
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        finally:
            self.open -= 1

    def say(self, request: SummaryRequest) -> SessionSummary:
        return SessionSummary(key_facts=(f"from {request.from_index}",))


def request_for(first: int = 0, lines: int = 5, conversation: str = "c", **changes: Any) -> SummaryRequest:
    messages = said(*[f"I like number {n}." for n in range(lines)], first=first, conversation=conversation)
    request = SummaryRequest(
        request_id=summary_id("default", conversation, messages[0].message_id, messages[-1].message_id),
        conversation_id=conversation,
        user_id="ada",
        from_index=first,
        to_index=first + lines - 1,
        messages=tuple(messages),
        tokens=1220,
        threshold=1200,
        source=WindowSource(
            topic=MESSAGES,
            partition=PARTITION,
            first_offset=messages[0].offset,
            last_offset=messages[-1].offset,
        ),
        arrived_at=messages[-1].arrived_at,
    )
    return msgspec.structs.replace(request, **changes)


class TestAnswers:
    async def test_a_request_is_answered_with_all_that_identifies_it(self) -> None:
        harness = Harness(ScriptedSummarizer())
        harness.arrived = START + timedelta(hours=1)
        request = request_for(tenant_id="acme")
        await harness.call(harness.record(request))
        (summary,) = harness.summaries
        assert summary.summary_id == summary_id("default", "c", "c-m0", "c-m4")
        assert (summary.request_id, summary.conversation_id) == (request.request_id, "c")
        assert (summary.user_id, summary.tenant_id, summary.summarizer) == ("ada", "acme", "scripted-1")
        assert (summary.from_index, summary.to_index, summary.source) == (0, 4, request.source)
        assert summary.summary == SessionSummary(key_facts=("from 0",))
        assert summary.tokens == summary_tokens(summary.summary, COUNT)
        assert summary.created_at == request.arrived_at < harness.arrived
        (output,) = harness.outputs
        assert (output.topic, output.key, output.route) == (SUMMARIES, summary.summary_id.encode(), b"c")
        assert dict(output.headers)["ce_id"] == summary.summary_id.encode()

    @pytest.mark.parametrize(
        ("mask", "told"), [("on", "[masked: card number]"), ("off", "4111 1111 1111 1111")]
    )
    async def test_turns_are_masked_before_they_are_summarized(self, mask: str, told: str) -> None:
        harness = Harness(BuiltinSummarizer(COUNT, OnnxReader(), OnnxEmbedder()), mask=mask)
        secret = tuple(said("The card for the order of the garden chairs is 4111 1111 1111 1111."))
        await harness.call(harness.record(request_for(lines=1, messages=secret)))
        (output,) = harness.outputs
        assert told.encode() in (output.value or b"")


class TestDependencies:
    async def test_a_summarizer_that_is_down_is_waited_for(self) -> None:
        """The error must arrive as itself, or the runtime takes the request for a bad one; and calls that
        are still open end, or they would be made twice."""

        class Down(ScriptedSummarizer):
            def say(self, request: SummaryRequest) -> SessionSummary:
                if request.from_index == 5:
                    raise DependencyUnavailable("gemini", "503")
                return super().say(request)

        summarizer = Down(waits={10: 1000})
        harness = Harness(summarizer)
        with pytest.raises(DependencyUnavailable, match="gemini") as caught:
            await harness.call(*[harness.record(request_for(first)) for first in (0, 5, 10)])
        assert caught.value.dependency == "gemini"
        assert harness.outputs == []
        assert (summarizer.open, summarizer.cancelled) == (0, 1)
