"""An index that answers while another of the same things is built for another embedder."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Generic, TypeVar

from models.index import Place, SearchIndex, Vectors, VectorSpace
from models.index_conditions import Where

Item = TypeVar("Item")
Filter = TypeVar("Filter", bound=Where)


def each_of(index: SearchIndex[Item, Filter]) -> Sequence[SearchIndex[Item, Filter]]:
    """Return the indexes that ``index`` writes: what one of them has yet, or no longer, another may not."""
    return (index.active, index.candidate) if isinstance(index, DualWriteIndex) else (index,)


class DualWriteIndex(Generic[Item, Filter]):
    """Implements :class:`models.index.SearchIndex`: both are written, ``active`` is read.

    Vectors go where they belong, by their model.  What is read into them is what is in both, so that the one
    that is built is filled from the beginnings of its topics.
    """

    def __init__(self, active: SearchIndex[Item, Filter], candidate: SearchIndex[Item, Filter]) -> None:
        self.active = active
        self.candidate = candidate
        self.without_vector = active.without_vector
        self.vectors = active.vectors
        self.search_vector = active.search_vector
        self.cosines = active.cosines
        self.search_text = active.search_text
        self.search = active.search
        self.get = active.get
        self.page = active.page
        self.count = active.count

    @property
    def space(self) -> VectorSpace:
        """The space of the vectors that it is asked with."""
        return self.active.space

    @property
    def is_degraded(self) -> bool:
        """See the port."""
        return self.active.is_degraded

    async def upsert(self, items: Sequence[Item]) -> None:
        """See the port."""
        await self.active.upsert(items)
        await self.candidate.upsert(items)

    async def store_vectors(self, ids: Sequence[str], vectors: Vectors, model: str) -> None:
        """See the port; ``model`` says in which of both."""
        index = self.candidate if model == self.candidate.space.model else self.active
        await index.store_vectors(ids, vectors, model)

    async def forget_vectors(self, ids: Sequence[str]) -> None:
        """See the port."""
        await self.active.forget_vectors(ids)
        await self.candidate.forget_vectors(ids)

    async def erase(self, versions: Mapping[str, int]) -> None:
        """See the port."""
        await self.active.erase(versions)
        await self.candidate.erase(versions)

    async def expire(self, field: str, before: datetime) -> int:
        """See the port."""
        await self.candidate.expire(field, before)
        return await self.active.expire(field, before)

    async def marks(self, places: Sequence[Place]) -> dict[Place, int]:
        """See the port: the lower of both."""
        one, other = await asyncio.gather(self.active.marks(places), self.candidate.marks(places))
        return {place: min(one[place], other[place]) for place in places}

    async def set_mark(self, place: Place, next_offset: int) -> None:
        """See the port."""
        await self.active.set_mark(place, next_offset)
        await self.candidate.set_mark(place, next_offset)

    async def close(self) -> None:
        """See the port."""
        await self.active.close()
        await self.candidate.close()
