"""Making the context for a conversation's next turn, of what was just said (requirement 3.2).

Facts, instructions, episodes and turns are found by meaning and by words with the last two turns, ranked
(:mod:`processors.retrieval.context.ranking`) and packed (:mod:`processors.retrieval.context.packing`).  A
vector is waited for only shortly: without one, words find what they find.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Protocol, TypeAlias, TypeVar

import structlog

from models.context import Context, ContextRequest, FoundBy
from models.episodes import Episode
from models.errors import DependencyUnavailable
from models.facts import Fact
from models.index import EpisodeFilter, FactFilter, FactReader, IndexReader, TurnFilter
from models.messages import Role
from models.statements import Kind
from models.turns import Turn
from processors.extraction.units import last_question
from processors.facts.confidence import RATES, confidence_at
from processors.retrieval.context.packing import Budget, Packer
from processors.retrieval.context.ranking import Candidate, ranked
from processors.retrieval.context.remembering import FoundEpisode, is_short, offered, remembered
from processors.text.tokens import TokenCounter
from streams.agents.contexts.candidates import (
    LastTurns,
    Vector,
    compared,
    embedded,
    episode_candidate,
    made_from,
    query_of,
    shortened,
    turn_candidate,
    vector_of,
    words_said,
)
from streams.agents.vectors.queue import VectorQueue
from streams.stores.remembered.standing import standing_notes

log = structlog.get_logger("streams.agents.contexts.making")

TurnIndex: TypeAlias = IndexReader[Turn, TurnFilter]
EpisodeIndex: TypeAlias = IndexReader[Episode, EpisodeFilter]

Item = TypeVar("Item")
Filter = TypeVar("Filter")

#: Turns and episodes that each way of searching brings in (requirement 3).
CANDIDATES = 20

#: Facts that are looked at: as many as fill the budget.
FACT_CANDIDATES = 60

#: Contexts that are made at once, so that the first of many is not kept waiting by the last.
_AT_ONCE = 4

_OTHER_KINDS = tuple(kind for kind in Kind if kind is not Kind.INSTRUCTION)


class Log(Protocol):
    """The conversation log, as :class:`streams.stores.conversation_log.ConversationLog`."""

    async def at(self, tenant_id: str, indices: Mapping[str, Sequence[int]]) -> list[Turn]:
        """Return the turns that there are at these indices, by conversation."""
        ...


class ContextMaker:
    """Makes contexts.  ``log`` has the turns before those of a request; ``log_timeout``: how long it may take.

    ``missed`` is called when the log did not answer: the context then knows fewer of the last messages.
    """

    def __init__(
        self,
        facts: FactReader,
        turns: TurnIndex,
        vectors: VectorQueue,
        log: Log,
        count: TokenCounter,
        *,
        budget: Budget | None = None,
        rates: Mapping[Kind, float] = RATES,
        episodes: EpisodeIndex | None = None,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
        log_timeout: float = 0.25,
        missed: Callable[[], None] = lambda: None,
    ) -> None:
        self._facts = facts
        self._turns = turns
        self._episodes = episodes
        self._vectors = vectors
        self._log = log
        self._count = count
        self._budget = budget or Budget()
        self._rates = rates
        self._clock = clock
        self._log_timeout = log_timeout
        self._missed = missed
        self._at_once = asyncio.Semaphore(_AT_ONCE)

    async def make(self, requests: Sequence[ContextRequest], patience: float) -> list[Context | None]:
        """Return the context of each request, in their order, with vectors that come within ``patience`` s.

        ``None``: it is there by words already, and there is still no vector to make a better one with.

        Raises:
            DependencyUnavailable: an index is down.
        """
        turns = await self._last_turns(requests)
        latest = [made_from(some) for some in turns]
        texts = [embedded(turn) for some in latest for turn in some]
        vectors = await self._vectors.get([text for text in texts if text], patience)
        said = [
            LastTurns(some, of, words_said(of), vector_of(of, vectors))
            for some, of in zip(turns, latest, strict=True)
        ]
        return await asyncio.gather(
            *[self._one(request, each) for request, each in zip(requests, said, strict=True)]
        )

    async def _one(self, request: ContextRequest, said: LastTurns) -> Context | None:
        if request.attempt and said.latest and said.vector is None:
            return None
        async with self._at_once:
            return await self._context(said)

    async def _last_turns(self, requests: Sequence[ContextRequest]) -> list[list[Turn]]:
        """Return the last turns for each request: its own, and from the log those before them."""
        missing: dict[str, dict[str, list[int]]] = {}
        for request in requests:
            last, known = request.turns[-1], {turn.index for turn in request.turns}
            wanted = range(max(0, last.index - self._budget.recent_turns + 1), last.index)
            if lacking := [index for index in wanted if index not in known]:
                missing.setdefault(last.tenant_id, {})[last.conversation_id] = lacking
        found: list[Turn] = []
        try:
            async with asyncio.timeout(self._log_timeout):
                for tenant, indices in missing.items():
                    found += await self._log.at(tenant, indices)
        except (DependencyUnavailable, TimeoutError) as error:
            self._missed()
            log.warning("contexts without the turns before", reason=str(error) or "no answer in time")
        earlier: dict[tuple[str, str], list[Turn]] = {}
        for turn in found:
            earlier.setdefault((turn.tenant_id, turn.conversation_id), []).append(turn)
        return [
            _together(request.turns, earlier.get((last.tenant_id, last.conversation_id), []))
            for request in requests
            for last in request.turns[-1:]
        ]

    async def _context(self, said: LastTurns) -> Context:
        now = self._clock()
        last = said.last
        known = FactFilter(user_id=last.user_id, tenant_id=last.tenant_id, kinds=_OTHER_KINDS, passive_at=now)
        past = TurnFilter(user_id=last.user_id, tenant_id=last.tenant_id)
        query = query_of(said.latest)
        found_facts, found_turns, episodes, standing = await asyncio.gather(
            _find(self._facts, query, said.vector, known, FACT_CANDIDATES),
            _find(self._turns, query, said.vector, past),
            self._found_episodes(query, said),
            standing_notes(self._facts, last.tenant_id, last.user_id, now),
        )
        facts = {fact.fact_id: (fact, FoundBy.WORDS) for fact in found_facts}
        if len(facts) < FACT_CANDIDATES:
            others, _ = await self._facts.page(known, FACT_CANDIDATES)
            facts = {fact.fact_id: (fact, FoundBy.ANY) for fact in others} | facts
        facts |= {fact.fact_id: (fact, FoundBy.KIND) for fact in standing}
        recent = {turn.turn_id for turn in said.turns}
        turns = {turn.turn_id: turn for turn in found_turns if turn.turn_id not in recent}
        fact_vectors, turn_vectors, questions = await asyncio.gather(
            self._facts.vectors([*facts]), self._turns.vectors([*turns]), self._questions(turns.values())
        )
        candidates = [self._fact(fact, by, said, fact_vectors, now) for fact, by in facts.values()]
        is_told = {fact_id for fact_id, (fact, _) in facts.items() if fact.kind is Kind.INSTRUCTION}
        lasting = [each for each in candidates if each.lasting and each.id not in is_told]
        earlier = offered(
            [turn_candidate(turn, said, turn_vectors) for turn in turns.values()], candidates, questions
        )
        past_episodes = [
            FoundEpisode(each.episode, shortened(each.candidate, said))
            for each in episodes
            if recent.isdisjoint(each.episode.turn_ids)
        ]
        packed = Packer(self._budget, self._count).pack(
            said.turns,
            instructions=ranked([each for each in candidates if each.id in is_told], now),
            facts=ranked([each for each in candidates if not each.lasting], now)[:FACT_CANDIDATES],
            lasting=ranked(lasting, now),
            episodes=ranked(remembered([shortened(each, said) for each in earlier], past_episodes), now)[
                :CANDIDATES
            ],
        )
        return Context(
            conversation_id=last.conversation_id,
            user_id=last.user_id,
            tenant_id=last.tenant_id,
            after_turn_id=last.turn_id,
            after_index=last.index,
            made_from=tuple(turn.turn_id for turn in said.latest),
            said_at=last.arrived_at,
            began_at=last.began_at,
            made_at=now,
            by_meaning=said.vector is not None,
            budget=self._budget.total,
            tokens=packed.tokens,
            tiers=packed.tiers,
            items=packed.items,
        )

    async def _found_episodes(self, query: str, said: LastTurns) -> list[FoundEpisode]:
        """Return the person's episodes that are near what was just said, each once."""
        if self._episodes is None:
            return []
        of = EpisodeFilter(user_id=said.last.user_id, tenant_id=said.last.tenant_id)
        found = {each.episode_id: each for each in await _find(self._episodes, query, said.vector, of)}
        vectors = await self._episodes.vectors([*found])
        return [FoundEpisode(each, episode_candidate(each, said, vectors)) for each in found.values()]

    async def _questions(self, turns: Iterable[Turn]) -> dict[str, str]:
        """Return the questions answered by short turns, by the turn's id: the assistant's message right
        before.
        """
        short = [each for each in turns if each.role is Role.USER and each.index and is_short(each.text)]
        wanted: dict[str, dict[str, list[int]]] = {}
        for each in short:
            wanted.setdefault(each.tenant_id, {}).setdefault(each.conversation_id, []).append(each.index - 1)
        before: dict[tuple[str, str, int], Turn] = {}
        try:
            async with asyncio.timeout(self._log_timeout):
                for tenant, indices in wanted.items():
                    for turn in await self._log.at(tenant, indices):
                        before[tenant, turn.conversation_id, turn.index] = turn
        except (DependencyUnavailable, TimeoutError) as error:
            self._missed()
            log.warning("context without short answers", reason=str(error) or "no answer in time")
        found = {
            each.turn_id: before.get((each.tenant_id, each.conversation_id, each.index - 1)) for each in short
        }
        began = {each.turn_id: each.began_at for each in short}
        return {
            name: last_question(turn.text)
            for name, turn in found.items()
            if turn is not None and turn.role is Role.ASSISTANT and turn.began_at == began[name]
        }

    def _fact(
        self, fact: Fact, found_by: FoundBy, said: LastTurns, vectors: Mapping[str, Vector], now: datetime
    ) -> Candidate:
        vector = vectors.get(fact.fact_id)
        words, similarity, by_meaning = compared(fact.statement, vector, said)
        latest = max((source.sent_at for source in fact.provenance), default=fact.last_evidence_at)
        return Candidate(
            id=fact.fact_id,
            text=fact.statement,
            found_by=FoundBy.MEANING if by_meaning and found_by is FoundBy.WORDS else found_by,
            similarity=similarity,
            at=latest,
            words=words,
            vector=vector,
            confidence=confidence_at(fact, now, self._rates),
            lasting=found_by is FoundBy.KIND,
            message_ids=tuple(dict.fromkeys(name for each in fact.provenance for name in each.message_ids)),
            conversation_id=fact.provenance[-1].conversation_id if fact.provenance else "",
        )


async def _find(
    index: IndexReader[Item, Filter],
    query: str,
    vector: Vector | None,
    where: Filter,
    limit: int = CANDIDATES,
) -> list[Item]:
    """Return the items near the vector and those sharing words with the query; an item may come twice."""
    by_meaning = [] if vector is None else await index.search_vector(vector, where, limit)
    by_words = await index.search_text(query, where, limit) if query else []
    return [each.item for each in (*by_meaning, *by_words)]


def _together(turns: Sequence[Turn], earlier: Sequence[Turn]) -> list[Turn]:
    """Return the turns of one life of a conversation, in order, up to the one that was asked about."""
    last = turns[-1]
    found = {turn.index: turn for turn in (*earlier, *turns) if turn.began_at == last.began_at}
    return [turn for index, turn in sorted(found.items()) if index <= last.index]
