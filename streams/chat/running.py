"""One turn of a chat on its way, from what a person said to what was answered."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from datetime import UTC, datetime
from typing import Any, NamedTuple

import msgspec
import structlog

from models.answers import Answer, AnswerKind, MemorySearched, Notice, PromptLaid, Spoken
from models.errors import DependencyUnavailable
from models.messages import ChatMessage, Role
from models.responses import ContentDuplicationEvent
from models.turns import Turn
from models.understanding import QueryUnderstanding
from processors.responses.history import SeenElement
from processors.text.validation import fit
from streams.chat.answering.driving import Answerer, Looking
from streams.chat.counting import Session, SessionTokens
from streams.chat.events import Status, TurnEnd, TurnEvents, TurnNames
from streams.chat.filtering import AnswerFilter, FilterRules
from streams.chat.publishing import Publishing
from streams.chat.sending import Sending
from streams.chat.sessions import Sessions
from streams.config.background import in_background

log = structlog.get_logger("streams.chat")

#: How long a summary is waited for at the end of a turn that made one due, and how often it is looked for (s).
_SUMMARY_SECONDS, _LOOK_SECONDS = 6.0, 0.3

#: Of what was left out of the prompt, and of what was said already, so much is kept with the message.
_LEFT_OUT_KEPT, _DUPLICATES_KEPT = 10, 10


class Means(NamedTuple):
    """Dependencies of every turn.  ``said``: text of earlier answers, if it is compared with."""

    answerer: Answerer
    sending: Sending
    rules: FilterRules
    said: Callable[[TurnNames], Awaitable[tuple[SeenElement, ...]]]
    sessions: Sessions


class RunningTurn:
    """A turn: :meth:`start` it once, listen to it as often as wished.

    ``known``: ids of the summaries that turns of the conversation have told; it adds those that it tells.
    ``looking``: the search for it, if it was begun.
    """

    def __init__(
        self, names: TurnNames, turn: Turn, means: Means, known: set[str], looking: Looking | None = None
    ) -> None:
        self.names = names
        self._told = TurnEvents()
        self.events, self._tell = self._told.events, self._told.tell
        self._turn = turn
        self._means = means
        self._known = known
        self._looking = looking
        self._counted: SessionTokens | None = None
        self._filter: AnswerFilter | None = None
        self._publishing = Publishing(means.sending, names)
        self._kept: ChatMessage | None = None
        self._task: asyncio.Task[None] | None = None
        self._answering: asyncio.Task[TurnEnd] | None = None
        self._begun = asyncio.Event()
        self._is_stopped = False
        self._why = ""

    @property
    def ended(self) -> TurnEnd | None:
        """How it ended; ``None``: it goes on."""
        return self._told.ended

    def start(self) -> None:
        """Begin."""
        self._task = in_background(self._run(), f"turn-{self.names.turn_id}")

    def when_over(self, tell: Callable[[], None]) -> None:
        """Have ``tell`` called when it is over, or soon if it is."""
        if self._task is not None:
            self._task.add_done_callback(lambda _: tell())

    async def over(self) -> None:
        """Return when it has ended."""
        await self._told.over.wait()

    async def stop(self) -> None:
        """End it: what was said so far stays; returns when it is written."""
        self._is_stopped = True
        await self._cancel()

    async def interrupt(self, why: str = "The server was stopped in the middle") -> None:
        """End it, ``why`` is told: nothing more is said, and it can be tried again."""
        self._why = why
        await self._cancel()

    async def _cancel(self) -> None:
        if self._task is not None:
            await self._begun.wait()  # a task that is cancelled before its first step ends without a word
            if not self._task.cancelling():  # once more would break off the writing of what was said
                self._task.cancel()
            await asyncio.wait([self._task])

    # -- its way -----------------------------------------------------------------------------------------------

    async def _run(self) -> None:
        end = TurnEnd(status=Status.FAILED, try_again=True, message="It ended for a reason that is in the log.")
        self._begun.set()
        try:
            end = await self._answered()
        except DependencyUnavailable as error:
            end = TurnEnd(status=Status.FAILED, try_again=True, message=f"{error}. What you said is kept.")
        except asyncio.CancelledError:
            end = await self._stopped()
        except Exception:  # who waits for the turn is told that it failed; what is ours is in the log
            log.exception("a turn of a chat failed", turn=self.names.turn_id)
        finally:
            if self._looking is not None:
                self._looking.cancel()
            if self._filter is not None:
                self._filter.close()
            await asyncio.shield(self._end_publishing())
            self._tell("end", end)

    async def _answered(self) -> TurnEnd:
        self._tell("turn", self.names.told())
        said = await self._means.said(self.names)
        self._filter = AnswerFilter(self._means.rules, self.names, said, self._show)
        answer = await self._answer(self._filter)
        self._filter.finish()
        await self._publishing.finish()
        # Once it is being written, nothing takes it back: who stops the turn now is answered all the same.
        self._answering = asyncio.create_task(self._answer_kept(answer))
        end = await asyncio.shield(self._answering)
        assert self._kept is not None
        await self._tell_tokens(self._kept)
        return end

    async def _end_publishing(self) -> None:
        """Give what was published its end, whatever the turn has come to."""
        try:
            await self._publishing.finish()
        except DependencyUnavailable as error:
            log.warning("the end of an answer is not published", turn=self.names.turn_id, error=str(error))

    def _show(self, told: str | ContentDuplicationEvent) -> None:
        """Tell what the filter lets through, or has taken out, and have it published."""
        if isinstance(told, str):
            self._tell("text", {"text": told})
        else:
            self._tell("duplicate", told)
        self._publishing.add(told)

    async def _answer_kept(self, answer: Answer) -> TurnEnd:
        await self._message(answer)
        asks = answer.kind is AnswerKind.CLARIFYING
        status = Status.CLARIFYING if asks else Status.ANSWERED
        return TurnEnd(
            status=status, try_again=answer.cut, message="The answer is not whole." if answer.cut else ""
        )

    async def _answer(self, filtered: AnswerFilter) -> Answer:
        """Have it answered, and show it as it comes."""
        answer: Answer | None = None
        async with aclosing(self._means.answerer.answer(self._turn, self._looking)) as events:
            async for event in events:
                if isinstance(event, Spoken):
                    # What no message may hold would keep the whole from being kept.
                    filtered.add(fit(event.text))
                    self._publishing.check()
                elif isinstance(event, Answer):
                    answer = event
                else:
                    self._tell(_name_of(event), event)
        assert answer is not None
        return answer

    async def _message(self, answer: Answer | None) -> None:
        """Write the assistant's message, with what it was made of."""
        metadata: dict[str, Any] = {"turn_id": self.names.turn_id}
        if answer is None:
            metadata["stopped"] = True
        else:
            metadata["answer"] = _kept(answer)
        assert self._filter is not None
        if repeated := self._filter.duplicates[:_DUPLICATES_KEPT]:
            metadata["duplicates"] = [_repeated(each) for each in repeated]
        message = ChatMessage(
            message_id=self.names.answer_id,
            conversation_id=self.names.conversation_id,
            user_id=self.names.user_id,
            tenant_id=self.names.tenant_id,
            role=Role.ASSISTANT,
            content=self._filter.shown,
            sent_at=datetime.now(UTC),
            metadata=metadata,
        )
        await self._means.sending.message(message)
        self._kept = message
        self._tell("message", message)

    async def _tell_tokens(self, answered: ChatMessage) -> None:
        """Tell what the session takes; if a summary is due that has not come, wait a moment for it."""
        session = await self._means.sessions.session(self._turn, answered)
        clock = asyncio.get_running_loop().time
        deadline = clock() + _SUMMARY_SECONDS
        while session is not None and not self._tell_session(session):
            if clock() > deadline:
                return  # it comes with one of the next turns
            await asyncio.sleep(_LOOK_SECONDS)
            summaries = await self._means.sessions.summaries((self.names.tenant_id, self.names.conversation_id))
            session = session._replace(summaries=summaries) if summaries is not None else None

    def _tell_session(self, session: Session) -> bool:
        """Tell the summaries that no turn has told, and the count; return whether that is all for now."""
        new = [each for each in session.summaries if each.summary_id not in self._known]
        untold = {each.summary_id for each in new}
        before = session.tokens(untold)
        if before != self._counted:
            self._tell("tokens", before)
        for summary in new:
            untold.remove(summary.summary_id)
            after = session.tokens(untold)
            told = {"from_index": summary.from_index, "to_index": summary.to_index}
            self._tell("summary", told | {"tokens_before": before.total, "tokens_after": after.total})
            self._tell("tokens", after)
            self._known.add(summary.summary_id)
            before = after
        self._counted = before
        return bool(new) or before.total <= before.threshold

    async def _stopped(self) -> TurnEnd:
        """Keep what was said up to the moment when it was stopped."""
        try:
            if self._answering is not None:
                return await self._answering
            if not self._is_stopped:
                message = f"{self._why}. What you said is kept."
                return TurnEnd(status=Status.INTERRUPTED, try_again=True, message=message)
            if self._filter is not None and not self._filter.is_final:
                self._filter.finish()
            await self._publishing.finish()
            if self._filter is not None and self._filter.shown.strip():
                await self._message(None)
        except DependencyUnavailable as error:
            status = Status.STOPPED if self._is_stopped else Status.INTERRUPTED
            return TurnEnd(status=status, try_again=True, message=f"What was said is not kept: {error}.")
        return TurnEnd(status=Status.STOPPED, try_again=True)


def _name_of(event: QueryUnderstanding | PromptLaid | MemorySearched | Notice) -> str:
    names = {
        QueryUnderstanding: "understanding",
        PromptLaid: "prompt",
        MemorySearched: "search",
        Notice: "notice",
    }
    return names[type(event)]


def _kept(answer: Answer) -> dict[str, Any]:
    """Return the metadata of the answer's message: all that is in the prompt, and some of what was left out."""
    inside = [item for item in answer.prompt.items if item.left_out is None]
    outside = [item for item in answer.prompt.items if item.left_out is not None]
    prompt = msgspec.structs.replace(answer.prompt, items=(*inside, *outside[:_LEFT_OUT_KEPT]))
    told = msgspec.to_builtins(msgspec.structs.replace(answer, prompt=prompt, text=""))
    assert isinstance(told, dict)
    del told["text"]
    return told


def _repeated(event: ContentDuplicationEvent) -> dict[str, Any]:
    """Return the event of a repetition for the page."""
    return {
        "duplicate_sentence": event.duplicate_sentence,
        "similar_sentence": event.similar_sentence,
        "similarity_score": event.similarity_score,
        "kept": event.kept,
    }
