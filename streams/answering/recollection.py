"""What is remembered of a person, as an answer needs it: from search, understanding, contexts and the log."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Protocol

from models.context import Context, FoundBy
from models.turns import Turn
from models.understanding import QueryUnderstanding, QuestionAsked
from processors.answering.material import Found
from processors.answering.searching import Search
from processors.context.ranking import Candidate
from processors.recall.question import LONGEST_QUESTION, InvalidQuestion, cleaned, words_of
from streams.search import Result, Results, SearchType, Wanted

#: Results of the search that is made with the question itself.
_LIMIT = 8

#: Of what is found, so much may be the same question, asked before: that answers nothing.
_ASKED_BEFORE = 12


class Searches(Protocol):
    """As :class:`streams.search.MemorySearch`."""

    async def search(self, wanted: Wanted) -> Results:
        """Return what answers, best first."""
        ...


class Understands(Protocol):
    """As :class:`streams.answering.understanding.Understanding`."""

    async def understand(self, asked: QuestionAsked) -> QueryUnderstanding:
        """Return what a question means."""
        ...


class ReadsContexts(Protocol):
    """As :class:`streams.contexts.reading.ContextReader`."""

    async def made(self, tenant_id: str, user_id: str, conversation_id: str) -> Context | None:
        """Return the context of a person in a conversation, if one was made."""
        ...


class Log(Protocol):
    """As :class:`streams.adapters.conversation_log.ConversationLog`."""

    async def takes_part(self, tenant_id: str, user_id: str, conversation_id: str) -> bool:
        """Say whether the person is known in the conversation."""
        ...

    async def last_turns(self, tenant_id: str, conversation_id: str, count: int) -> list[Turn]:
        """Return the last turns of a conversation, oldest first."""
        ...


class Recollection:
    """Implements :class:`streams.answering.driving.Memory`, each turn in the name of who said it."""

    def __init__(self, searches: Searches, understands: Understands, contexts: ReadsContexts, log: Log) -> None:
        self._searches = searches
        self._understands = understands
        self._contexts = contexts
        self._log = log

    async def recent(self, turn: Turn, count: int) -> list[Turn]:
        """Return the turns of the conversation before this one, oldest first; none to who has no part in it."""
        takes_part, turns = await asyncio.gather(
            self._log.takes_part(turn.tenant_id, turn.user_id, turn.conversation_id),
            self._log.last_turns(turn.tenant_id, turn.conversation_id, count + 1),
        )
        if not takes_part:
            return []  # of a conversation's first message the log may not have read anything yet
        return [each for each in turns if each.message_id != turn.message_id][-count:]

    async def understand(self, turn: Turn, said: Sequence[Turn], known: Sequence[str]) -> QueryUnderstanding:
        """Return what the turn means: of a long one, what its beginning does."""
        try:
            query = cleaned(turn.text[:LONGEST_QUESTION])
        except InvalidQuestion:
            return QueryUnderstanding(
                query=turn.text, is_ambiguous=False, score=0.0, final_augmented_context=turn.text
            )
        asked = QuestionAsked(
            query=query,
            user_id=turn.user_id,
            tenant_id=turn.tenant_id,
            conversation_id=turn.conversation_id,
            turns=[each.text for each in said],
            remembered=known,
        )
        return await self._understands.understand(asked)

    async def context(self, turn: Turn) -> Context | None:
        """Return the context that was made after the turn before."""
        return await self._contexts.made(turn.tenant_id, turn.user_id, turn.conversation_id)

    async def search(self, turn: Turn, search: Search) -> Found:
        """Return what is remembered of the person who said the turn, but for the turn itself."""
        query = _query(search.query)
        if not query:
            return Found()
        limit = search.limit if search.query != turn.text else _LIMIT
        wanted = Wanted(
            query=query,
            user_id=turn.user_id,
            tenant_id=turn.tenant_id,
            search_type=_TYPES[search.search_type],
            limit=limit + _ASKED_BEFORE,
        )
        try:
            results = await self._searches.search(wanted)
        except InvalidQuestion:
            return Found()  # nothing in it can be looked for, such as an emoji
        asked = _same(turn.text)
        new = [
            each
            for each in results
            if turn.message_id not in each.message_ids and (each.fact is not None or _same(each.text) != asked)
        ]
        return found_of(new[:limit], results.floor)


#: What the tool's words mean here: "episodes" is what was said, turn by turn (seed 002's episodic memory).
_TYPES: Mapping[str, SearchType] = {
    "facts": SearchType.FACTS,
    "episodes": SearchType.TURNS,
    "both": SearchType.BOTH,
}


def found_of(results: Sequence[Result], floor: float = 0.0) -> Found:
    """Return search results as candidates for a prompt."""
    facts = tuple(_candidate(each) for each in results if each.fact is not None)
    said = tuple(_candidate(each) for each in results if each.fact is None)
    return Found(facts, said, floor)


def _candidate(result: Result) -> Candidate:
    fact, turn, episode = result.fact, result.turn, result.episode
    at, confidence, names = _LONG_AGO, 1.0, result.message_ids
    if fact is not None:
        at = max((source.sent_at for source in fact.provenance), default=fact.last_evidence_at)
        confidence = fact.confidence
    elif turn is not None:
        at = turn.sent_at
    return Candidate(
        id=fact.fact_id if fact else turn.turn_id if turn else episode.episode_id if episode else "-",
        text=result.text,
        found_by=FoundBy.TOOL,
        similarity=result.score,
        confidence=confidence,
        at=at,
        words=words_of(result.text),
        role=turn.role if turn is not None else None,
        speaker=turn.speaker if turn is not None else "",
        message_ids=names,
        conversation_id=result.conversation_id,
    )


_LONG_AGO = datetime(2000, 1, 1, tzinfo=UTC)


def _same(text: str) -> str:
    return " ".join(text.casefold().split())


def _query(text: str) -> str:
    """Return as much of a text as can be searched for."""
    return " ".join(text[:LONGEST_QUESTION].split())
