"""An index as readers see it: without what a tenant's policy no longer shows.

Nothing is rewritten: what has expired is left out when it is read, and is there again if the policy allows it
again.  Stages that fill an index use it as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Generic, Protocol, TypeVar

import msgspec
import numpy as np
from numpy.typing import NDArray

from models.facts import Fact
from models.graph import Entity, Relation
from models.index import FactFilter, Found, GraphFilter, SearchIndex
from models.index_conditions import Where
from models.statements import Kind
from streams.clients.policies.known import Policies

Item = TypeVar("Item")
Filter = TypeVar("Filter", bound=Where)
Item_contra = TypeVar("Item_contra", contravariant=True)


class Rule(Protocol[Item_contra, Filter]):
    """Rule of expiry for one kind of item."""

    async def settled(self) -> None:
        """Return when the policies are known, as far as they will be soon."""
        ...

    def narrowed(self, where: Filter) -> Filter:
        """Return the filter without what has expired."""
        ...

    def shows(self, item: Item_contra) -> bool:
        """Say whether an item has not expired."""
        ...


class _Expiry:
    def __init__(self, policies: Policies, clock: Callable[[], datetime]) -> None:
        self._policies = policies
        self._clock = clock
        self.settled = policies.settled

    def _ends(self, tenant_id: str) -> dict[Kind, datetime]:
        lifetimes = self._policies.of(tenant_id).lifetimes
        now = self._clock()
        return {kind: now - lifetime for kind, lifetime in lifetimes.items()}


class FactExpiry(_Expiry):
    """Facts expire by their kind."""

    def narrowed(self, where: FactFilter) -> FactFilter:
        """See :class:`Rule`."""
        ends = self._ends(where.tenant_id)
        return msgspec.structs.replace(where, kept_since=tuple(ends.items())) if ends else where

    def shows(self, item: Fact) -> bool:
        """See :class:`Rule`."""
        end = self._ends(item.tenant_id).get(item.kind)
        return end is None or item.last_evidence_at >= end


class GraphExpiry(_Expiry):
    """Entities and relations expire as the kind ``relation``."""

    def narrowed(self, where: GraphFilter) -> GraphFilter:
        """See :class:`Rule`."""
        end = self._ends(where.tenant_id).get(Kind.RELATION)
        return where if end is None else msgspec.structs.replace(where, kept_since=end)

    def shows(self, item: Entity | Relation) -> bool:
        """See :class:`Rule`."""
        end = self._ends(item.tenant_id).get(Kind.RELATION)
        return end is None or item.changed_at >= end


class ExpiringIndex(Generic[Item, Filter]):
    """Implements the reading part of :class:`models.index.SearchIndex` over ``index``."""

    def __init__(self, index: SearchIndex[Item, Filter], rule: Rule[Item, Filter]) -> None:
        self._index = index
        self._rule = rule
        self.space = index.space
        self.vectors = index.vectors
        self.cosines = index.cosines
        self.without_vector = index.without_vector
        self.marks = index.marks

    @property
    def is_degraded(self) -> bool:
        """See the port."""
        return self._index.is_degraded

    async def search_vector(self, vector: NDArray[np.float32], where: Filter, limit: int) -> list[Found[Item]]:
        """See the port."""
        await self._rule.settled()
        return await self._index.search_vector(vector, self._rule.narrowed(where), limit)

    async def search_text(self, query: str, where: Filter, limit: int) -> list[Found[Item]]:
        """See the port."""
        await self._rule.settled()
        return await self._index.search_text(query, self._rule.narrowed(where), limit)

    async def search(
        self, query: str, vector: NDArray[np.float32], where: Filter, limit: int
    ) -> tuple[list[Item], dict[str, float]]:
        """See the port."""
        await self._rule.settled()
        return await self._index.search(query, vector, self._rule.narrowed(where), limit)

    async def get(self, ids: Sequence[str]) -> list[Item]:
        """See the port."""
        await self._rule.settled()
        return [each for each in await self._index.get(ids) if self._rule.shows(each)]

    async def page(self, where: Filter, limit: int, start: str | None = None) -> tuple[list[Item], str | None]:
        """See the port."""
        await self._rule.settled()
        return await self._index.page(self._rule.narrowed(where), limit, start)

    async def count(self, where: Filter | None = None) -> int:
        """See the port; of everybody's items those that have expired are counted, too."""
        await self._rule.settled()
        return await self._index.count(None if where is None else self._rule.narrowed(where))


def _now() -> datetime:
    return datetime.now(UTC)


def shown_facts(
    index: SearchIndex[Fact, FactFilter], policies: Policies, clock: Callable[[], datetime] = _now
) -> ExpiringIndex[Fact, FactFilter]:
    """Return the facts that policies show."""
    return ExpiringIndex(index, FactExpiry(policies, clock))


def shown_entities(
    index: SearchIndex[Entity, GraphFilter], policies: Policies, clock: Callable[[], datetime] = _now
) -> ExpiringIndex[Entity, GraphFilter]:
    """Return the entities that policies show."""
    return ExpiringIndex(index, GraphExpiry(policies, clock))


def shown_relations(
    index: SearchIndex[Relation, GraphFilter], policies: Policies, clock: Callable[[], datetime] = _now
) -> ExpiringIndex[Relation, GraphFilter]:
    """Return the relations that policies show."""
    return ExpiringIndex(index, GraphExpiry(policies, clock))
