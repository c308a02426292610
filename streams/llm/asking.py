"""Asking a language model: from the memo, or within limits and budget, and into the memo before it is used.

::

    questions ─► known? ─► the tenant's budget left? ─► grouped by person ─► the tenant's turn, limiter ─► call
    ─► memo ─► answers

What was answered before is not asked again.  What cannot be answered now is to be tried later, and what was
answered meanwhile is in the memo by then.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence

from models.errors import DependencyUnavailable, Unanswered
from models.memo import Erased, Memo, memo_id
from models.ports import TryLater
from processors.text.tokens import TokenCounter
from streams.config.settings import Settings
from streams.config.settings.endpoints import Endpoint
from streams.llm.account import Account
from streams.llm.limiter import Limiter
from streams.llm.memo.memo import MemoLog
from streams.llm.model_batch import CallContext, ModelBatch
from streams.llm.port import DEPENDENCY, Provider
from streams.llm.questions import Purpose, Question, groups_of
from streams.llm.tenant_turns import TenantTurns
from streams.telemetry.metrics import Metrics

#: Of the time that a stage's step may take, how much is spent on waiting and calling.
_SHARE_OF_STEP = 0.8


def parameters_of(endpoint: Endpoint) -> str:
    """Return the sampling parameters that an answer depends on."""
    extra = json.dumps(endpoint.extra, sort_keys=True) if endpoint.extra else ""
    return f"temperature=0{extra}"


class Asking:
    """Access to a model for every purpose.  ``count`` estimates the tokens of a prompt."""

    def __init__(
        self,
        settings: Settings,
        client: Provider,
        limiter: Limiter,
        memos: MemoLog,
        metrics: Metrics,
        count: TokenCounter,
    ) -> None:
        endpoint = settings.model_endpoint
        self.model = endpoint.model
        self.parameters = parameters_of(endpoint)
        self._settings = settings
        self.client = client
        self.limiter = limiter
        self.memos = memos
        self._metrics = metrics
        self.account = Account(settings, endpoint, memos, metrics)
        hedge = settings.model_hedge_seconds
        self._call_context = CallContext(
            self.model,
            client,
            TenantTurns(settings.model_calls_in_flight),
            limiter,
            memos,
            self.account,
            metrics,
            count,
            hedge,
            {},
        )

    async def answers(self, purpose: Purpose, questions: Sequence[Question]) -> list[Memo | TryLater | Erased]:
        """Return the outcome of each question, in order; ``Erased``: its conversation was erased, no model
        is asked.

        Raises:
            DependencyUnavailable: memo or limiter cannot be reached; what was answered is in the memo.
        """
        ids = [
            memo_id(purpose.version, self.model, self.parameters, each.tenant_id, each.user_id, each.asked)
            for each in questions
        ]
        found: dict[str, Memo | TryLater] = {**await self.memos.find(ids)}
        erased = await self._erased(questions, ids, found)
        self._metrics.model_questions_total.labels(purpose.name, "memo").inc(
            sum(key in found for number, key in enumerate(ids) if number not in erased)
        )
        self._metrics.model_questions_total.labels(purpose.name, "erased").inc(len(erased))
        new = {
            key: number
            for number, key in reversed([*enumerate(ids)])
            if key not in found and number not in erased
        }
        deadline = asyncio.get_running_loop().time() + _SHARE_OF_STEP * self._settings.step_timeout_seconds
        groups = groups_of(sorted(new.values()), questions, purpose.per_call)
        batches = [ModelBatch(self._call_context, purpose, questions, ids, deadline) for _ in groups]
        try:
            async with asyncio.TaskGroup() as tasks:
                for batch, group in zip(batches, groups, strict=True):
                    tasks.create_task(batch.run(group))
        except ExceptionGroup as failed:
            raise failed.exceptions[0] from None
        for batch in batches:
            found |= batch.found
        if new:
            # What was erased meanwhile: who erased it may have looked before the answer was there.
            erased |= await self._erased(questions, ids, found)
        return [erased[number] if number in erased else found[key] for number, key in enumerate(ids)]

    async def _erased(
        self, questions: Sequence[Question], ids: Sequence[str], found: Mapping[str, Memo | TryLater]
    ) -> dict[int, Erased]:
        """Return the questions, by number, that are about what was erased; what was answered to them goes."""
        about = [(each.tenant_id, each.conversation_id) for each in questions if each.said]
        known = await self.memos.erased(about) if about else {}
        erased = {
            number: until
            for number, each in enumerate(questions)
            if (until := known.get((each.tenant_id, each.conversation_id))) is not None
            and until.touches(each.said)
        }
        wanted = {key for number, key in enumerate(ids) if number not in erased}
        answers = [found[ids[number]] for number in erased if ids[number] in found.keys() - wanted]
        if gone := [each for each in answers if isinstance(each, Memo)]:
            await self.memos.erase(gone)
        return erased


def unavailable(answer: TryLater) -> DependencyUnavailable:
    """Return the error that a question without an answer is, for who has no other."""
    kind = Unanswered if answer.unanswered else DependencyUnavailable
    return kind(DEPENDENCY, answer.message.removeprefix(f"{DEPENDENCY}: "))
