"""An index that answers while another of the same things is built beside it, for another embedder."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Generic, TypeVar

from models.index import Place, SearchIndex, Vectors, VectorSpace, Where

Item = TypeVar("Item")
Filter = TypeVar("Filter", bound=Where)


def each_of(index: SearchIndex[Item, Filter]) -> Sequence[SearchIndex[Item, Filter]]:
    """Return the indexes that ``index`` writes: what one of them has yet, or no longer, another may not."""
    return (index.living, index.coming) if isinstance(index, Beside) else (index,)


class Beside(Generic[Item, Filter]):
    """Implements :class:`models.index.SearchIndex`: both are written, ``living`` is read.

    Vectors go where they belong, by their model.  What is read into them is what is in both, so that the one
    that is built is filled from the beginnings of its topics.
    """

    def __init__(self, living: SearchIndex[Item, Filter], coming: SearchIndex[Item, Filter]) -> None:
        self.living = living
        self.coming = coming
        self.without_vector = living.without_vector
        self.vectors = living.vectors
        self.search_vector = living.search_vector
        self.cosines = living.cosines
        self.search_text = living.search_text
        self.search = living.search
        self.get = living.get
        self.page = living.page
        self.count = living.count

    @property
    def space(self) -> VectorSpace:
        """The space of the vectors that it is asked with."""
        return self.living.space

    async def upsert(self, items: Sequence[Item]) -> None:
        """See the port."""
        await self.living.upsert(items)
        await self.coming.upsert(items)

    async def store_vectors(self, ids: Sequence[str], vectors: Vectors, model: str) -> None:
        """See the port; ``model`` says in which of both."""
        index = self.coming if model == self.coming.space.model else self.living
        await index.store_vectors(ids, vectors, model)

    async def forget_vectors(self, ids: Sequence[str]) -> None:
        """See the port."""
        await self.living.forget_vectors(ids)
        await self.coming.forget_vectors(ids)

    async def erase(self, versions: Mapping[str, int]) -> None:
        """See the port."""
        await self.living.erase(versions)
        await self.coming.erase(versions)

    async def expire(self, field: str, before: datetime) -> int:
        """See the port."""
        await self.coming.expire(field, before)
        return await self.living.expire(field, before)

    async def marks(self, places: Sequence[Place]) -> dict[Place, int]:
        """See the port: the lower of both."""
        one, other = await asyncio.gather(self.living.marks(places), self.coming.marks(places))
        return {place: min(one[place], other[place]) for place in places}

    async def set_mark(self, place: Place, next_offset: int) -> None:
        """See the port."""
        await self.living.set_mark(place, next_offset)
        await self.coming.set_mark(place, next_offset)

    async def close(self) -> None:
        """See the port."""
        await self.living.close()
        await self.coming.close()
