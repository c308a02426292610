"""Account of a model's cost: the day's budget of a tenant, and the metrics of each call."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from datetime import UTC, datetime

from streams.config.settings import Settings
from streams.config.settings.endpoints import Endpoint
from streams.llm.memo.memo import MemoLog
from streams.llm.port import Answer, Declined, Throttled, Usage
from streams.llm.prices import cost, price_of
from streams.telemetry.metrics import Metrics

#: The wait after a 429 that asks for none.
_PAUSE_SECONDS = 2.0


class Account:
    """The account of one model.  What was spent is what the memo says, plus what open calls may still cost:
    those of all processes that share a Redis, or of this one alone if each has its own.
    """

    def __init__(
        self,
        settings: Settings,
        endpoint: Endpoint,
        memos: MemoLog,
        metrics: Metrics,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self.model = endpoint.model
        self.generation = settings.generation
        self._memos = memos
        self._metrics = metrics
        self.clock = clock
        self._budget = settings.model_budget_usd
        self._price = price_of(endpoint, settings.own_prices)
        self._lease_seconds = settings.step_timeout_seconds + endpoint.timeout

    def cost(self, usage: Usage) -> float:
        """Return the cost of these tokens in US dollars."""
        return cost(self._price, usage)

    @asynccontextmanager
    async def reserve(self, tenant_id: str, most: float) -> AsyncIterator[bool]:
        """Say whether a call that may cost ``most`` US dollars is within the tenant's budget of the day.

        What it has cost must be in the memo when the block ends.

        Raises:
            DependencyUnavailable: the memo cannot be reached.
        """
        async with self._memos.reserve(
            tenant_id, self.clock(), most, self._budget, self._lease_seconds
        ) as granted:
            yield granted

    @contextmanager
    def call(self, purpose: str) -> Iterator[Call]:
        """Count a call, how long it takes and what becomes of it."""
        call = Call()
        began = time.monotonic()
        try:
            yield call
        finally:
            call.is_open = False
            labels, metrics = (purpose, self.model), self._metrics
            metrics.model_calls_total.labels(*labels, call.outcome).inc()
            metrics.model_call_seconds.labels(*labels).observe(time.monotonic() - began)
            metrics.model_tokens_total.labels(*labels, "input").inc(call.usage.input_tokens)
            metrics.model_tokens_total.labels(*labels, "cached").inc(call.usage.cached_tokens)
            metrics.model_tokens_total.labels(*labels, "output").inc(call.usage.output_tokens)
            metrics.model_cost_usd_total.labels(*labels).inc(self.cost(call.usage))


class Call:
    """An open call: what became of it, and what it took."""

    outcome = "failed"
    usage = Usage()
    is_open = True

    def ended(self, said: Answer | Declined, outcome: str) -> None:
        """Note how it ended."""
        self.outcome = outcome
        self.usage = said.usage

    def release(self, other: Answer | Declined) -> None:
        """Note that nobody waits for it, as another call with the same question was answered.

        It is paid all the same, and took what the other did, as far as can be told.
        """
        if self.is_open:
            self.ended(other, "let_go")


def pause_of(error: Throttled) -> float:
    """Return how long no call is made after this error (seconds)."""
    return _PAUSE_SECONDS if error.retry_after is None else error.retry_after
