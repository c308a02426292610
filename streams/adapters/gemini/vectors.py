"""Vectors that cost money: each is paid for once, within the tenant's budget of the day.

::

    requests ─► a receipt in the memo? ─► its vector in the log? ─► no: budget ─► limiter ─► call ─► receipt

The vector itself stands in ``memory.embeddings.v1`` alone; the memo has what it cost, and whom.  No other model
can stand in above the budget, since vectors of two models cannot be compared: what is asked for then waits.
"""

from __future__ import annotations

import uuid
from collections import defaultdict
from collections.abc import Mapping

import structlog

from models.errors import DependencyUnavailable
from models.memo import Memo, Outcome, memo_id
from models.vectors import EmbeddingRequest
from processors.embedding.vectors import pack
from streams.adapters.gemini.account import Account
from streams.adapters.gemini.embedder import PURPOSE, GeminiEmbedder
from streams.adapters.memo.memo import MemoLog
from streams.adapters.memo.vectors import VectorLog
from streams.telemetry.metrics import Metrics

log = structlog.get_logger("streams.gemini")

#: What is waited for above the budget, as metrics and logs call it.
BUDGET = "budget"

_VERSION = "embedding-1"

#: Requests of one tenant, by key.
_Asked = dict[bytes, EmbeddingRequest]


class GeminiVectors:
    """Implements :class:`models.ports.VectorSource`."""

    def __init__(
        self,
        embedder: GeminiEmbedder,
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

    async def vectors(self, partition: int, asked: Mapping[bytes, EmbeddingRequest]) -> dict[bytes, bytes]:
        """See the port.

        Raises:
            DependencyUnavailable: "budget": a tenant's is spent for today, and its vectors wait.  Otherwise
                Gemini, the broker or Redis is down, slow or throttling.
        """
        ids = {key: self._id(key, request) for key, request in asked.items()}
        receipts = await self._memos.find([*ids.values()])
        paid = {key: request for key, request in asked.items() if ids[key] in receipts}
        found: dict[bytes, bytes] = {}
        if paid:
            wanted = {key: (request.text_hash, self._embedder.model) for key, request in paid.items()}
            found = await self._made.find(partition, wanted)
            self._count.labels(PURPOSE, "memo").inc(len(found))
        by_tenant: defaultdict[str, _Asked] = defaultdict(dict)
        for key, request in asked.items():
            if key not in found:
                by_tenant[request.tenant_id][key] = request
        spent = []
        for tenant, theirs in by_tenant.items():
            made = await self._make(tenant, theirs, ids, receipts)
            if made is None:
                spent.append(tenant)
            else:
                found |= made
        if spent:
            raise DependencyUnavailable(
                BUDGET,
                f"the budget of tenant {', '.join(spent)} for today (UTC) is spent: new vectors wait, and what "
                "waits is found by its words; SWITCHBOARD_MODEL_BUDGET_USD raises it",
            )
        return found

    async def _make(
        self, tenant: str, asked: _Asked, ids: Mapping[bytes, str], receipts: Mapping[str, Memo]
    ) -> dict[bytes, bytes] | None:
        """Call for a tenant's vectors, and write what they cost; ``None`` if that is above the budget."""
        texts = [*dict.fromkeys(request.text for request in asked.values())]
        unpaid = self._embedder.unpaid(texts)
        async with self._account.reserve(tenant, self._account.cost(sum(unpaid.values()), 0)) as granted:
            if unpaid and not granted:
                new = {ids[key] for key in asked} - self._waiting
                self._count.labels(PURPOSE, Outcome.OVER_BUDGET).inc(len(new))
                self._waiting |= new
                return None
            vectors = dict(zip(texts, await self._embedder.embed(texts), strict=True))
            call, memos = uuid.uuid4().hex, []
            for key, request in asked.items():
                tokens = unpaid.pop(request.text, 0)  # of several with one text, the first has paid
                if tokens or ids[key] not in receipts:
                    memos.append(self._receipt(ids[key], request, tokens, call if tokens else ""))
            if memos:
                await self._memos.write(memos)
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
            cost_usd=self._account.cost(tokens, 0),
        )

    def _id(self, key: bytes, request: EmbeddingRequest) -> str:
        asked = f"{key.decode()}/{request.text_hash}"
        return memo_id(_VERSION, self._embedder.model, "", request.tenant_id, request.user_id, asked)
