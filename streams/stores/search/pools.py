"""Candidates of one kind, from its index: the nearest ones, and those that share the most words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Generic, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from models.episodes import Episode
from models.facts import Fact, FactStatus
from models.index import EpisodeFilter, FactFilter, FactReader, IndexReader, SearchIndex, TurnFilter, Where
from models.statements import Kind
from models.turns import Turn
from processors.facts.confidence import ACTIVE_FROM, confidence_at, has_faded, is_void
from processors.retrieval.recall.dating import Period
from streams.stores.search.wanted import Wanted

TurnIndex: TypeAlias = SearchIndex[Turn, TurnFilter]
EpisodeIndex: TypeAlias = SearchIndex[Episode, EpisodeFilter]

Item = TypeVar("Item")
Filter = TypeVar("Filter", bound=Where)

#: Turns and episodes that each way of searching brings in.
CANDIDATES = 100

#: The same of facts, which say what they say in a sentence: those behind so many answered no question that was
#: measured, and a search of a person with many took a quarter longer.
FACT_CANDIDATES = 40

#: The same where a conversation or a time is asked for, which the index of facts does not know: most of what it
#: finds is left out again.
_NARROWED = 500

#: Turns that are looked at to learn how the speakers are called.
_SAMPLE = 30

#: What facts may have become that held once.
_HELD = (
    FactStatus.ACTIVE,
    FactStatus.SUPERSEDED,
    FactStatus.CONTRADICTED,
    FactStatus.ENDED,
    FactStatus.DEPRECATED,
)


@dataclass(frozen=True)
class Pool(Generic[Item]):
    """Candidates of one kind, each once, and their cosines, as far as they have a vector."""

    items: list[Item]
    cosines: Mapping[str, float]


async def pool(
    index: IndexReader[Item, Filter], text: str, vector: NDArray[np.float32] | None, where: Filter, limit: int
) -> Pool[Item]:
    """Return an index's items for a question; ``vector`` ``None``: by its words alone."""
    if vector is None:
        return Pool([each.item for each in await index.search_text(text, where, limit)], {})
    return Pool(*await index.search(text, vector, where, limit))


async def turns(index: TurnIndex, text: str, vector: NDArray[np.float32] | None, wanted: Wanted) -> Pool[Turn]:
    """Return turns of what is wanted."""
    return await pool(index, text, vector, wanted.turns(), max(CANDIDATES, wanted.limit))


async def with_tied(
    found: Pool[Turn],
    index: TurnIndex,
    ids: Sequence[str],
    vector: NDArray[np.float32] | None,
    wanted: Wanted,
) -> Pool[Turn]:
    """Return the candidates, and besides them turns that the graph names, as far as they are wanted."""
    known = {turn.turn_id for turn in found.items}
    missing = [turn_id for turn_id in ids if turn_id not in known]
    new = [turn for turn in await index.get(missing) if wanted.covers_turn(turn)] if missing else []
    if not new:
        return found
    cosines = {} if vector is None else await index.cosines(vector, [turn.turn_id for turn in new])
    return Pool([*found.items, *new], {**found.cosines, **cosines})


async def episodes(
    index: EpisodeIndex, text: str, vector: NDArray[np.float32] | None, wanted: Wanted
) -> Pool[Episode]:
    """Return episodes of what is wanted."""
    return await pool(index, text, vector, wanted.episodes(), max(CANDIDATES, wanted.limit))


async def facts(
    index: FactReader,
    text: str,
    vector: NDArray[np.float32] | None,
    wanted: Wanted,
    period: Period | None,
    now: datetime,
    rates: Mapping[Kind, float],
) -> Pool[Fact]:
    """Return facts that hold, or held at the time that is asked for, and are sure enough."""
    least, past = wanted.minimum_confidence, wanted.as_of is not None or period is not None
    narrowed = past or bool(wanted.conversation_id) or (wanted.since, wanted.until) != (None, None)
    where = FactFilter(
        user_id=wanted.user_id,
        tenant_id=wanted.tenant_id,
        statuses=_HELD if past else (FactStatus.ACTIVE,),
        kinds=tuple(wanted.kinds),
        minimum_confidence=least,
        active_at=now if least >= ACTIVE_FROM and not past else None,
    )
    limit = max(_NARROWED if narrowed else FACT_CANDIDATES, wanted.limit)
    found = await pool(index, text, vector, where, limit)
    # What faded since may have been sure then; what never was so never was.
    items = [fact for fact in found.items if wanted.covers(fact) and not is_void(fact)]
    if wanted.as_of is not None:
        items = [fact for fact in items if held(fact, (wanted.as_of, wanted.as_of))]
    elif period is not None:
        items = _of_period(items, period)
    # What has faded by now is less sure than a minimum that the index knows no date for; what is past does not
    # fade.
    sure = [
        fact
        for fact in items
        if not (fact.status is FactStatus.ACTIVE or has_faded(fact))
        or confidence_at(fact, wanted.as_of or now, rates) >= least
    ]
    return Pool(sure, found.cosines)


def held(fact: Fact, period: Period) -> bool:
    """Tell whether a fact was true at some moment of a period; its end is included, so that it may be a
    moment.
    """
    times = [(fact.valid_from, fact.valid_to), *((each.valid_from, each.valid_to) for each in fact.past)]
    return any(start <= period[1] and (end is None or end > period[0]) for start, end in times)


def _of_period(found: list[Fact], period: Period) -> list[Fact]:
    """Leave out what is past and did not hold then, and what holds now where another fact of its slot did
    then.
    """
    then = [fact for fact in found if held(fact, period)]
    slots = {fact.slot_id for fact in then if fact.attribute}
    return [
        fact
        for fact in found
        if held(fact, period) or (fact.status is FactStatus.ACTIVE and fact.slot_id not in slots)
    ]


async def speakers(turns: TurnIndex | None, query: str, wanted: Wanted) -> set[str]:
    """Return the names of those who speak in a person's conversations, as far as they are soon found."""
    if turns is None:
        return set()
    everything = TurnFilter(user_id=wanted.user_id, tenant_id=wanted.tenant_id)
    sample, _ = await turns.page(everything, _SAMPLE)
    naming = await turns.search_text(query, everything, _SAMPLE)
    return {turn.speaker for turn in (*sample, *(each.item for each in naming)) if turn.speaker}
