"""Chat completions: a client's own messages answered, with what is remembered in front, and remembered.

The client sends all of a conversation each time; what is new of it is written, and so is the answer, once it is
whole.  With a model, its messages and options go to it as they are; without one, what is remembered answers.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncGenerator, Iterable, Mapping, Sequence
from contextlib import aclosing
from datetime import UTC, datetime
from typing import Any, Literal, NamedTuple, TypeAlias

import msgspec
import structlog

from models.answers import Answer, Dialogue, Ended, Notice, Responder, Spoken, ToolCall, Trouble
from models.context import Tier
from models.errors import DependencyUnavailable
from models.ids import turn_id as id_of_turn
from models.messages import Role
from models.turns import Turn, TurnSource
from processors.conversations.resent import ResentMessage, conversation_of, said_of, spoken
from processors.prompts import memory
from processors.prompts.answering.material import material
from processors.retrieval.recall.masking import Mask
from processors.retrieval.recall.question import LONGEST_QUESTION
from processors.text.tokens import TokenCounter
from processors.text.validation import fit
from streams.chat.answering.driving import RECENT, Answerer
from streams.chat.resending import Resending
from streams.chat.turn_limiter import TurnLimiter
from streams.clients.topics import MESSAGES
from streams.queries.conversations.listing import Conversations

log = structlog.get_logger("streams.chat")

#: The name of what answers without a model.
BUILTIN = "switchboard"

#: Tokens that an answer is reckoned with whose client sets no limit; the endpoint's own holds.
_MOST_TOKENS = 4096

#: Tokens of the marks around what is remembered.
_MARKS = 100

#: Longest wait for whose a conversation is (seconds).
_PATIENCE_SECONDS = 5.0


Reason: TypeAlias = Literal["stop", "length", "tool_calls"]

#: What an answer is made of: it itself, or what a model is asked.
Made: TypeAlias = Answer | Dialogue


class Wanted(NamedTuple):
    """A request.  ``conversation_id`` ``""``: the client names none.  ``alone``: who asks is this person.

    ``messages`` and ``options`` as the client gave them; ``said``: who says what in those messages that are
    remembered.  ``most_tokens``: the most that the answer may have, 0 if the client sets none.
    """

    tenant_id: str
    user_id: str
    conversation_id: str
    messages: tuple[Mapping[str, Any], ...]
    said: tuple[tuple[Role, str], ...]
    options: Mapping[str, Any] = {}
    most_tokens: int = 0
    alone: bool = False


class Begun(NamedTuple):
    """The answer begins.  ``is_read``: memory was there to be read; ``is_written``: it has what was said."""

    conversation_id: str
    is_read: bool
    is_written: bool


class Done(NamedTuple):
    """The answer is whole.  ``calls``: tools of the client's that it is to call, in OpenAI's form."""

    reason: Reason
    calls: tuple[Mapping[str, Any], ...]
    input_tokens: int
    output_tokens: int


Event: TypeAlias = Begun | str | Done


class AnswerFailed(Exception):
    """The model has not answered, or not to the end."""

    def __init__(self, notice: Notice) -> None:
        super().__init__(notice.message)
        self.trouble = notice.problem


class Completions:
    """The completions of one process.  ``model``: the name of what answers; ``budget``: tokens of memory."""

    def __init__(
        self,
        answerer: Answerer,
        responder: Responder | None,
        model: str,
        count: TokenCounter,
        budget: int,
        mask: Mask,
        conversations: Conversations,
        resending: Resending,
        room: TurnLimiter,
    ) -> None:
        self.model = model if responder is not None else BUILTIN
        self._answerer = answerer
        self._responder = responder
        self._count = count
        self._budget = budget
        self._mask = mask
        self._conversations = conversations
        self._resending = resending
        self._room = room

    async def answer(self, wanted: Wanted) -> AsyncGenerator[Event]:
        """Yield :class:`Begun`, pieces of text, and :class:`Done`.  Close it to stop: nothing more is paid.

        Raises:
            NoRoom: as many answers are made here as may.
            NotFound: the conversation is somebody else's.
            AnswerFailed: the model does not answer.
        """
        if self._room.is_full:
            raise self._room.refuse()
        self._room.enter()
        try:
            async with aclosing(self._answer(wanted)) as events:
                async for event in events:
                    yield event
        finally:
            self._room.leave()

    async def _answer(self, wanted: Wanted) -> AsyncGenerator[Event]:
        may_write = await self._may_write(wanted)
        if not wanted.conversation_id:
            own = conversation_of(wanted.tenant_id, wanted.user_id, wanted.said)
            wanted = wanted._replace(conversation_id=own)
        said = said_of(wanted.tenant_id, wanted.conversation_id, wanted.said)
        make = self._quoted if self._responder is None else self._dialogue
        is_written, (made, is_read) = await asyncio.gather(
            self._write(wanted, said, may_write=may_write), make(wanted, said)
        )
        yield Begun(wanted.conversation_id, is_read, is_written)
        text, done = "", Done("stop", (), 0, 0)
        async with aclosing(self._spoken(made)) as pieces:
            async for piece in pieces:
                if isinstance(piece, str):
                    text += piece
                    yield piece
                else:
                    done = piece
        # As the client will send it; what it stops hearing, it sends as far as it was heard.
        answer = spoken({"role": "assistant", "content": text, "tool_calls": [*done.calls]})
        if is_written and answer is not None:
            whole = said_of(wanted.tenant_id, wanted.conversation_id, [*wanted.said, answer])
            await self._write(wanted, whole, may_write=True)
        yield done

    # -- memory ----------------------------------------------------------------------------------------------

    async def _may_write(self, wanted: Wanted) -> bool:
        """Tell whether the conversation may be written; raises :class:`NotFound` if it is others'."""
        if not wanted.conversation_id:
            return True  # its id is made of the person
        try:
            async with asyncio.timeout(_PATIENCE_SECONDS):
                people = {wanted.conversation_id: wanted.user_id}
                await self._conversations.check_writable(wanted.tenant_id, people, alone=wanted.alone)
        except (DependencyUnavailable, TimeoutError) as error:
            log.warning("whose a conversation is cannot be told", error=str(error) or "too slow")
            return False
        return True

    async def _write(self, wanted: Wanted, said: Sequence[ResentMessage], *, may_write: bool) -> bool:
        place = wanted.tenant_id, wanted.conversation_id
        return may_write and await self._resending.write(place, wanted.user_id, said)

    def _turns(self, wanted: Wanted, said: Sequence[ResentMessage]) -> tuple[Turn, list[Turn]]:
        """Return the last question, as far as memory reads it, and what was said before it."""
        asked = [at for at, each in enumerate(said) if each.role is Role.USER]
        at = asked[-1] if asked else 0
        first = max(0, at - RECENT)
        turns = [self._turn(wanted, each, first + n) for n, each in enumerate(said[first : at + 1])]
        nothing = ResentMessage(Role.USER, "", "", "-")
        return (turns[-1], turns[:-1]) if asked else (self._turn(wanted, nothing, 0), [])

    def _turn(self, wanted: Wanted, said: ResentMessage, index: int) -> Turn:
        now = datetime.now(UTC)
        text, found = self._mask(fit(said.text[:LONGEST_QUESTION]))
        return Turn(
            turn_id=id_of_turn(wanted.tenant_id, wanted.conversation_id, said.message_id),
            message_id=said.message_id,
            conversation_id=wanted.conversation_id,
            user_id=wanted.user_id,
            tenant_id=wanted.tenant_id,
            role=said.role,
            text=text,
            sent_at=now,
            arrived_at=now,
            began_at=now,
            index=index,
            source=TurnSource(topic=MESSAGES, partition=-1, offset=-1),
            masked=found.total(),
        )

    async def _quoted(self, wanted: Wanted, said: Sequence[ResentMessage]) -> tuple[Made, bool]:
        """Return the answer without a model, and whether memory was read for it."""
        turn, before = self._turns(wanted, said)
        answer: Answer | None = None
        async with aclosing(self._answerer.answer(turn, said=before)) as events:
            async for event in events:
                answer = event if isinstance(event, Answer) else answer
        assert answer is not None
        return answer, _is_read(answer.notices)

    async def _dialogue(self, wanted: Wanted, said: Sequence[ResentMessage]) -> tuple[Made, bool]:
        """Return the messages to the model: memory, then the client's messages as they are."""
        turn, before = self._turns(wanted, said)
        asked, notices = await self._answerer.recalled(turn, before)
        # What the client sends is in front of the model already.
        sent = {each.message_id for each in said}
        found = asked.found._replace(
            said=tuple(each for each in asked.found.said if sent.isdisjoint(each.message_ids))
        )
        asked = msgspec.structs.replace(asked, found=found, recent=())
        room = self._budget - self._count(memory.INTRODUCTION) - _MARKS
        laid = material(asked, [], room, datetime.now(UTC), self._count, {})
        text = memory.remembered([each for each in laid.inside() if each.tier is not Tier.RECENT])
        front = ({"role": "system", "content": text},) if text else ()
        dialogue = Dialogue(
            version=memory.VERSION,
            system="",
            user="",
            messages=(*front, *wanted.messages),
            options=wanted.options,
            most_tokens=wanted.most_tokens or _MOST_TOKENS,
            tenant_id=wanted.tenant_id,
            user_id=wanted.user_id,
            conversation_id=wanted.conversation_id,
        )
        return dialogue, _is_read(notices)

    # -- the answer ------------------------------------------------------------------------------------------

    async def _spoken(self, made: Made) -> AsyncGenerator[str | Done]:
        if isinstance(made, Answer):
            yield made.text
            yield Done("stop", (), made.prompt.tokens, self._count(made.text))
            return
        assert self._responder is not None
        ended = Ended()
        async with aclosing(self._responder.stream(made)) as pieces:
            async for piece in pieces:
                if isinstance(piece, Spoken):
                    yield fit(piece.text)
                else:
                    ended = piece
        trouble = ended.trouble
        if trouble is not None and trouble.problem is not Trouble.EMPTY and not ended.at_limit:
            raise AnswerFailed(trouble)
        calls = tuple(_call(call) for call in ended.calls)
        reason: Reason = "length" if ended.at_limit else "tool_calls" if calls else "stop"
        yield Done(reason, calls, ended.input_tokens, ended.output_tokens)


def _is_read(notices: Iterable[Notice]) -> bool:
    return all(each.problem is not Trouble.MEMORY for each in notices)


def _call(call: ToolCall) -> dict[str, Any]:
    """Return a call as clients of OpenAI have it."""
    arguments = msgspec.json.encode(call.arguments).decode()
    return {
        "id": call.id or f"call_{uuid.uuid4().hex[:24]}",
        "type": "function",
        "function": {"name": call.name, "arguments": arguments},
    }
