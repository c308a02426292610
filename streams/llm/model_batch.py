"""Some questions about one person on their way to the model: within budget and limits, and into the memo."""

from __future__ import annotations

import asyncio
import json
import uuid
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import msgspec

from models.errors import DependencyUnavailable, Unanswered
from models.memo import Memo, Outcome
from models.ports import TryLater
from processors.prompts.prompt import Prompt
from processors.text.tokens import TokenCounter
from streams.llm.account import Account, Call, pause_of
from streams.llm.limiter import Limiter
from streams.llm.memo.memo import MemoLog
from streams.llm.port import DEPENDENCY, Answer, Declined, Provider, Throttled, Usage
from streams.llm.questions import Purpose, Question
from streams.llm.tenant_turns import TenantTurns
from streams.telemetry.metrics import Metrics

#: Characters of an answer that are kept: what is longer was not asked for.
_MOST_CHARACTERS = 200_000


class CallContext(NamedTuple):
    """Dependencies of every batch.

    ``count`` counts the tokens of a text; ``hedge_seconds``: after how much silence a second call is made, 0:
    never; ``schemas``: tokens of those that were counted, by version of the prompt.
    """

    model: str
    client: Provider
    turns: TenantTurns
    limiter: Limiter
    memos: MemoLog
    account: Account
    metrics: Metrics
    count: TokenCounter
    hedge_seconds: float
    schemas: dict[str, int]

    def tokens_of(self, prompt: Prompt) -> int:
        """Estimate the tokens that are paid for a prompt, in: those of the schema of its answer, too."""
        if (schema := self.schemas.get(prompt.version)) is None:
            schema = self.schemas[prompt.version] = self.count(json.dumps(prompt.schema))
        return self.count(prompt.system) + self.count(prompt.user) + schema


class ModelBatch:
    """Some questions about one person, on their way to the model and back."""

    def __init__(
        self,
        context: CallContext,
        purpose: Purpose,
        questions: Sequence[Question],
        ids: Sequence[str],
        deadline: float,
    ) -> None:
        self._call_context = context
        self._purpose = purpose
        self._questions = questions
        self._ids = ids
        self._deadline = deadline
        self.found: dict[str, Memo | TryLater] = {}
        #: Tokens of calls that answered nothing, which the next answer bears.
        self._owed = Usage()

    async def run(self, group: Sequence[int]) -> None:
        """Ask about a group in one call, and what that leaves open each alone."""
        context, tenant = self._call_context, self._questions[group[0]].tenant_id
        prompt = await self._purpose.compose(group)
        tokens = context.tokens_of(prompt)
        most = context.account.cost(Usage(tokens, prompt.most_tokens))
        async with context.account.reserve(tenant, most) as granted:
            if not granted:
                await self._write(self._memo(number, Outcome.OVER_BUDGET) for number in group)
                return
            try:
                said = await self._call(tenant, prompt, tokens + prompt.most_tokens // len(group) // 4)
            except DependencyUnavailable as error:
                if error.dependency != DEPENDENCY:
                    raise
                later = TryLater(str(error), unanswered=isinstance(error, Unanswered))
                self.found |= {self._ids[number]: later for number in group}
                return
            # Before it is released: in between nobody would count it.
            left = await self._take(group, said)
        for number in left:
            await self.run([number])

    async def _take(self, group: Sequence[int], said: Answer | Declined) -> list[int]:
        """Write down what was answered; return which ones of several were not, to be asked about alone."""
        call = uuid.uuid4().hex
        alone = len(group) == 1
        if isinstance(said, Declined):
            answers = {number: "" for number in group if alone}
        else:
            parts = self._purpose.divide(said.text, group)
            cut = [part[:_MOST_CHARACTERS] for part in parts]
            answers = {number: part for number, part in zip(group, cut, strict=True) if alone or part}
        said = said._replace(usage=_sum((said.usage, self._owed)))
        self._owed = Usage() if answers else said.usage
        shares = _shares(said.usage, max(1, len(answers)))
        memos = []
        for (number, text), share in zip(answers.items(), shares, strict=False):
            refused = isinstance(said, Declined)
            memo = self._memo(number, Outcome.REFUSED if refused else Outcome.ANSWERED)
            memos.append(
                msgspec.structs.replace(
                    memo,
                    call=call,
                    text=text,
                    reason=said.reason if isinstance(said, Declined) else "",
                    message=said.message if isinstance(said, Declined) else "",
                    input_tokens=share.input_tokens,
                    output_tokens=share.output_tokens,
                    cached_tokens=share.cached_tokens,
                    cost_usd=self._call_context.account.cost(share),
                )
            )
        await self._write(memos)
        return [number for number in group if number not in answers]

    def _memo(self, number: int, outcome: Outcome) -> Memo:
        question = self._questions[number]
        return Memo(
            memo_id=self._ids[number],
            tenant_id=question.tenant_id,
            user_id=question.user_id,
            conversation_id=question.conversation_id,
            purpose=self._purpose.name,
            prompt=self._purpose.version,
            model=self._call_context.model,
            outcome=outcome,
            asked_at=self._call_context.account.clock(),
            arrived_at=min((arrived_at for _, arrived_at in question.said), default=None),
            generation=self._call_context.account.generation,
        )

    async def _write(self, memos: Iterable[Memo]) -> None:
        """Into the log first; what then counts is what the log says."""
        written = list(memos)
        if not written:
            return
        self.found |= await self._call_context.memos.write(written)
        count = self._call_context.metrics.model_questions_total
        for memo in written:
            count.labels(memo.purpose, memo.outcome.value).inc()

    # -- one call ------------------------------------------------------------------------------------------

    async def _call(self, tenant: str, prompt: Prompt, tokens: int) -> Answer | Declined:
        """Make a call, and after a while of silence, if so wished, a second one beside it: both are paid."""
        hedge = self._call_context.hedge_seconds
        made: list[Call] = []
        first = asyncio.create_task(self._turn(tenant, prompt, tokens, made))
        calls = [first]
        try:
            if hedge:
                await asyncio.wait(calls, timeout=hedge)
                if not first.done():
                    calls.append(asyncio.create_task(self._turn(tenant, prompt, tokens, made)))
            while True:
                done, _ = await asyncio.wait(calls, return_when=asyncio.FIRST_COMPLETED)
                good = [each for each in done if each.exception() is None]
                if good or len(done) == len(calls):
                    return _with_all(made, (good or calls)[0].result())
                calls = [each for each in calls if each not in done]
        finally:
            for each in calls:
                each.cancel()
            await asyncio.gather(*calls, return_exceptions=True)

    async def _turn(self, tenant: str, prompt: Prompt, tokens: int, made: list[Call]) -> Answer | Declined:
        """Make a call when it is its turn; it is noted in ``made`` when it goes out."""
        context = self._call_context
        in_turn = context.turns.turn(tenant, self._deadline)
        async with in_turn, context.limiter.turn(tokens, self._deadline):
            with context.account.call(self._purpose.name) as call:
                made.append(call)
                try:
                    said = await context.client.generate(prompt)
                except Throttled as error:
                    call.outcome = "throttled"
                    await context.limiter.pause(pause_of(error))
                    raise
                if isinstance(said, Answer) and not said.usage.input_tokens:
                    # Not every server counts: what is paid is estimated.
                    most = max(said.usage.output_tokens, context.count(said.text))
                    said = said._replace(usage=Usage(context.tokens_of(prompt), most))
                call.ended(said, "refused" if isinstance(said, Declined) else "answered")
        return said


def _with_all(made: Sequence[Call], said: Answer | Declined) -> Answer | Declined:
    """Return the answer with the tokens of all calls made for it."""
    for call in made:
        call.release(said)
    return said._replace(usage=_sum(call.usage for call in made))


def _sum(usages: Iterable[Usage]) -> Usage:
    return Usage(*map(sum, zip(*usages, strict=True)))


def _shares(usage: Usage, count: int) -> list[Usage]:
    """Share the tokens of a call out among ``count`` answers, without losing any."""
    return [Usage(*(each * (n + 1) // count - each * n // count for each in usage)) for n in range(count)]
