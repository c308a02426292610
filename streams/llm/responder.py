"""The responder that asks a model: an answer as it comes, through memo, budget and limiter.

What was answered whole is in the memo before its end is told, so that nothing follows from it that a second
look would not find.  What was cut, or stopped by whoever listens, is asked anew; what it cost is written down.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncGenerator, Iterable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, aclosing
from typing import TypeVar

import msgspec
import structlog

from models.answers import Dialogue, Ended, Notice, Piece, Spoken, ToolCall, Trouble
from models.errors import DependencyUnavailable, Unanswered
from models.memo import Memo, Outcome, memo_id
from processors.prompts import answer
from processors.text.tokens import TokenCounter
from streams.llm.account import pause_of
from streams.llm.asking import Asking
from streams.llm.port import Misconfigured, Throttled, Usage
from streams.llm.streamed_answer import StreamedAnswer

log = structlog.get_logger("streams.llm")

PURPOSE = "answer"

#: How long a client waits for what its answer cost to be written down.
_OWN_MEMO_SECONDS = 5.0

_encode = msgspec.json.Encoder().encode

T = TypeVar("T")


class _Kept(msgspec.Struct, frozen=True, omit_defaults=True):
    """Memo content of an answer."""

    text: str = ""
    calls: tuple[ToolCall, ...] = ()


class ModelResponder:
    """Implements :class:`models.answers.Responder`.  ``timeout`` (s) bounds the wait for a turn to call."""

    def __init__(
        self,
        asking: Asking,
        count: TokenCounter,
        *,
        timeout: float,
    ) -> None:
        self._model = asking.model
        self._parameters = asking.parameters
        self._account = asking.account
        self._client = asking.client
        self._limiter = asking.limiter
        self._memos = asking.memos
        self._count = count
        self._timeout = timeout

    @property
    def name(self) -> str:
        """Name and version, as said with each answer."""
        return f"{self._model}/{answer.VERSION}"

    async def stream(self, dialogue: Dialogue) -> AsyncGenerator[Piece]:
        """Yield what the model says, as it says it, and at the end how it ended; never raises for that."""
        asked = _asked(dialogue)
        key = memo_id(
            dialogue.version, self._model, self._parameters, dialogue.tenant_id, dialogue.user_id, asked
        )
        try:
            known = None
            if dialogue.messages:
                key = uuid.uuid4().hex  # a client that asks once more wants another answer
            else:
                known = (await self._memos.find([key])).get(key)
            if known is not None:
                for piece in _remembered(known):
                    yield piece
                return
            async with aclosing(self._ask(dialogue, key)) as pieces:
                async for piece in pieces:
                    yield piece
        except DependencyUnavailable as error:
            yield Ended(trouble=_notice(error))

    async def _ask(self, dialogue: Dialogue, key: str) -> AsyncGenerator[Piece]:
        """Yield an answer within budget and limits.

        Raises:
            DependencyUnavailable: nothing was said yet, and nothing can be now.
        """
        own = bool(dialogue.messages)
        texts = (dialogue.system, dialogue.user, *_results(dialogue), *_own_texts(dialogue))
        tokens = await asyncio.to_thread(self._counted, texts) if own else self._counted(texts)
        most = self._account.cost(Usage(tokens, dialogue.most_tokens))
        async with AsyncExitStack() as held:
            reserving = self._account.reserve(dialogue.tenant_id, most)
            if not await _entered(held, reserving, True, needed=not own):
                message = "The day's budget for language models is spent."
                yield Ended(trouble=Notice(problem=Trouble.OVER_BUDGET, message=message))
                return
            deadline = asyncio.get_running_loop().time() + self._timeout
            turn = self._limiter.turn(tokens + dialogue.most_tokens // 4, deadline)
            await _entered(held, turn, None, needed=not own)
            with self._account.call(PURPOSE) as call:
                heard = StreamedAnswer(call)
                ended: Ended | None = None
                try:
                    async with aclosing(self._spoken(dialogue, heard)) as pieces:
                        async for piece in pieces:
                            yield piece
                    ended = await self._end(dialogue, key, heard, tokens)
                except DependencyUnavailable as error:
                    if isinstance(error, Throttled):
                        call.outcome = "throttled"
                        await self._limiter.pause(pause_of(error))
                    if not heard.text:
                        raise
                    cut = f"The model's answer ends in the middle: {_reason(error)}."
                    ended = Ended(trouble=Notice(problem=Trouble.CUT, message=cut))
                finally:
                    if call.outcome == "failed" and heard.text:
                        await asyncio.shield(self._write_off(dialogue, heard, tokens))
                yield ended

    def _counted(self, texts: Iterable[str]) -> int:
        return sum(map(self._count, texts))

    async def _spoken(self, dialogue: Dialogue, heard: StreamedAnswer) -> AsyncGenerator[Spoken]:
        async with aclosing(self._client.stream(dialogue)) as events:
            async for event in events:
                if said := heard.take(event):
                    yield Spoken(said)

    async def _end(self, dialogue: Dialogue, key: str, heard: StreamedAnswer, tokens: int) -> Ended:
        """Write down a whole answer and return its end; ``tokens``: those of its prompt, by our own count."""
        call, trouble = heard.call, heard.trouble()
        if not call.usage.input_tokens and (heard.text or heard.calls):
            self._estimate(heard, tokens)  # not every server counts
        if trouble is None:
            call.outcome = "answered"
        elif trouble.problem is Trouble.REFUSED:
            call.outcome = "refused"
        cost = self._account.cost(call.usage)
        if call.outcome != "failed":
            kept = "" if dialogue.messages else _encode(_Kept(heard.text, tuple(heard.calls))).decode()
            outcome = Outcome.ANSWERED if trouble is None else Outcome.REFUSED
            why = trouble.message if trouble is not None else ""
            memo = self._memo(dialogue, key, outcome, kept, why, heard)
            try:
                async with asyncio.timeout(_OWN_MEMO_SECONDS if dialogue.messages else None):
                    await self._memos.write([memo])
            except (DependencyUnavailable, TimeoutError) as error:
                if not dialogue.messages:
                    raise
                why = str(error) or "too slow"
                log.warning("what an answer cost is not in the memo", error=why, cost_usd=cost)
        return Ended(
            trouble=trouble,
            at_limit=heard.finished is not None and heard.finished.at_limit,
            calls=tuple(heard.calls) if trouble is None else (),
            input_tokens=call.usage.input_tokens,
            output_tokens=call.usage.output_tokens,
            cost_usd=cost,
        )

    async def _write_off(self, dialogue: Dialogue, heard: StreamedAnswer, tokens: int) -> None:
        """Write down what half an answer cost, under a key that nothing is looked up by."""
        self._estimate(heard, tokens)
        memo = self._memo(dialogue, uuid.uuid4().hex, Outcome.REFUSED, "", "it was not heard to its end", heard)
        try:
            await self._memos.write([memo])
        except DependencyUnavailable as error:
            log.warning("what half an answer cost is not in the memo", error=str(error), cost_usd=memo.cost_usd)

    def _estimate(self, heard: StreamedAnswer, tokens: int) -> None:
        usage = heard.call.usage
        heard.call.usage = usage._replace(
            input_tokens=usage.input_tokens or tokens,
            output_tokens=max(usage.output_tokens, self._count(heard.text)),
        )

    def _memo(
        self, dialogue: Dialogue, key: str, outcome: Outcome, text: str, why: str, heard: StreamedAnswer
    ) -> Memo:
        call = heard.call
        return Memo(
            memo_id=key,
            tenant_id=dialogue.tenant_id,
            user_id=dialogue.user_id,
            conversation_id=dialogue.conversation_id,
            purpose=PURPOSE,
            prompt=dialogue.version,
            model=self._model,
            outcome=outcome,
            asked_at=self._account.clock(),
            call=uuid.uuid4().hex,
            text=text,
            reason="model_refused" if why else "",
            message=why,
            input_tokens=call.usage.input_tokens,
            output_tokens=call.usage.output_tokens,
            cached_tokens=call.usage.cached_tokens,
            cost_usd=self._account.cost(call.usage),
        )


async def _entered(
    held: AsyncExitStack, context: AbstractAsyncContextManager[T], otherwise: T, *, needed: bool
) -> T:
    """Enter a budget or limit; return ``otherwise`` if it cannot be told and is not ``needed``.

    A client's own chat goes on while what keeps the limits is down: memory is an addition to it.
    """
    try:
        return await held.enter_async_context(context)
    except Throttled:
        raise
    except DependencyUnavailable as error:
        if needed:
            raise
        log.warning("a model is asked without its limits, which cannot be told", error=str(error))
        return otherwise


def _own_texts(dialogue: Dialogue) -> list[str]:
    """Return the texts of a client's own messages and tools; images are not counted."""
    texts: list[str] = []
    for message in dialogue.messages:
        content = message.get("content")
        parts = content if isinstance(content, list) else [{"text": content}]
        texts += [
            each["text"] for each in parts if isinstance(each, dict) and isinstance(each.get("text"), str)
        ]
    tools = [dialogue.options.get("tools"), *(each.get("tool_calls") for each in dialogue.messages)]
    return texts + [_encode(each).decode() for each in tools if each]


def _remembered(memo: Memo) -> list[Piece]:
    kept = msgspec.json.decode(memo.text, type=_Kept) if memo.text else _Kept()
    spoken: list[Piece] = [Spoken(kept.text)] if kept.text else []
    if memo.outcome is Outcome.REFUSED:
        return [*spoken, Ended(trouble=Notice(problem=Trouble.REFUSED, message=memo.message))]
    return [*spoken, Ended(calls=kept.calls)]


def _asked(dialogue: Dialogue) -> str:
    """Return all that an answer depends on, besides prompt, model and person."""
    return _encode([dialogue.system, dialogue.user, dialogue.rounds, dialogue.tool is not None]).decode()


def _results(dialogue: Dialogue) -> list[str]:
    return [result for done in dialogue.rounds for result in done.results]


def _reason(error: DependencyUnavailable) -> str:
    return str(error).removeprefix(f"{error.dependency}: ")


def _notice(error: DependencyUnavailable) -> Notice:
    problem = Trouble.DOWN
    if isinstance(error, Throttled):
        problem = Trouble.THROTTLED
    elif isinstance(error, Unanswered):
        problem = Trouble.SLOW
    elif isinstance(error, Misconfigured):
        problem = Trouble.MISCONFIGURED
    return Notice(problem=problem, message=f"The language model does not answer: {_reason(error)}.")
