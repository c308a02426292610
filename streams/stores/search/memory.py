"""Searching one person's memory: candidates from the indexes, ranked together.

A fact is ranked as a turn of the person would be that says what the fact says.  What waits for its vector can
only be found by its words.  When the embedder is down, that holds for everything.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial

import numpy as np
import structlog
from numpy.typing import NDArray

from models.episodes import Episode
from models.errors import DependencyUnavailable
from models.facts import Fact
from models.index import FactFilter, FactReader, TurnFilter
from models.messages import Role
from models.ports import Embedder
from models.statements import Kind
from models.turns import Turn
from processors.facts.confidence import RATES
from processors.retrieval.recall.answering import FLOOR
from processors.retrieval.recall.dating import Period, period_of
from processors.retrieval.recall.features import Candidate
from processors.retrieval.recall.question import InvalidQuestion, Question, cleaned, read
from processors.retrieval.recall.ranking import rank
from processors.retrieval.recall.strangers import stranger
from streams.stores.search import pools
from streams.stores.search.candidates import of_episode, of_fact, of_turn
from streams.stores.search.explaining import Explanation, Stopwatch, explain
from streams.stores.search.graph import GraphSearch
from streams.stores.search.meaning import understands
from streams.stores.search.neighbours import Neighbours, with_neighbours
from streams.stores.search.pools import EpisodeIndex, TurnIndex
from streams.stores.search.results import (
    Around,
    Empty,
    Result,
    Results,
    of_item,
    scope_of,
)
from streams.stores.search.wanted import SearchType, Wanted

log = structlog.get_logger("streams.stores.search")


@dataclass(frozen=True)
class Gathered:
    """A question that was read, and what may answer it: an item for each candidate, in their order.

    ``stranger``: whom the question asks about by name, if nothing of that is about anybody of this name.
    """

    question: Question
    items: Sequence[Turn | Fact | Episode]
    candidates: Sequence[Candidate]
    around: Around
    period: Period | None
    degraded: bool
    watch: Stopwatch
    stranger: str = ""


class MemorySearch:
    """Searches the index of facts and, where there are such, those of turns and episodes.

    ``graph``: with it, a question finds the turns that say what is tied to whom it names.
    ``neighbours``: where the turns before and after a turn are found; without it, among what was found.
    ``embed_timeout`` and ``neighbour_timeout`` (seconds) bound the wait for the query's vector and for them.
    ``rates``: how fast facts of each kind fade, per day.  ``floor``: the chance that something answers below
    which nothing is returned.  ``clock`` says what "last month" is counted from.
    """

    def __init__(
        self,
        facts: FactReader,
        embedder: Embedder,
        turns: TurnIndex | None = None,
        neighbours: Neighbours | None = None,
        episodes: EpisodeIndex | None = None,
        *,
        graph: GraphSearch | None = None,
        embed_timeout: float = 2.0,
        neighbour_timeout: float = 0.5,
        rates: Mapping[Kind, float] = RATES,
        floor: float = FLOOR,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._facts = facts
        self._turns = turns
        self._episodes = episodes
        self._graph = graph
        self._neighbours = neighbours
        self._embedder = embedder
        self._embed_timeout = embed_timeout
        self._neighbour_timeout = neighbour_timeout
        self._rates = rates
        self._floor = floor
        self._clock = clock

    async def search(self, wanted: Wanted) -> Results:
        """Return the results, best first; with a reason if there are none.

        When the embedder is down, or an index ranks words less well, the results are ``degraded``.

        Raises:
            InvalidQuestion: the query is blank or too long, the limit out of bounds, the time range empty.
            DependencyUnavailable: an index is down.
        """
        gathered = await self.gather(wanted)
        found, explanation = await asyncio.to_thread(_ranked, gathered, wanted.limit, self._floor)
        return Results(
            found,
            explanation=explanation,
            scope=scope_of(wanted, gathered.period),
            degraded=gathered.degraded,
            empty=None if found else await self._why(wanted),
        )

    async def gather(self, wanted: Wanted) -> Gathered:
        """Return the candidates, in no order.  Raises as :meth:`search`."""
        wanted.check()
        watch = Stopwatch()
        query, now = cleaned(wanted.query), self._clock()
        if wanted.search_type is SearchType.EPISODES and self._episodes is None:
            raise InvalidQuestion("no episodes are kept here: search turns, facts or both")
        turns = self._turns if wanted.searches_turns else None
        named = self._turns if wanted.search_type is SearchType.EPISODES else turns
        period = None if wanted.as_of is not None else period_of(query, now)
        speakers = await pools.speakers(named, query, wanted)
        question = read(query, speakers, period=period, person=wanted.user_id)
        # One vector for all that is searched: making it takes longer than anything else here.
        asked = query if wanted.search_type is SearchType.FACTS else question.text
        vector = await self._embed(asked)
        # The nearest of what is not understood are candidates like any others: only, nearness says nothing.
        cosine = partial(_cosine, self._embedder, understands(self._embedder, asked))
        watch.lap("read")
        items: list[Turn | Fact | Episode] = []
        candidates: list[Candidate] = []
        around: Around = {}
        said, known = await asyncio.gather(
            _nothing() if turns is None else pools.turns(turns, question.text, vector, wanted),
            pools.facts(self._facts, query, vector, wanted, period, now, self._rates)
            if wanted.searches_facts
            else _nothing(),
        )
        watch.lap("find")
        if said is not None:
            tied = await self._tied(question, said.items, wanted)
            if turns is not None and tied:
                said = await pools.with_tied(said, turns, tied, vector, wanted)
            around = await with_neighbours(said.items, wanted, self._neighbours, self._neighbour_timeout)
            watch.lap("around")
            items += said.items
            candidates += [
                of_turn(turn, cosine(said.cosines, turn.turn_id, turn.text), around, tied=turn.turn_id in tied)
                for turn in said.items
            ]
        if known is not None:
            names = {turn.speaker for turn in around.values() if turn.role is Role.USER}
            person = names.pop() if len(names) == 1 else ""
            items += known.items
            candidates += [
                of_fact(fact, cosine(known.cosines, fact.fact_id, fact.statement), person)
                for fact in known.items
            ]
        if wanted.search_type is SearchType.EPISODES and self._episodes is not None:
            ranges = await pools.episodes(self._episodes, question.text, vector, wanted)
            items += ranges.items
            candidates += [
                of_episode(each, cosine(ranges.cosines, each.episode_id, each.text)) for each in ranges.items
            ]
            watch.lap("episodes")
        unknown = await self._stranger(query, candidates, wanted)
        searched = (
            turns,
            self._facts if wanted.searches_facts else None,
            self._episodes if wanted.search_type is SearchType.EPISODES else None,
        )
        degraded = vector is None or any(each is not None and each.is_degraded for each in searched)
        return Gathered(question, items, candidates, around, period, degraded, watch, unknown)

    async def knows(self, user_id: str, tenant_id: str) -> bool:
        """Say whether anything that a person said is kept, or anything is known of them: nothing found may also
        mean that there is nobody of this name.

        Raises:
            DependencyUnavailable: an index is down.
        """
        if await self._has_facts(user_id, tenant_id):
            return True
        where = TurnFilter(user_id=user_id, tenant_id=tenant_id)
        return self._turns is not None and bool((await self._turns.page(where, 1))[0])

    async def has_turns(self, user_id: str, tenant_id: str, until: datetime) -> bool:
        """Say whether anything is kept that a person sent before a moment.

        Raises:
            DependencyUnavailable: the index is down.
        """
        where = TurnFilter(user_id=user_id, tenant_id=tenant_id, until=until)
        return self._turns is not None and bool((await self._turns.page(where, 1))[0])

    async def _has_facts(self, user_id: str, tenant_id: str) -> bool:
        where = FactFilter(user_id=user_id, tenant_id=tenant_id, statuses=())
        return bool((await self._facts.page(where, 1))[0])

    async def _why(self, wanted: Wanted) -> Empty:
        """Return why nothing was found."""
        if not await self.knows(wanted.user_id, wanted.tenant_id):
            return Empty.UNKNOWN_PERSON
        if wanted.conversation_id and self._turns is not None:
            there = TurnFilter(
                user_id=wanted.user_id, tenant_id=wanted.tenant_id, conversation_id=wanted.conversation_id
            )
            if not (await self._turns.page(there, 1))[0]:
                return Empty.UNKNOWN_CONVERSATION
        if wanted.searches_facts and not await self._has_facts(wanted.user_id, wanted.tenant_id):
            return Empty.NO_FACTS
        return Empty.NO_ANSWER

    async def _tied(self, question: Question, turns: Sequence[Turn], wanted: Wanted) -> Sequence[str]:
        """Return the ids of turns that say what is tied to those whom the question names."""
        if self._graph is None:
            return ()
        people = {turn.speaker for turn in turns if turn.role is Role.USER}
        of_self = question.asked in people if question.asked else question.role is not Role.ASSISTANT
        try:
            async with asyncio.timeout(self._neighbour_timeout):
                return await self._graph.turns_of(
                    wanted.user_id, wanted.tenant_id, question.text, of_self=of_self
                )
        except (DependencyUnavailable, TimeoutError) as error:
            log.warning("searched without the graph", reason=str(error) or "no answer in time")
            return ()

    async def _stranger(self, query: str, candidates: Sequence[Candidate], wanted: Wanted) -> str:
        """Return a name in the question that no result mentions or comes from."""
        if any(each.tied for each in candidates):
            return ""
        told = (text for each in candidates for text in (each.speaker, each.text, each.before, each.after))
        unknown = stranger(query, (wanted.user_id, *told))
        if unknown and not wanted.searches_turns and self._turns is not None:
            # Facts do not say how the person is called.
            return stranger(query, await pools.speakers(self._turns, query, wanted))
        return unknown

    async def _embed(self, text: str) -> NDArray[np.float32] | None:
        """Return the vector of a text; none while the embedder is down."""
        try:
            async with asyncio.timeout(self._embed_timeout):
                vectors = await self._embedder.embed([text])
        except (DependencyUnavailable, TimeoutError):
            return None
        vector: NDArray[np.float32] = vectors[0]
        return vector


def _cosine(
    embedder: Embedder, is_question_understood: bool, cosines: Mapping[str, float], name: str, text: str
) -> float | None:
    """Return how near a text is by meaning; ``None``: not compared, or one of the two is not understood."""
    cosine = cosines.get(name) if is_question_understood else None
    return cosine if cosine is None or understands(embedder, text) else None


async def _nothing() -> None:
    """Return nothing, for a part that is not requested."""


def _ranked(gathered: Gathered, limit: int, floor: float) -> tuple[list[Result], Explanation]:
    ranked = rank(gathered.question, gathered.candidates, 0.0)
    results = limit if ranked and ranked[0].score >= floor and not gathered.stranger else 0
    gathered.watch.lap("rank")
    found = [
        of_item(gathered.items[each.position], each.score, each.parts, gathered.around)
        for each in ranked[:results]
    ]
    return found, explain(ranked, gathered.candidates, results, floor, gathered.watch)
