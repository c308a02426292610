"""Vectors that cost money: each is paid for once, within the tenant's budget of the day.

::

    requests ─► a receipt in the memo? ─► its vector in the log? ─► no: budget ─► limiter ─► call ─► receipt

The vector itself stands in ``memory.embeddings.v1`` alone; the memo has what it cost, and whom.  No other model
can stand in above the budget, since vectors of two models cannot be compared: what is asked for then waits, and
what other tenants ask for goes on (:mod:`streams.agents.recall.waiting`).
"""

from __future__ import annotations

import uuid
from collections import defaultdict
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import date

import structlog

from models.errors import DependencyUnavailable
from models.memo import Memo, Outcome, memo_id
from models.vectors import EmbeddingRequest
from processors.retrieval.embedding.vectors import pack
from streams.llm.account import Account
from streams.llm.embedder import PURPOSE, ModelEmbedder
from streams.llm.memo.memo import MemoLog
from streams.llm.memo.vectors import VectorLog
from streams.llm.port import Usage
from streams.telemetry.metrics import Metrics

log = structlog.get_logger("streams.llm")

#: What is waited for above the budget, as metrics and logs call it.
BUDGET = "budget"

_VERSION = "embedding-1"

#: Requests of one tenant, by key.
_Asked = dict[bytes, EmbeddingRequest]


class ModelVectors:
    """Implements :class:`models.ports.VectorSource`."""

    def __init__(
        self,
        embedder: ModelEmbedder,
        account: Account,
        memos: MemoLog,
        made: VectorLog,
        metrics: Metrics,
    ) -> None:
        self._embedder = embedder
        self._account = account
        self._memos = memos
        self._made = made
        self._count = metrics.model_questions_total
        #: Requests that wait for another day, so that each is counted once.
        self._waiting: set[str] = set()
        #: On which day it was said last that a tenant's wait.
        self._said: dict[str, date] = {}

    async def vectors(
        self, partition: int, asked: Mapping[bytes, EmbeddingRequest], *, some: bool = False
    ) -> dict[bytes, bytes]:
        """See the port.

        Raises:
            DependencyUnavailable: "budget": a tenant's is spent for today, and not ``some`` are enough.
                Otherwise the endpoint, the broker or Redis is down, slow or throttling.
        """
        ids = {key: self._id(key, request) for key, request in asked.items()}
        receipts = await self._memos.find([*ids.values()])
        paid = {key: request for key, request in asked.items() if ids[key] in receipts}
        found: dict[bytes, bytes] = {}
        if paid:
            wanted = {key: (request.text_hash, self._embedder.model) for key, request in paid.items()}
            found = await self._made.find(partition, wanted)
        known = len(found)
        by_tenant: defaultdict[str, _Asked] = defaultdict(dict)
        for key, request in asked.items():
            if key not in found:
                by_tenant[request.tenant_id][key] = request
        async with AsyncExitStack() as reserved:
            # Before any call: of a batch that waits nothing is called for.
            spent = [
                tenant
                for tenant, theirs in by_tenant.items()
                if not await reserved.enter_async_context(self._within_budget(tenant, theirs, ids))
            ]
            if spent and not some:
                raise DependencyUnavailable(BUDGET, _spent(spent))
            for tenant in spent:
                del by_tenant[tenant]
                self._say_spent(tenant)
            for theirs in by_tenant.values():
                found |= await self._make(theirs, ids, receipts)
        self._count.labels(PURPOSE, "memo").inc(known)
        return found

    def _say_spent(self, tenant: str) -> None:
        """Say once a day that a tenant's vectors wait."""
        today = self._account.clock().date()
        if self._said.get(tenant) != today:
            self._said[tenant] = today
            log.warning(_spent([tenant]), tenant=tenant)

    @asynccontextmanager
    async def _within_budget(self, tenant: str, asked: _Asked, ids: Mapping[bytes, str]) -> AsyncIterator[bool]:
        """Say whether a tenant's vectors can be called for, and count those that cannot."""
        unpaid = self._embedder.unpaid(_texts(asked))
        async with self._account.reserve(tenant, self._account.cost(Usage(sum(unpaid.values())))) as granted:
            if unpaid and not granted:
                new = {ids[key] for key in asked} - self._waiting
                self._count.labels(PURPOSE, Outcome.OVER_BUDGET).inc(len(new))
                self._waiting |= new
            yield granted or not unpaid

    async def _make(
        self, asked: _Asked, ids: Mapping[bytes, str], receipts: Mapping[str, Memo]
    ) -> dict[bytes, bytes]:
        """Call for a tenant's vectors, and write what they cost."""
        texts = _texts(asked)
        vectors = dict(zip(texts, await self._embedder.embed(texts), strict=True))
        paid = self._embedder.take_owed(texts)
        call, left, memos = uuid.uuid4().hex, dict(paid), []
        for key, request in asked.items():
            tokens = left.pop(request.text, 0)  # of several with one text, the first has paid
            if ids[key] not in receipts:
                memos.append(self._receipt(ids[key], request, tokens, call if tokens else ""))
            elif tokens:  # its vector was lost with a worker: what it costs again has a receipt of its own
                memos.append(self._receipt(f"{ids[key]}-{call}", request, tokens, call))
        if memos:
            try:
                await self._memos.write(memos)
            except BaseException:  # cancelled, too: the next call writes it
                self._embedder.owe(paid)
                raise
        self._waiting.difference_update(ids[key] for key in asked)
        self._count.labels(PURPOSE, Outcome.ANSWERED).inc(len(asked))
        return {key: pack(vectors[request.text]) for key, request in asked.items()}

    def _receipt(self, receipt_id: str, request: EmbeddingRequest, tokens: int, call: str) -> Memo:
        where = request.place or request.saying
        return Memo(
            memo_id=receipt_id,
            tenant_id=request.tenant_id,
            user_id=request.user_id,
            conversation_id="" if where is None else where.conversation_id,
            purpose=PURPOSE,
            prompt=_VERSION,
            model=self._account.model,
            outcome=Outcome.ANSWERED,
            asked_at=self._account.clock(),
            call=call,
            input_tokens=tokens,
            cost_usd=self._account.cost(Usage(tokens)),
            generation=self._account.generation,
        )

    def _id(self, key: bytes, request: EmbeddingRequest) -> str:
        asked = f"{key.decode()}/{request.text_hash}"
        return memo_id(_VERSION, self._embedder.model, "", request.tenant_id, request.user_id, asked)


def _spent(tenants: Sequence[str]) -> str:
    return (
        f"the budget of tenant {', '.join(tenants)} for today (UTC) is spent: new vectors wait, and what waits "
        "is found by its words; SWITCHBOARD_MODEL_BUDGET_USD raises it"
    )


def _texts(asked: _Asked) -> list[str]:
    """Return the texts of requests, each once."""
    return [*dict.fromkeys(request.text for request in asked.values())]
