"""Reading the context that was made for a conversation's next turn; nothing is searched and nobody waited for.

What was erased since it was made, or no longer holds, is taken out, so a context says nothing that its sources
would not say by now.  Standing notes that became known since are put in: an allergy is in the first context
that is read after it is known, in whatever conversation it was told.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from enum import StrEnum
from typing import Protocol

import msgspec
import structlog

from models import ids
from models.context import Context, ContextItem, LeftOut, Tier
from models.errors import DependencyUnavailable, NotFound
from models.facts import Fact, FactStatus
from models.statements import Kind
from processors.facts.confidence import RATES
from processors.retrieval.context.adding import lacks, prompt_of_notes, with_notes, words_made_from
from processors.retrieval.context.packing import Budget
from processors.retrieval.context.removal import without
from processors.retrieval.context.wording import prompt
from processors.text.tokens import TokenCounter
from streams.stores.conversation_log import Erasures, Extent
from streams.stores.remembered.standing import FactPages, note_of, standing_notes

log = structlog.get_logger("streams.queries.contexts.reading")

#: Longest wait for Redis and for the index, all in all (seconds).
_PATIENCE_SECONDS = 2.0

#: Longest wait for the standing notes by now: a context without those since is better than none (seconds).
_NOTES_SECONDS = 0.5

_OF_FACTS = (Tier.INSTRUCTIONS, Tier.FACTS)


class ContextStatus(StrEnum):
    """``made``: it is here.  ``nothing``: it is, and nothing is remembered that belongs in it.
    ``not_made_yet``: the person takes part in the conversation, and none was made (or it has expired); the
    ``prompt`` is their standing notes."""

    MADE = "made"
    NOTHING = "nothing"
    NOT_MADE_YET = "not_made_yet"


class ContextAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """The context for a conversation's next turn.

    ``prompt`` is what is in, as text; if none was made yet, the person's standing notes alone.  ``behind`` is
    how many turns came after the one that it was made after.
    """

    status: ContextStatus
    conversation_id: str
    user_id: str
    tenant_id: str
    prompt: str = ""
    behind: int = 0
    context: Context | None = None


class Log(Protocol):
    """The conversation log, as :class:`streams.stores.conversation_log.ConversationLog`."""

    async def takes_part(self, tenant_id: str, user_id: str, conversation_id: str) -> bool:
        """Say whether the person is known in the conversation."""
        ...

    async def extent(self, tenant_id: str, conversation_id: str) -> Extent | None:
        """Return how long the conversation is."""
        ...

    async def erasures(self, tenant_id: str, user_id: str, turn_ids: Mapping[str, Sequence[str]]) -> Erasures:
        """Return the erasures of a person, of conversations, and of turns in them."""
        ...


class Contexts(Protocol):
    """The contexts that were made, as :class:`streams.stores.context_log.ContextLog`."""

    async def read(self, tenant_id: str, user_id: str, conversation_id: str) -> Context | None:
        """Return the latest context of a person in a conversation."""
        ...


class Facts(FactPages, Protocol):
    """The facts by person and by their ids, as :class:`models.index.SearchIndex`."""

    async def get(self, ids: Sequence[str]) -> list[Fact]:
        """Return those that are stored."""
        ...


class ContextReader:
    """Reads contexts, each for one person of one tenant.

    ``count``, ``budget`` and ``rates`` are those that contexts are made with.
    """

    def __init__(
        self,
        contexts: Contexts,
        log: Log,
        facts: Facts,
        count: TokenCounter,
        *,
        budget: Budget | None = None,
        rates: Mapping[Kind, float] = RATES,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._contexts = contexts
        self._log = log
        self._facts = facts
        self._count = count
        self._budget = budget or Budget()
        self._rates = rates
        self._clock = clock

    async def read(self, tenant_id: str, user_id: str, conversation_id: str) -> ContextAnswer:
        """Return the context of a person in a conversation.

        Raises:
            NotFound: the person takes part in no such conversation.
            DependencyUnavailable: Redis or the index does not answer.
        """
        async with _patience():
            return await self._read(tenant_id, user_id, conversation_id)

    async def made(self, tenant_id: str, user_id: str, conversation_id: str) -> Context | None:
        """Return the context alone, if one was made and not all of it was erased since.

        Without standing notes that became known since: who answers reads all of them anyway.

        Raises:
            DependencyUnavailable: as :meth:`read`.
        """
        async with _patience():
            found = await self._stored(tenant_id, user_id, conversation_id)
            return None if found is None else await self._as_of_now(found)

    async def _stored(self, tenant_id: str, user_id: str, conversation_id: str) -> Context | None:
        found = await self._contexts.read(tenant_id, user_id, conversation_id)
        whose = tenant_id, user_id, conversation_id
        is_theirs = found is not None and (found.tenant_id, found.user_id, found.conversation_id) == whose
        return found if is_theirs else None

    async def _read(self, tenant_id: str, user_id: str, conversation_id: str) -> ContextAnswer:
        found, takes_part, extent, notes = await asyncio.gather(
            self._stored(tenant_id, user_id, conversation_id),
            self._log.takes_part(tenant_id, user_id, conversation_id),
            self._log.extent(tenant_id, conversation_id),
            self._notes(tenant_id, user_id),
        )
        if found is None and not takes_part:
            raise NotFound(
                f"{user_id} takes part in no conversation {conversation_id} of tenant {tenant_id} that is "
                "still kept: check the names; a conversation is known as soon as its first message was read"
            )
        if found is not None:
            found = await self._as_of_now(found)
        if found is None:
            status, behind = ContextStatus.NOT_MADE_YET, extent.next_index if extent else 0
            text = self._alone(notes) if takes_part else ""  # else the person was erased a moment ago
        else:
            found = self._with(notes, found)
            status = ContextStatus.MADE if _remembers(found) else ContextStatus.NOTHING
            text = prompt(found)
            behind = max(0, extent.next_index - 1 - found.after_index) if extent else 0
        return ContextAnswer(
            status=status,
            conversation_id=conversation_id,
            user_id=user_id,
            tenant_id=tenant_id,
            prompt=text,
            behind=behind,
            context=found,
        )

    async def _notes(self, tenant_id: str, user_id: str) -> list[Fact]:
        """Return the standing notes of a person by now; none if the index does not answer in time."""
        try:
            async with asyncio.timeout(_NOTES_SECONDS):
                return await standing_notes(self._facts, tenant_id, user_id, self._clock())
        except (DependencyUnavailable, TimeoutError) as error:
            log.warning("context without standing notes since", reason=str(error) or "no answer in time")
            return []

    def _with(self, notes: Sequence[Fact], context: Context) -> Context:
        if not lacks(context, [fact.fact_id for fact in notes]):
            return context
        now, wanted = self._clock(), words_made_from(context)
        offered = [note_of(fact, wanted, now, self._rates) for fact in notes]
        return with_notes(context, offered, now, self._count)

    def _alone(self, notes: Sequence[Fact]) -> str:
        now = self._clock()
        offered = [note_of(fact, (), now, self._rates) for fact in notes]
        return prompt_of_notes(offered, now, self._budget, self._count)

    async def _as_of_now(self, context: Context) -> Context | None:
        """Return the context without what is gone by now; ``None`` if all of it was erased."""
        turns: dict[str, list[str]] = {context.conversation_id: []}
        for item in context.items:
            if item.tier not in _OF_FACTS and item.conversation_id:
                turns.setdefault(item.conversation_id, []).extend(_turn_ids(item, context.tenant_id))
        fact_ids = [item.id for item in context.items if item.tier in _OF_FACTS]
        erased, facts = await asyncio.gather(
            self._log.erasures(context.tenant_id, context.user_id, turns),
            self._facts.get(fact_ids) if fact_ids else _nothing(),
        )
        made = context.made_at.timestamp() * 1000
        if made <= max(erased.person, erased.conversations[context.conversation_id]):
            return None
        known = {fact.fact_id: fact for fact in facts}
        gone = {}
        for item in context.items:
            why = (
                _why_fact(known.get(item.id), context)
                if item.tier in _OF_FACTS
                else _why_turn(item, erased, context.tenant_id)
            )
            if why is not None:
                gone[item.id] = why
        return without(context, gone) if gone else context


@asynccontextmanager
async def _patience() -> AsyncIterator[None]:
    try:
        async with asyncio.timeout(_PATIENCE_SECONDS):
            yield
    except TimeoutError as error:
        raise DependencyUnavailable("redis", f"no context within {_PATIENCE_SECONDS:g} s") from error


async def _nothing() -> list[Fact]:
    return []


def _why_fact(fact: Fact | None, context: Context) -> LeftOut | None:
    if fact is None or (fact.tenant_id, fact.user_id) != (context.tenant_id, context.user_id):
        return LeftOut.ERASED
    return None if fact.status is FactStatus.ACTIVE else LeftOut.ENDED


def _why_turn(item: ContextItem, erased: Erasures, tenant_id: str) -> LeftOut | None:
    """Return why what was said is out: a turn, or an episode of which one of the turns shown was erased."""
    of_turns = (erased.turns.get(each, -1) for each in _turn_ids(item, tenant_id))
    until = max(erased.person, erased.conversations.get(item.conversation_id, -1), *of_turns)
    came = item.arrived_at.timestamp() * 1000 if item.arrived_at is not None else 0
    return LeftOut.ERASED if came <= until else None


def _turn_ids(item: ContextItem, tenant_id: str) -> list[str]:
    """Return the ids of the turns that an item shows."""
    return [ids.turn_id(tenant_id, item.conversation_id, name) for name in item.message_ids]


def _remembers(context: Context) -> bool:
    return any(item.left_out is None and item.tier is not Tier.RECENT for item in context.items)
