"""memory/summaries: requests in, structured summaries out (requirement 5.2).

Every request is answered, repeats included: after a crash an early answer may have been ignored, and the
repeat needs its own.  A summarizer that fails marks nothing: the request waits, or is asked again.  It sees
messages as turns are kept: masked.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import msgspec

from models.errors import InvalidRecord
from models.ports import Summarizer
from models.summaries import Summary, SummaryRequest
from processors.summaries.building import build_summary
from processors.text.tokens import TokenCounter
from processors.text.validation import decode
from streams.agents.emitting import emit
from streams.agents.masking import mask_of, masked_messages
from streams.agents.tenants import tenant_of
from streams.clients.records import RecordBatch
from streams.config.settings import Settings
from streams.llm.tenant_turns import TenantTurns
from streams.runtime.effects import Effects
from streams.runtime.stage import Stage, StateReader

REQUESTS = "memory.summary-requests.v1"


class Summaries:
    """The step around a summarizer.  ``count`` measures what a summary takes up in the context."""

    def __init__(self, settings: Settings, summarizer: Summarizer, count: TokenCounter) -> None:
        self._settings = settings
        self._summarizer = summarizer
        self._count = count
        self._mask = mask_of(settings)
        self._calls = TenantTurns(settings.calls_in_flight)

    def stage(self) -> Stage:
        """Return the stage."""
        return Stage(
            name="summaries",
            sources=(REQUESTS,),
            async_step=self.step,
            batch_records=self._settings.call_batch_records,
            tenant_of=tenant_of,
            decided_by={
                **self._settings.chosen("mask", "mask_patterns"),
                "summarizer": self._summarizer.name,
            },
        )

    async def step(self, batch: RecordBatch, state: StateReader) -> Effects:
        """Summarize the batch's requests, some at a time; publish in the order of the requests."""
        effects = Effects()
        requests: list[SummaryRequest] = []
        for record in batch.records:
            try:
                request = decode(SummaryRequest, record.value)
            except InvalidRecord as error:
                effects.dead_letter(record, error)
                continue
            # Counted where facts are looked for: a request is repeated until it is answered.
            messages = masked_messages(request.messages, self._mask, Effects())
            requests.append(msgspec.structs.replace(request, messages=messages))
        for summary in await self._answers(requests):
            emit(effects, summary)
        return effects

    async def _answers(self, requests: Sequence[SummaryRequest]) -> list[Summary]:
        try:
            async with asyncio.TaskGroup() as group:
                answers = [group.create_task(self._answer(request)) for request in requests]
        except ExceptionGroup as failed:
            # As itself: the runtime waits for a dependency, and takes any other error for a bad record.
            raise failed.exceptions[0] from None
        return [answer.result() for answer in answers]

    async def _answer(self, request: SummaryRequest) -> Summary:
        async with self._calls.turn(request.tenant_id):
            made = await self._summarizer.summarize(request)
        return build_summary(request, made.summary, self._count, made.by or self._summarizer.name)
