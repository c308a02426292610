"""Finding what a person said and what is known of them, by meaning and by words at once (seed 002).

The indexes give candidates, :mod:`processors.recall.ranking` puts them in order, turns and facts together: a
fact is ranked as a turn of the person would be that says what the fact says.  What waits for its vector can
only be found by its words.  When the embedder is down, that holds for everything.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from enum import StrEnum
from typing import Generic, Literal, NamedTuple, Protocol, TypeAlias, TypeVar

import msgspec
import numpy as np
import structlog
from numpy.typing import NDArray

from models.errors import DependencyUnavailable
from models.facts import Fact
from models.messages import DEFAULT_TENANT, Role
from models.ports import Embedder, FactFilter, FactIndex, Found, SearchIndex, TurnFilter
from models.statements import Kind
from models.turns import Turn
from processors.facts.confidence import ACTIVE_FROM, RATES, confidence_at
from processors.recall.question import InvalidQuestion, Question, cleaned, read
from processors.recall.ranking import Candidate, rank

log = structlog.get_logger("streams.search")

Item = TypeVar("Item", Fact, Turn)

TurnIndex: TypeAlias = SearchIndex[Turn, TurnFilter]

#: Turns, and facts, that each way of searching brings in.
CANDIDATES = 60

#: Turns that are looked at to learn how the speakers are called.
_SAMPLE = 30

#: Most results of one search.
MOST_RESULTS = 100

#: Below this a fact is no answer to an explicit search.
MINIMUM_CONFIDENCE = ACTIVE_FROM


class SearchType(StrEnum):
    """What is searched.  ``episodes`` are turns as long as no episodes are formed."""

    BOTH = "both"
    FACTS = "facts"
    EPISODES = "episodes"
    TURNS = "turns"


class Result(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Something that answers.  ``score`` is 0..1; ``parts`` is what each feature added to its log odds.

    ``message_ids`` are the messages that it rests on, the latest first; ``conversation_id`` is that of the
    first of them.  There is ``fact`` or ``turn``, by its kind.
    """

    kind: Literal["fact", "turn"]
    score: float
    parts: dict[str, float]
    text: str
    message_ids: tuple[str, ...]
    conversation_id: str
    fact: Fact | None = None
    turn: Turn | None = None


class Results(list[Result]):
    """Search results, best first.  ``degraded``: the embedder was down, so only words were compared."""

    def __init__(self, found: Sequence[Result] = (), *, degraded: bool = False) -> None:
        super().__init__(found)
        self.degraded = degraded


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """What is searched for, and in what.

    ``conversation_id``, ``since`` (included) and ``until`` (not included) bound turns, and facts by the
    messages that they rest on.
    """

    query: str
    user_id: str
    tenant_id: str = DEFAULT_TENANT
    search_type: SearchType = SearchType.BOTH
    limit: int = 5
    minimum_confidence: float = MINIMUM_CONFIDENCE
    conversation_id: str = ""
    since: datetime | None = None
    until: datetime | None = None

    def check(self) -> None:
        """Raise :class:`InvalidQuestion` if nothing could ever be found this way."""
        if not 1 <= self.limit <= MOST_RESULTS:
            raise InvalidQuestion(f"limit is {self.limit}: ask for 1 to {MOST_RESULTS} results")
        for name, at in (("since", self.since), ("until", self.until)):
            if at is not None and at.tzinfo is None:
                raise InvalidQuestion(f"{name} has no time zone: write it as 2026-03-01T00:00:00Z")
        if self.since is not None and self.until is not None and self.since >= self.until:
            raise InvalidQuestion(
                f"the time range ends ({self.until.isoformat()}) before it begins ({self.since.isoformat()}): "
                "until must be later than since"
            )

    def covers(self, fact: Fact) -> bool:
        """Tell whether a fact rests on something of the conversation and the time that is asked for."""
        if not self.conversation_id and self.since is None and self.until is None:
            return True
        return any(
            self.conversation_id in ("", source.conversation_id)
            and (self.since is None or source.sent_at >= self.since)
            and (self.until is None or source.sent_at < self.until)
            for source in fact.provenance
        )


class Neighbours(Protocol):
    """The conversation log, as :class:`streams.adapters.conversation_log.ConversationLog`."""

    async def at(self, tenant_id: str, indices: Mapping[str, Sequence[int]]) -> list[Turn]:
        """Return the turns that there are at these indices, by conversation."""
        ...


class _Pool(NamedTuple, Generic[Item]):
    """Candidates of one kind, each once, and the cosines of those that were found by meaning."""

    items: list[Item]
    cosines: dict[str, float]


class MemorySearch:
    """Searches the index of facts and, where there is one, that of turns.

    ``neighbours``: where the turns before and after a turn are found; without it, among what was found.
    ``embed_timeout`` and ``neighbour_timeout`` (seconds) bound the wait for the query's vector and for them.
    ``rates``: how fast facts of each kind fade, per day.
    """

    def __init__(
        self,
        facts: FactIndex,
        embedder: Embedder,
        turns: TurnIndex | None = None,
        neighbours: Neighbours | None = None,
        *,
        embed_timeout: float = 2.0,
        neighbour_timeout: float = 0.5,
        rates: Mapping[Kind, float] = RATES,
    ) -> None:
        self._facts = facts
        self._turns = turns
        self._neighbours = neighbours
        self._embedder = embedder
        self._embed_timeout = embed_timeout
        self._neighbour_timeout = neighbour_timeout
        self._rates = rates

    async def search(self, wanted: Wanted) -> Results:
        """Return what answers, best first; nothing if nothing does.

        When the embedder is down, the results are ``degraded``.

        Raises:
            InvalidQuestion: the query is blank or too long, the limit out of bounds, the time range empty.
            DependencyUnavailable: an index is down.
        """
        wanted.check()
        query = cleaned(wanted.query)
        turns = self._turns if wanted.search_type is not SearchType.FACTS else None
        question = read(query, await _speakers(turns, query, wanted) if turns is not None else ())
        vectors = await self._embed([question.text, query])
        by_turns, by_facts = _Pool[Turn]([], {}), _Pool[Fact]([], {})
        if turns is not None:
            by_turns = await _turns(turns, question.text, None if vectors is None else vectors[0], wanted)
        if wanted.search_type in (SearchType.FACTS, SearchType.BOTH):
            by_facts = await self._known(query, None if vectors is None else vectors[1], wanted)
        around = await self._around(wanted, by_turns.items)
        found = await asyncio.to_thread(_ranked, question, by_turns, by_facts, around)
        return Results(found[: wanted.limit], degraded=vectors is None)

    async def knows(self, user_id: str, tenant_id: str) -> bool:
        """Say whether anything that a person said is kept, or anything is known of them: nothing found may also
        mean that there is nobody of this name.

        Raises:
            DependencyUnavailable: an index is down.
        """
        if (await self._facts.page(FactFilter(user_id=user_id, tenant_id=tenant_id, statuses=()), 1))[0]:
            return True
        where = TurnFilter(user_id=user_id, tenant_id=tenant_id)
        return self._turns is not None and bool((await self._turns.page(where, 1))[0])

    async def _known(self, query: str, vector: NDArray[np.float32] | None, wanted: Wanted) -> _Pool[Fact]:
        """Return facts that hold and are sure enough by now."""
        now = datetime.now(UTC)
        least = wanted.minimum_confidence
        where = FactFilter(
            user_id=wanted.user_id,
            tenant_id=wanted.tenant_id,
            minimum_confidence=least,
            active_at=now if least >= ACTIVE_FROM else None,
        )
        limit = max(CANDIDATES, wanted.limit)
        by_words = await self._facts.search_text(query, where, limit)
        by_meaning = [] if vector is None else await self._facts.search_vector(vector, where, limit)
        found = {each.item.fact_id: each.item for each in (*by_meaning, *by_words)}
        # what is less sure by now than a minimum that the index knows no date for
        sure = [each for each in found.values() if confidence_at(each, now, self._rates) >= least]
        cosines = {each.item.fact_id: each.score for each in by_meaning}
        return _Pool([fact for fact in sure if wanted.covers(fact)], cosines)

    async def _around(self, wanted: Wanted, turns: Sequence[Turn]) -> dict[tuple[str, int], Turn]:
        """Return the turns and their neighbours, by conversation and index; of this person only."""
        known = {(turn.conversation_id, turn.index): turn for turn in turns}
        missing: dict[str, list[int]] = {}
        for name, index in {(name, index + step) for name, index in known for step in (-1, 1)} - known.keys():
            if index >= 0:
                missing.setdefault(name, []).append(index)
        if self._neighbours is None or not missing:
            return known
        try:
            async with asyncio.timeout(self._neighbour_timeout):
                found = await self._neighbours.at(wanted.tenant_id, missing)
        except (DependencyUnavailable, TimeoutError) as error:
            # They make the order better, and are no reason to find nothing.
            log.warning(
                "searched without the turns around those found", reason=str(error) or "no answer in time"
            )
            return known
        for turn in found:
            if (turn.tenant_id, turn.user_id) == (wanted.tenant_id, wanted.user_id):
                known.setdefault((turn.conversation_id, turn.index), turn)
        return known

    async def _embed(self, texts: Sequence[str]) -> list[NDArray[np.float32]] | None:
        """Return the texts' vectors, or None while the embedder is down."""
        once = list(dict.fromkeys(texts))
        try:
            vectors = await asyncio.wait_for(self._embedder.embed(once), self._embed_timeout)
        except (DependencyUnavailable, TimeoutError):
            return None
        return [vectors[once.index(text)] for text in texts]


async def _speakers(turns: TurnIndex, query: str, wanted: Wanted) -> set[str]:
    """Return the names of those who speak in a person's conversations, as far as they are soon found."""
    everything = TurnFilter(user_id=wanted.user_id, tenant_id=wanted.tenant_id)
    sample, _ = await turns.page(everything, _SAMPLE)
    naming = await turns.search_text(query, everything, _SAMPLE)
    return {turn.speaker for turn in (*sample, *(each.item for each in naming)) if turn.speaker}


async def _turns(
    turns: TurnIndex, text: str, vector: NDArray[np.float32] | None, wanted: Wanted
) -> _Pool[Turn]:
    where = TurnFilter(
        user_id=wanted.user_id,
        tenant_id=wanted.tenant_id,
        conversation_id=wanted.conversation_id,
        since=wanted.since,
        until=wanted.until,
    )
    limit = max(CANDIDATES, wanted.limit)
    by_words: list[Found[Turn]] = await turns.search_text(text, where, limit)
    by_meaning = [] if vector is None else await turns.search_vector(vector, where, limit)
    items = {each.item.turn_id: each.item for each in (*by_meaning, *by_words)}
    return _Pool([*items.values()], {each.item.turn_id: each.score for each in by_meaning})


def _ranked(
    question: Question, turns: _Pool[Turn], facts: _Pool[Fact], around: Mapping[tuple[str, int], Turn]
) -> list[Result]:
    names = {turn.speaker for turn in around.values() if turn.role is Role.USER}
    person = names.pop() if len(names) == 1 else ""
    candidates = [_turn(turn, turns.cosines, around) for turn in turns.items]
    candidates += [_fact(fact, facts.cosines, person) for fact in facts.items]
    found = []
    for position, score, parts in rank(question, candidates):
        if position < len(turns.items):
            turn = turns.items[position]
            found.append(
                Result(
                    kind="turn",
                    score=score,
                    parts=parts,
                    text=turn.text,
                    message_ids=(turn.message_id,),
                    conversation_id=turn.conversation_id,
                    turn=turn,
                )
            )
        else:
            found.append(_of_fact(facts.items[position - len(turns.items)], score, parts))
    return found


def _of_fact(fact: Fact, score: float, parts: dict[str, float]) -> Result:
    latest = sorted(fact.provenance, key=lambda source: source.sent_at, reverse=True)
    return Result(
        kind="fact",
        score=score,
        parts=parts,
        text=fact.statement,
        message_ids=tuple(dict.fromkeys(name for source in latest for name in source.message_ids)),
        conversation_id=latest[0].conversation_id if latest else "",
        fact=fact,
    )


def _turn(turn: Turn, cosines: Mapping[str, float], around: Mapping[tuple[str, int], Turn]) -> Candidate:
    def text_at(index: int) -> str:
        other = around.get((turn.conversation_id, index))
        # Of a conversation that was forgotten and began anew the two lives are no neighbours.
        return other.text if other is not None and other.began_at == turn.began_at else ""

    return Candidate(
        text=turn.text,
        role=turn.role,
        speaker=turn.speaker,
        conversation_id=turn.conversation_id,
        index=turn.index,
        cosine=cosines.get(turn.turn_id),
        before=text_at(turn.index - 1),
        after=text_at(turn.index + 1),
    )


def _fact(fact: Fact, cosines: Mapping[str, float], person: str) -> Candidate:
    """Return a fact as something that the person said."""
    return Candidate(
        text=fact.statement,
        role=Role.USER,
        speaker=person,
        cosine=cosines.get(fact.fact_id),
    )
