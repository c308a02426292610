"""The responder that asks Gemini: an answer as it comes, through memo, budget and limiter.

What was answered whole is in the memo before its end is told, so that nothing follows from it that a second
look would not find.  What was cut, or stopped by whoever listens, is asked anew; what it cost is written down.
"""

from __future__ import annotations

import asyncio
import base64
import uuid
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

import msgspec
import structlog
from google.genai import types

from models.answers import Dialogue, Ended, Notice, Piece, Spoken, ToolCall, Trouble
from models.errors import DependencyUnavailable, Unanswered
from models.memo import Memo, Outcome, memo_id
from processors.prompts import answer
from processors.text.tokens import TokenCounter
from streams.llm.account import Call, pause_of
from streams.llm.answers import Declined, paid, refusal_of
from streams.llm.asking import PARAMETERS, Asking
from streams.llm.failures import Misconfigured, Throttled

log = structlog.get_logger("streams.gemini")

PURPOSE = "answer"

#: Characters of an answer that are kept.
_MOST_CHARACTERS = 100_000

_encode = msgspec.json.Encoder().encode


class _Kept(msgspec.Struct, frozen=True, omit_defaults=True):
    """What the memo says of an answer."""

    text: str = ""
    calls: tuple[ToolCall, ...] = ()


class _Stream:
    """An answer that is being streamed: what was said so far."""

    def __init__(self, call: Call) -> None:
        self.call = call
        self.text = ""
        self.calls: list[ToolCall] = []
        self.finished = ""
        self.refusal = ""

    def take(self, event: types.GenerateContentResponse) -> str:
        """Take an event in and return what it adds to the text."""
        spent = paid(event)
        self.call.input_tokens = max(self.call.input_tokens, spent[0])
        self.call.output_tokens = max(self.call.output_tokens, spent[1])
        self.refusal = self.refusal or refusal_of(event)
        candidate = event.candidates[0] if event.candidates else None
        if candidate is None:
            return ""
        if candidate.finish_reason is not None:
            self.finished = candidate.finish_reason.value
        said = ""
        for part in (candidate.content.parts if candidate.content is not None else None) or ():
            if part.function_call is not None:
                self.calls.append(_call_of(part))
            elif not part.thought:
                said += part.text or ""
        said = said[: _MOST_CHARACTERS - len(self.text)]
        self.text += said
        return said

    def trouble(self) -> Notice | None:
        """Return what is wrong with it, now that it has ended."""
        if self.refusal:
            return Notice(problem=Trouble.REFUSED, message=f"{self.refusal}.")
        if self.finished == "MAX_TOKENS":
            return Notice(problem=Trouble.CUT, message="The answer was longer than an answer may be.")
        if not self.finished and (self.text or self.calls):
            return Notice(problem=Trouble.CUT, message="The model's answer ends in the middle.")
        if not self.text.strip() and not self.calls:
            return Notice(problem=Trouble.EMPTY, message="The model answered nothing.")
        return None


class GeminiResponder:
    """Implements :class:`models.answers.Responder`.  ``timeout`` (s) bounds the wait for a turn to call."""

    def __init__(
        self,
        asking: Asking,
        count: TokenCounter,
        *,
        timeout: float,
    ) -> None:
        self._model = asking.model
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
        key = memo_id(dialogue.version, self._model, PARAMETERS, dialogue.tenant_id, dialogue.user_id, asked)
        try:
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
        tokens = sum(map(self._count, (dialogue.system, dialogue.user, *_results(dialogue))))
        most = self._account.cost(tokens, dialogue.most_tokens)
        async with self._account.reserve(dialogue.tenant_id, most) as granted:
            if not granted:
                message = "The day's budget for language models is spent."
                yield Ended(trouble=Notice(problem=Trouble.OVER_BUDGET, message=message))
                return
            deadline = asyncio.get_running_loop().time() + self._timeout
            async with self._limiter.turn(tokens + dialogue.most_tokens // 4, deadline):
                with self._account.call(PURPOSE) as call:
                    heard = _Stream(call)
                    ended: Ended | None = None
                    try:
                        async with aclosing(self._spoken(dialogue, heard)) as pieces:
                            async for piece in pieces:
                                yield piece
                        ended = await self._end(dialogue, key, heard)
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

    async def _spoken(self, dialogue: Dialogue, heard: _Stream) -> AsyncGenerator[Spoken]:
        async with aclosing(self._client.stream(self._model, _contents(dialogue), _config(dialogue))) as events:
            async for event in events:
                if isinstance(event, Declined):
                    heard.refusal = event.message
                elif said := heard.take(event):
                    yield Spoken(said)

    async def _end(self, dialogue: Dialogue, key: str, heard: _Stream) -> Ended:
        """Write down a whole answer and return its end."""
        call, trouble = heard.call, heard.trouble()
        if trouble is None:
            call.outcome = "answered"
        elif trouble.problem is Trouble.REFUSED:
            call.outcome = "refused"
        cost = self._account.cost(call.input_tokens, call.output_tokens)
        if call.outcome != "failed":
            kept = _encode(_Kept(heard.text, tuple(heard.calls))).decode()
            outcome = Outcome.ANSWERED if trouble is None else Outcome.REFUSED
            why = trouble.message if trouble is not None else ""
            await self._memos.write([self._memo(dialogue, key, outcome, kept, why, heard)])
        return Ended(
            trouble=trouble,
            calls=tuple(heard.calls) if trouble is None else (),
            input_tokens=call.input_tokens,
            output_tokens=call.output_tokens,
            cost_usd=cost,
        )

    async def _write_off(self, dialogue: Dialogue, heard: _Stream, tokens: int) -> None:
        """Write down what half an answer cost, under a key that nothing is looked up by."""
        heard.call.input_tokens = heard.call.input_tokens or tokens
        heard.call.output_tokens = max(heard.call.output_tokens, self._count(heard.text))
        memo = self._memo(dialogue, uuid.uuid4().hex, Outcome.REFUSED, "", "it was not heard to its end", heard)
        try:
            await self._memos.write([memo])
        except DependencyUnavailable as error:
            log.warning("what half an answer cost is not in the memo", error=str(error), cost_usd=memo.cost_usd)

    def _memo(
        self, dialogue: Dialogue, key: str, outcome: Outcome, text: str, why: str, heard: _Stream
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
            input_tokens=call.input_tokens,
            output_tokens=call.output_tokens,
            cost_usd=self._account.cost(call.input_tokens, call.output_tokens),
        )


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


def _config(dialogue: Dialogue) -> types.GenerateContentConfig:
    tools: list[Any] = []
    if dialogue.tool is not None:
        declared = types.FunctionDeclaration(
            name=dialogue.tool["name"],
            description=dialogue.tool["description"],
            parameters_json_schema=dialogue.tool["parameters"],
        )
        tools = [types.Tool(function_declarations=[declared])]
    return types.GenerateContentConfig(
        system_instruction=dialogue.system,
        max_output_tokens=dialogue.most_tokens,
        tools=tools or None,
        automatic_function_calling=types.AutomaticFunctionCallingConfig(disable=True),
    )


def _contents(dialogue: Dialogue) -> list[types.Content]:
    contents = [types.Content(role="user", parts=[types.Part(text=dialogue.user)])]
    for done in dialogue.rounds:
        contents.append(types.Content(role="model", parts=[_part_of(call) for call in done.calls]))
        told = [
            types.Part.from_function_response(name=call.name, response={"result": result})
            for call, result in zip(done.calls, done.results, strict=True)
        ]
        contents.append(types.Content(role="user", parts=told))
    return contents


def _call_of(part: types.Part) -> ToolCall:
    called = part.function_call
    assert called is not None
    signature = base64.b64encode(part.thought_signature or b"").decode()
    return ToolCall(name=called.name or "", arguments=called.args or {}, signature=signature)


def _part_of(call: ToolCall) -> types.Part:
    signature = base64.b64decode(call.signature) or None
    called = types.FunctionCall(name=call.name, args=dict(call.arguments))
    return types.Part(function_call=called, thought_signature=signature)


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
