"""Memory of a person for an answer: from search, understanding, contexts and the log."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Protocol

from models.context import Context, FoundBy
from models.facts import Fact, FactStatus
from models.messages import Role
from models.statements import Kind
from models.turns import Turn
from models.understanding import QueryUnderstanding, QuestionAsked
from processors.extraction.units import last_question
from processors.facts.confidence import RATES, is_lasting
from processors.prompts.answering.material import Found
from processors.prompts.answering.searching import Search
from processors.retrieval.context.ranking import Candidate
from processors.retrieval.context.remembering import answering, is_short
from processors.retrieval.context.wording import day_of
from processors.retrieval.recall.question import LONGEST_QUESTION, InvalidQuestion, cleaned, words_of
from streams.chat.answering.understanding import speakers_of
from streams.stores.remembered.standing import FactPages, note_of, said_last, standing_notes
from streams.stores.search import Result, Results, SearchType, Wanted

#: Results of the search that is made with the question itself.
_LIMIT = 8

#: Of what is found, so much may be the same question, asked before: that answers nothing.
_ASKED_BEFORE = 12


class Searches(Protocol):
    """As :class:`streams.stores.search.MemorySearch`."""

    async def search(self, wanted: Wanted) -> Results:
        """Return the search results, best first."""
        ...


class Understands(Protocol):
    """As :class:`streams.chat.answering.understanding.Understanding`."""

    async def understand(self, asked: QuestionAsked) -> QueryUnderstanding:
        """Return the meaning of a question."""
        ...


class ReadsContexts(Protocol):
    """As :class:`streams.queries.contexts.reading.ContextReader`."""

    async def made(self, tenant_id: str, user_id: str, conversation_id: str) -> Context | None:
        """Return the context of a person in a conversation, if one was made."""
        ...


class Log(Protocol):
    """As :class:`streams.stores.conversation_log.ConversationLog`."""

    async def takes_part(self, tenant_id: str, user_id: str, conversation_id: str) -> bool:
        """Say whether the person is known in the conversation."""
        ...

    async def last_turns(self, tenant_id: str, conversation_id: str, count: int) -> list[Turn]:
        """Return the last turns of a conversation, oldest first."""
        ...


class Recollection:
    """Implements :class:`streams.chat.answering.driving.Memory`, each turn in the name of who said it."""

    def __init__(
        self,
        searches: Searches,
        understands: Understands,
        contexts: ReadsContexts,
        log: Log,
        facts: FactPages,
        *,
        rates: Mapping[Kind, float] = RATES,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._searches = searches
        self._understands = understands
        self._contexts = contexts
        self._log = log
        self._facts = facts
        self._rates = rates
        self._clock = clock

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
        """Return the meaning of the turn; of a long one, of its beginning."""
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
            speakers=speakers_of(said, turn.user_id),
            remembered=known,
        )
        return await self._understands.understand(asked)

    async def context(self, turn: Turn) -> Context | None:
        """Return the context that was made after the turn before."""
        return await self._contexts.made(turn.tenant_id, turn.user_id, turn.conversation_id)

    async def standing(self, turn: Turn) -> Found:
        """Return the instructions and lasting facts of the person, as like the turn as their words are."""
        now = self._clock()
        notes = await standing_notes(self._facts, turn.tenant_id, turn.user_id, now)
        wanted = words_of(turn.text)
        made = [note_of(note, wanted, now, self._rates) for note in notes]
        return Found(
            facts=tuple(each for each in made if each.lasting),
            instructions=tuple(each for each in made if not each.lasting),
        )

    async def search(self, turn: Turn, search: Search) -> Found:
        """Return the search results in the memory of the turn's speaker, without the turn itself."""
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


#: What the tool's words mean here: "episodes" is what was said, turn by turn (requirement 3.2).
_TYPES: Mapping[str, SearchType] = {
    "facts": SearchType.FACTS,
    "episodes": SearchType.TURNS,
    "both": SearchType.BOTH,
}


def found_of(results: Sequence[Result], floor: float = 0.0) -> Found:
    """Return search results as candidates for a prompt."""
    facts = [each for each in results if each.fact is not None]
    return Found(
        facts=tuple(_candidate(each) for each in facts if not _is_instruction(each)),
        said=tuple(_candidate(each) for each in results if each.fact is None),
        instructions=tuple(_candidate(each) for each in facts if _is_instruction(each)),
        floor=floor,
    )


def _is_instruction(result: Result) -> bool:
    return result.fact is not None and result.fact.kind is Kind.INSTRUCTION


def _candidate(result: Result) -> Candidate:
    fact, turn, episode = result.fact, result.turn, result.episode
    at, confidence, text = _LONG_AGO, 1.0, result.text
    if fact is not None:
        at, confidence, text = said_last(fact), fact.confidence, _as_of_its_end(fact)
    elif turn is not None:
        at, text = turn.sent_at, _with_question(result)
    return Candidate(
        id=fact.fact_id if fact else turn.turn_id if turn else episode.episode_id if episode else "-",
        text=text,
        found_by=FoundBy.TOOL,
        similarity=result.score,
        confidence=confidence,
        at=at,
        words=words_of(text),
        role=turn.role if turn is not None else None,
        speaker=turn.speaker if turn is not None else "",
        message_ids=result.message_ids,
        conversation_id=result.conversation_id,
        lasting=fact is not None and fact.status is FactStatus.ACTIVE and is_lasting(fact),
    )


def _as_of_its_end(fact: Fact) -> str:
    """Return the statement of a fact; one that no longer holds says until when it did."""
    if fact.status is FactStatus.ACTIVE or fact.valid_to is None:
        return fact.statement
    return f"{fact.statement} (until {day_of(fact.valid_to)})"


def _with_question(result: Result) -> str:
    """Return the text of a turn; a short answer comes with its question."""
    before = result.before
    if before is None or before.role is not Role.ASSISTANT or not is_short(result.text):
        return result.text
    return answering(result.text, last_question(before.text)) if "?" in before.text else result.text


_LONG_AGO = datetime(2000, 1, 1, tzinfo=UTC)


def _same(text: str) -> str:
    return " ".join(text.casefold().split())


def _query(text: str) -> str:
    """Return as much of a text as can be searched for."""
    return " ".join(text[:LONGEST_QUESTION].split())
