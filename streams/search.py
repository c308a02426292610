"""Finding what is known of a person: by meaning and by words at once (seed 002, active search).

A fact that is still waiting for its vector can only be found by its words.  When the embedder is down, that
holds for all facts.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, datetime

import numpy as np
from numpy.typing import NDArray

from models.errors import DependencyUnavailable
from models.facts import Fact
from models.messages import DEFAULT_TENANT
from models.ports import Embedder, FactFilter, FactIndex, Found, FoundFact
from models.statements import Kind
from processors.facts.confidence import ACTIVE_FROM, RATES, confidence_at

#: Candidates that each way of searching brings in (seed 002: "Top 20 candidates").
CANDIDATES = 20

#: Below this a fact is no answer to an explicit search.
MINIMUM_CONFIDENCE = ACTIVE_FROM

#: How much the first ranks outweigh the next ones.  Cormack, Clarke and Büttcher, "Reciprocal rank fusion
#: outperforms Condorcet and individual rank learning methods", SIGIR 2009.
RANK_CONSTANT = 60


class FoundFacts(list[FoundFact]):
    """Search results, best first.  ``degraded``: the embedder was down, so only words were compared."""

    def __init__(self, found: Sequence[FoundFact] = (), *, degraded: bool = False) -> None:
        super().__init__(found)
        self.degraded = degraded


class FactSearch:
    """Searches one fact index.

    ``embed_timeout`` (seconds) bounds the wait for the query's vector.  ``rates``: how fast facts of each kind
    fade, per day.
    """

    def __init__(
        self,
        index: FactIndex,
        embedder: Embedder,
        *,
        embed_timeout: float = 2.0,
        rates: Mapping[Kind, float] = RATES,
    ) -> None:
        self._index = index
        self._embedder = embedder
        self._embed_timeout = embed_timeout
        self._rates = rates

    async def search(
        self,
        query: str,
        user_id: str,
        tenant_id: str = DEFAULT_TENANT,
        limit: int = 5,
        minimum_confidence: float = MINIMUM_CONFIDENCE,
    ) -> FoundFacts:
        """Return up to ``limit`` facts about ``user_id`` that hold and are sure enough by now, best first.

        A blank query finds nothing.  Raises :class:`DependencyUnavailable` when the index is down; when the
        embedder is, the results are ``degraded`` and their scores those of the comparison of words.
        """
        if not query.strip() or limit < 1:
            return FoundFacts()
        now = datetime.now(UTC)
        where = FactFilter(
            user_id=user_id,
            tenant_id=tenant_id,
            minimum_confidence=minimum_confidence,
            active_at=now if minimum_confidence >= ACTIVE_FROM else None,
        )
        candidates = max(CANDIDATES, limit)
        by_words = await self._index.search_text(query, where, candidates)
        vector = await self._embed(query)
        if vector is None:
            named = [FoundFact(fact=each.item, score=text_score(each.score)) for each in by_words]
            return FoundFacts(self._sure(named, minimum_confidence, now)[:limit], degraded=True)
        by_meaning = await self._index.search_vector(vector, where, candidates)
        ranked = {found.item.fact_id for found in by_meaning}
        unranked = [found.item.fact_id for found in by_words if found.item.fact_id not in ranked]
        waiting = await self._index.without_vector(unranked) if unranked else set()
        return FoundFacts(self._sure(fuse(by_meaning, by_words, waiting), minimum_confidence, now)[:limit])

    def _sure(self, found: Sequence[FoundFact], minimum: float, now: datetime) -> list[FoundFact]:
        """Leave out what is less sure by now than a minimum that the index knows no date for."""
        return [each for each in found if confidence_at(each.fact, now, self._rates) >= minimum]

    async def _embed(self, query: str) -> NDArray[np.float32] | None:
        """Return the query's vector, or None while the embedder is down."""
        try:
            vectors = await asyncio.wait_for(self._embedder.embed([query]), self._embed_timeout)
        except (DependencyUnavailable, TimeoutError):
            return None
        vector: NDArray[np.float32] = vectors[0]
        return vector


def fuse(
    by_meaning: Sequence[Found[Fact]], by_words: Sequence[Found[Fact]], waiting: Collection[str] = ()
) -> list[FoundFact]:
    """Merge two rankings by reciprocal rank; each fact once, scores in 0..1 (1: first in both).

    ``waiting`` are the ids of facts that have no vector yet.  They cannot be ranked by meaning, so their rank
    by words counts for both: the best match by words is never crowded out by facts that have the advantage of a
    vector.
    """
    facts = {found.item.fact_id: found.item for found in (*by_words, *by_meaning)}
    scores = dict.fromkeys(facts, 0.0)
    for rank, found in enumerate(by_meaning):
        scores[found.item.fact_id] += _reciprocal(rank)
    for rank, found in enumerate(by_words):
        scores[found.item.fact_id] += _reciprocal(rank) * (2 if found.item.fact_id in waiting else 1)
    best = 2 * _reciprocal(0)
    merged = [FoundFact(fact=fact, score=scores[fact_id] / best) for fact_id, fact in facts.items()]
    return sorted(merged, key=lambda found: (-found.score, -found.fact.confidence, found.fact.fact_id))


def text_score(bm25: float) -> float:
    """Map a BM25 score (0 and up, no upper end) to 0..1, keeping the order."""
    return bm25 / (1.0 + bm25)


def _reciprocal(rank: int) -> float:
    return 1.0 / (RANK_CONSTANT + 1 + rank)
