"""Answering a person: drives :mod:`processors.prompts.answering` with a memory, a model and a clock.

::

    async for event in Answerer(memory, count, responder).answer(turn):
        ...  # QueryUnderstanding, PromptLaid, MemorySearched, Notice, Spoken; at the end the Answer

A memory that does not answer costs what it would have told, and the answer says so; so does a model.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import aclosing
from datetime import UTC, datetime
from typing import Protocol, TypeAlias, TypeVar

import msgspec
import structlog

from models.answers import (
    Answer,
    Ended,
    MemorySearched,
    Notice,
    PromptLaid,
    Responder,
    Spoken,
    Trouble,
)
from models.context import Context
from models.errors import DependencyUnavailable
from models.turns import Turn
from models.understanding import QueryUnderstanding
from processors.prompts.answering.answering import Ask, ModelReply, Reply, Rules, Say, answering
from processors.prompts.answering.choosing import chosen
from processors.prompts.answering.material import Asked, Found
from processors.prompts.answering.searching import Search
from processors.text.tokens import TokenCounter
from streams.config.background import in_background

log = structlog.get_logger("streams.chat.answering.driving")

T = TypeVar("T")

#: What a turn shows while it is answered.
Event: TypeAlias = QueryUnderstanding | PromptLaid | MemorySearched | Notice | Spoken | Answer

#: What came of a search for a turn, or why nothing did.
Looking: TypeAlias = asyncio.Task[tuple[Found | None, Notice | None]]

#: Turns before the question that are in its prompt, and that it may refer to.
RECENT, _REFERRED_TO = 5, 6


#: Longest wait for one thing that memory is asked (seconds).
_PATIENCE_SECONDS = 10.0


class Memory(Protocol):
    """Memory of one person.  Every method raises :class:`DependencyUnavailable`."""

    async def recent(self, turn: Turn, count: int) -> list[Turn]:
        """Return the turns of the conversation before this one, oldest first."""
        ...

    async def understand(self, turn: Turn, said: Sequence[Turn], known: Sequence[str]) -> QueryUnderstanding:
        """Return the meaning of the turn after the messages ``said`` before it, and the statements
        ``known``, best first.
        """
        ...

    async def context(self, turn: Turn) -> Context | None:
        """Return the context that was made after the turn before."""
        ...

    async def standing(self, turn: Turn) -> Found:
        """Return the instructions and lasting facts of the person who said the turn."""
        ...

    async def search(self, turn: Turn, search: Search) -> Found:
        """Return the search results in the memory of the turn's speaker."""
        ...


class Answerer:
    """Answers turns.  ``budget``: tokens of a prompt; ``style``: what the application wants besides."""

    def __init__(
        self,
        memory: Memory,
        count: TokenCounter,
        responder: Responder | None = None,
        *,
        budget: int = 1500,
        style: str = "",
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._memory = memory
        self._responder = responder
        self._rules = Rules(count, budget, responder.name if responder is not None else "")
        self._style = style
        self._clock = clock

    def look(self, turn: Turn) -> Looking:
        """Begin to search memory for a turn, which need not be said yet.

        Give it to :meth:`answer`, or cancel it.
        """
        return in_background(
            self._told(self._memory.search(turn, Search(turn.text))), f"looking-{turn.turn_id}"
        )

    async def recalled(self, turn: Turn, said: Sequence[Turn]) -> tuple[Asked, list[Notice]]:
        """Return the memory at hand for an answer after ``said``, and the parts of memory that are down."""
        looking = self.look(turn)
        try:
            return await self._asked(turn, looking, said)
        finally:
            looking.cancel()

    async def answer(
        self, turn: Turn, looking: Looking | None = None, said: Sequence[Turn] | None = None
    ) -> AsyncGenerator[Event]:
        """Yield what happens while a turn is answered, and the answer itself at the end.

        ``looking``: a search for it that was begun before.  ``said``: the turns before it, if whoever asks has
        them.  Close it to stop: the model is let go of, and nothing more is paid.
        """
        asked, notices = await self._asked(turn, looking or self.look(turn), said)
        yield asked.understanding
        for notice in notices:
            yield notice
        way = answering(asked, self._rules, self._clock())
        reply: Reply = None
        try:
            while True:
                step = way.send(reply)
                reply = None
                if isinstance(step, Ask):
                    text, ended = "", Ended()
                    async with aclosing(self._stream(step)) as pieces:
                        async for piece in pieces:
                            if isinstance(piece, Ended):
                                ended = piece
                            else:
                                text += piece.text
                                yield piece
                    reply = ModelReply(text, ended)
                elif isinstance(step, Search):
                    reply = await self._search(turn, step)
                elif isinstance(step, Say):
                    yield Spoken(step.text)
                else:
                    yield step
        except StopIteration as done:
            answer: Answer = done.value
            yield msgspec.structs.replace(answer, notices=(*notices, *answer.notices))

    def _stream(self, step: Ask) -> AsyncGenerator[Spoken | Ended]:
        assert self._responder is not None
        return self._responder.stream(step.dialogue)

    async def _asked(
        self, turn: Turn, looking: Looking, before: Sequence[Turn] | None = None
    ) -> tuple[Asked, list[Notice]]:
        """Gather what is at hand; what memory does not tell is left out, and said once.

        Memory is searched once: for the prompt, and for what the question bears on.  What is asked for nearly
        always stands as it was said; where it does not, it is searched again.
        """
        got = await asyncio.gather(
            self._told(self._memory.recent(turn, _REFERRED_TO)) if before is None else _at_hand(before),
            self._told(self._memory.context(turn)),
            self._told(self._memory.standing(turn)),
            looking,
        )
        (said, one), (context, two), (standing, five), (found, three) = got
        recent = tuple(said or ())[-RECENT:]
        understanding, four = chosen(turn.text, recent), None
        if understanding is None and said is not None and found is not None:
            known = [each.text for each in found.facts if each.similarity >= found.floor]
            understanding, four = await self._told(self._memory.understand(turn, said, known))
        if understanding is None:
            understanding = QueryUnderstanding(
                query=turn.text, is_ambiguous=False, score=0.0, final_augmented_context=turn.text
            )
        query = understanding.rewritten_query or turn.text
        if query != turn.text:
            found, three = await self._told(self._memory.search(turn, Search(query)))
        asked = Asked(
            turn=turn,
            understanding=understanding,
            recent=recent,
            found=found or Found(),
            blind=found is None,
            context=context,
            standing=standing or Found(),
            style=self._style,
        )
        return asked, [each for each in (one, two, three, four, five) if each is not None][:1]

    async def _told(self, asked: Awaitable[T]) -> tuple[T | None, Notice | None]:
        try:
            async with asyncio.timeout(_PATIENCE_SECONDS):
                return await asked, None
        except (DependencyUnavailable, TimeoutError) as error:
            log.warning("memory does not answer, so an answer goes without", error=str(error) or "too slow")
            message = f"Memory does not answer now, so this is without it: {error or 'it is too slow'}."
            return None, Notice(problem=Trouble.MEMORY, message=message)

    async def _search(self, turn: Turn, search: Search) -> Found | str:
        found, notice = await self._told(self._memory.search(turn, search))
        return found if found is not None else notice.message if notice is not None else ""


async def _at_hand(said: Sequence[Turn]) -> tuple[Sequence[Turn], None]:
    return said[-_REFERRED_TO:], None
