"""Understanding of a person's question, from recent turns and memory (requirement 5.3)."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Protocol

import structlog

from models.errors import DependencyUnavailable, NotFound
from models.facts import Fact
from models.messages import Role
from models.turns import Turn
from models.understanding import QueryUnderstanding, QuestionAsked, Understander
from processors.prompts.extraction import letter
from processors.retrieval.context.wording import day_of
from streams.llm.builtin_understander import BuiltinUnderstander
from streams.stores.remembered.ports import Search
from streams.stores.search import SearchType, Wanted

#: Turns of the conversation that a question may refer to, and most statements that it may bear on.
_TURNS, _STATEMENTS = 6, 20

#: Longest wait for a model to understand a question (seconds).
_PATIENCE_SECONDS = 8.0

log = structlog.get_logger("streams.chat.answering.understanding")


class Log(Protocol):
    """The conversation log, as :class:`streams.stores.conversation_log.ConversationLog`."""

    async def takes_part(self, tenant_id: str, user_id: str, conversation_id: str) -> bool:
        """Say whether the log knows the person in the conversation."""
        ...

    async def last_turns(self, tenant_id: str, conversation_id: str, count: int) -> list[Turn]:
        """Return the last ``count`` turns of a conversation, oldest first."""
        ...


class Understanding:
    """Understands questions.  ``search`` finds what is remembered, ``log`` what was said just before.

    ``understander``: a model that reads them; without one, rules do.
    """

    def __init__(self, search: Search, log: Log, understander: Understander | None = None) -> None:
        self._search = search
        self._log = log
        self._builtin = BuiltinUnderstander()
        self._understander = understander or self._builtin

    async def read(
        self,
        query: str,
        user_id: str,
        tenant_id: str,
        conversation_id: str = "",
    ) -> QueryUnderstanding:
        """Return the meaning of the question; ``conversation_id``: its conversation, ``""``: a new one.

        Raises:
            InvalidQuestion: it is blank or too long.  NotFound: the person takes no part in the conversation.
            DependencyUnavailable: the index or the log is down.
        """
        wanted = Wanted(
            query=query, user_id=user_id, tenant_id=tenant_id, search_type=SearchType.FACTS, limit=_STATEMENTS
        )
        searching = asyncio.create_task(self._search.search(wanted))
        try:
            said = await self._said_before(query, user_id, tenant_id, conversation_id)
            if said is None:
                raise NotFound(
                    f"{user_id} takes part in no conversation {conversation_id} of tenant {tenant_id} that "
                    "the log still holds: check the names, or leave the conversation out"
                )
            found = await searching
            known = [each for each in found if each.score >= found.floor]
        finally:
            searching.cancel()
            await asyncio.gather(searching, return_exceptions=True)
        asked = QuestionAsked(
            query=query,
            user_id=user_id,
            tenant_id=tenant_id,
            conversation_id=conversation_id,
            turns=[each.text for each in said],
            speakers=speakers_of(said, user_id),
            remembered=[each.text for each in known],
            days=[_day(each.fact) for each in known],
        )
        return await self.understand(asked)

    async def understand(self, asked: QuestionAsked) -> QueryUnderstanding:
        """Return the meaning of a question, by rules if the model does not answer in time."""
        try:
            async with asyncio.timeout(_PATIENCE_SECONDS):
                return await self._understander.understand(asked)
        except (DependencyUnavailable, TimeoutError) as error:
            # Somebody waits for an answer: what a model does not say in time the rules do.
            log.warning("a question is understood by rules", model=self._understander.name, error=str(error))
            return await self._builtin.understand(asked)

    async def _said_before(
        self, query: str, user_id: str, tenant_id: str, conversation_id: str
    ) -> list[Turn] | None:
        """Return the turns before the question; ``None``: the log does not know the person there."""
        if not conversation_id:
            return []
        takes_part, turns = await asyncio.gather(
            self._log.takes_part(tenant_id, user_id, conversation_id),
            self._log.last_turns(tenant_id, conversation_id, _TURNS + 1),
        )
        if not takes_part:
            return None
        # The question itself may have arrived before it is asked about.
        return turns[:-1] if turns and turns[-1].text.strip() == query.strip() else turns[-_TURNS:]


def _day(fact: Fact | None) -> str:
    return day_of(fact.provenance[-1].sent_at) if fact is not None and fact.provenance else ""


def speakers_of(said: Sequence[Turn], asker_id: str) -> list[str]:
    """Return the speaker of each turn: a letter for a person, "A" for the asker, or a role."""
    people = dict.fromkeys((asker_id, *(each.user_id for each in said if each.role is Role.USER)))
    letters = {user_id: letter(number) for number, user_id in enumerate(people)}
    return [letters[each.user_id] if each.role is Role.USER else each.role.value for each in said]
