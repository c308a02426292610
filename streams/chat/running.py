"""One turn of a chat on its way, and the events that whoever listens to it is told, from the first one on."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, NamedTuple

import msgspec
import structlog

from models.answers import Answer, AnswerKind, MemorySearched, Notice, PromptLaid, Spoken, Trouble
from models.errors import DependencyUnavailable
from models.messages import ChatMessage, Role
from models.responses import ContentDuplicationEvent, ResponseChunk
from models.summaries import Summary
from models.turns import Turn
from models.understanding import QueryUnderstanding
from streams.answering import Answerer
from streams.chat.counting import SessionTokens
from streams.chat.filtered import Filtered, Told
from streams.chat.sending import Sending
from streams.printing import encode_json

log = structlog.get_logger("streams.chat")

#: How long the respond service may be silent before its text is done without (seconds).
_FILTER_SECONDS = 8.0

#: How long a summary is waited for at the end of a turn that made one due (seconds).
_SUMMARY_SECONDS = 6.0

#: Of what was left out of the prompt, so many items are kept with the message.
_LEFT_OUT_KEPT = 10


class Status(StrEnum):
    """How a turn ended."""

    ANSWERED = "answered"
    CLARIFYING = "clarifying"
    STOPPED = "stopped"
    INTERRUPTED = "interrupted"
    FAILED = "failed"


class TurnEvent(NamedTuple):
    """Something that happened in a turn; ``number`` counts from 1."""

    number: int
    name: str
    data: bytes


class TurnNames(msgspec.Struct, frozen=True, kw_only=True):
    """What a turn's records are called, so that whoever tries again writes none of them twice."""

    turn_id: str
    conversation_id: str
    user_id: str
    tenant_id: str
    response_id: str

    @property
    def message_id(self) -> str:
        """The person's message."""
        return f"{self.turn_id}.user"

    @property
    def answer_id(self) -> str:
        """The assistant's message."""
        return f"{self.turn_id}.answer"


class TurnEnd(msgspec.Struct, frozen=True, kw_only=True):
    """The last event of a turn."""

    status: Status
    try_again: bool = False
    message: str = ""


class Means(NamedTuple):
    """What every turn needs.  ``tokens`` counts a session; it gives ``None`` where that cannot be told."""

    answerer: Answerer
    sending: Sending
    filtered: Filtered
    tokens: Callable[[TurnNames], Any]


class RunningTurn:
    """A turn: :meth:`run` it once, listen to it as often as wished."""

    def __init__(self, names: TurnNames, turn: Turn, means: Means) -> None:
        self.names = names
        self.ended: TurnEnd | None = None
        self._turn = turn
        self._means = means
        self._events: list[TurnEvent] = []
        self._happened = asyncio.Condition()
        self._said = ""
        self._shown = ""
        self._sequence = 0
        self._is_final = False
        self._task: asyncio.Task[None] | None = None
        self._is_stopped = False

    def start(self) -> None:
        """Begin."""
        self._task = asyncio.create_task(self._run(), name=f"turn-{self.names.turn_id}")

    async def stop(self) -> None:
        """End it: what was said so far stays; returns when it is written."""
        self._is_stopped = True
        await self._cancel()

    async def interrupt(self) -> None:
        """End it because the process ends: nothing more is written, and it can be tried again."""
        await self._cancel()

    async def _cancel(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def events(self, after: int = 0) -> AsyncGenerator[TurnEvent]:
        """Yield what happens after event number ``after``, until the turn has ended."""
        while True:
            async with self._happened:
                while len(self._events) <= after and self.ended is None:
                    await self._happened.wait()
                new = self._events[after:]
            for event in new:
                yield event
            after += len(new)
            if not new:
                return

    async def tell(self, name: str, told: object) -> None:
        """Add an event."""
        async with self._happened:
            self._events.append(TurnEvent(len(self._events) + 1, name, encode_json(told)))
            if isinstance(told, TurnEnd):
                self.ended = told
            self._happened.notify_all()

    # -- its way -----------------------------------------------------------------------------------------------

    async def _run(self) -> None:
        end = TurnEnd(status=Status.FAILED, try_again=True, message="It ended for a reason that is in the log.")
        try:
            end = await self._answered()
        except DependencyUnavailable as error:
            end = TurnEnd(status=Status.FAILED, try_again=True, message=f"{error}. What you said is kept.")
        except asyncio.CancelledError:
            end = await self._stopped()
        except Exception:  # who waits for the turn is told that it failed; what is ours is in the log
            log.exception("a turn of a chat failed", turn=self.names.turn_id)
        finally:
            await asyncio.shield(self.tell("end", end))

    async def _answered(self) -> TurnEnd:
        names = self.names
        await self.tell("turn", _named(names))
        async with self._means.filtered.watch(names.response_id, names.conversation_id) as queue:
            shown: asyncio.Task[None] = asyncio.create_task(self._show(queue))
            try:
                answer = await self._answer()
                await self._chunk("", final=True)
                await self._wait_for(shown)
            finally:
                shown.cancel()
                await asyncio.gather(shown, return_exceptions=True)
            await self._message(answer)
            await self._tell_tokens(queue)
        asks = answer.kind is AnswerKind.CLARIFYING
        status = Status.CLARIFYING if asks else Status.ANSWERED
        return TurnEnd(
            status=status, try_again=answer.cut, message="The answer is not whole." if answer.cut else ""
        )

    async def _answer(self) -> Answer:
        """Have it answered, and write each piece as it comes."""
        answer: Answer | None = None
        async with aclosing(self._means.answerer.answer(self._turn)) as events:
            async for event in events:
                if isinstance(event, Spoken):
                    self._said += event.text
                    await self._chunk(event.text)
                elif isinstance(event, Answer):
                    answer = event
                else:
                    await self.tell(_name_of(event), event)
        assert answer is not None
        return answer

    async def _chunk(self, text: str, *, final: bool = False) -> None:
        chunk = ResponseChunk(
            response_id=self.names.response_id,
            conversation_id=self.names.conversation_id,
            tenant_id=self.names.tenant_id,
            sequence=self._sequence,
            text=text,
            final=final,
        )
        self._sequence += 1
        await self._means.sending.chunk(chunk)

    async def _show(self, queue: asyncio.Queue[Told]) -> None:
        """Tell what the respond service lets through, until the end of the answer."""
        while not self._is_final:
            told = await queue.get()
            if isinstance(told, ContentDuplicationEvent):
                await self.tell("duplicate", told)
            elif isinstance(told, ResponseChunk):
                self._shown += told.text
                self._is_final = told.final
                if told.text:
                    await self.tell("text", {"text": told.text})

    async def _wait_for(self, shown: asyncio.Task[None]) -> None:
        """Wait for the end of the filtered text; without it the answer is shown as it was said."""
        done, _ = await asyncio.wait([shown], timeout=_FILTER_SECONDS)
        if done:
            shown.result()
            return
        message = "The respond service does not answer: what repeats itself is shown, too."
        await self.tell("notice", Notice(problem=Trouble.FILTER, message=message))
        if not self._shown:
            self._shown = self._said
            await self.tell("text", {"text": self._said})

    async def _message(self, answer: Answer | None) -> None:
        """Write the assistant's message, with what it was made of."""
        metadata: dict[str, Any] = {"turn_id": self.names.turn_id}
        if answer is None:
            metadata["stopped"] = True
        else:
            metadata["answer"] = _kept(answer)
        message = ChatMessage(
            message_id=self.names.answer_id,
            conversation_id=self.names.conversation_id,
            user_id=self.names.user_id,
            tenant_id=self.names.tenant_id,
            role=Role.ASSISTANT,
            content=self._shown,
            sent_at=datetime.now(UTC),
            metadata=metadata,
        )
        await self._means.sending.message(message)
        await self.tell("message", message)

    async def _tell_tokens(self, queue: asyncio.Queue[Told]) -> None:
        """Count the session; if that makes a summary due, wait a moment for it."""
        before: SessionTokens | None = await self._means.tokens(self.names)
        if before is None:
            return
        await self.tell("tokens", before)
        if before.total <= before.threshold:
            return
        try:
            async with asyncio.timeout(_SUMMARY_SECONDS):
                while not isinstance(summary := await queue.get(), Summary):
                    pass
        except TimeoutError:
            return  # it comes with one of the next turns
        after: SessionTokens | None = await self._means.tokens(self.names)
        if after is not None:
            told = {"from_index": summary.from_index, "to_index": summary.to_index}
            await self.tell("summary", told | {"tokens_before": before.total, "tokens_after": after.total})
            await self.tell("tokens", after)

    async def _stopped(self) -> TurnEnd:
        """Keep what was said up to the moment when it was stopped."""
        if not self._is_stopped:
            message = "The server was stopped in the middle. What you said is kept."
            return TurnEnd(status=Status.INTERRUPTED, try_again=True, message=message)
        try:
            if not self._is_final:
                await self._chunk("", final=True)
            if self._shown.strip():
                await self._message(None)
        except DependencyUnavailable as error:
            return TurnEnd(
                status=Status.STOPPED, try_again=True, message=f"What was said is not kept: {error}."
            )
        return TurnEnd(status=Status.STOPPED, try_again=True)


def _named(names: TurnNames) -> dict[str, str]:
    return {**msgspec.structs.asdict(names), "message_id": names.message_id, "answer_id": names.answer_id}


def _name_of(event: QueryUnderstanding | PromptLaid | MemorySearched | Notice) -> str:
    names = {
        QueryUnderstanding: "understanding",
        PromptLaid: "prompt",
        MemorySearched: "search",
        Notice: "notice",
    }
    return names[type(event)]


def _kept(answer: Answer) -> dict[str, Any]:
    """Return what stays with the message: all that is in the prompt, and some of what was left out."""
    inside = [item for item in answer.prompt.items if item.left_out is None]
    outside = [item for item in answer.prompt.items if item.left_out is not None]
    prompt = msgspec.structs.replace(answer.prompt, items=(*inside, *outside[:_LEFT_OUT_KEPT]))
    told = msgspec.to_builtins(msgspec.structs.replace(answer, prompt=prompt, text=""))
    assert isinstance(told, dict)
    del told["text"]
    return told
