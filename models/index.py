"""The port to an index: a view of a topic's items that is searched by words and by vectors, and its filters.

As with the other ports (:mod:`models.ports`), every method that calls out raises
:class:`models.errors.DependencyUnavailable` when the other side is down, slow or throttling.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Generic, NamedTuple, Protocol, TypeAlias, TypeVar

import msgspec
import numpy as np
from numpy.typing import NDArray

from models.facts import Fact, FactStatus
from models.index_conditions import AnyOf, Condition, NoneOf, Within
from models.messages import Role
from models.statements import Kind

#: Shape ``(n, dimensions)``, float32, rows of unit length.
Vectors = NDArray[np.float32]

Item = TypeVar("Item")
Filter_contra = TypeVar("Filter_contra", contravariant=True)

#: A partition of a topic, by the topic's catalog name.
Place: TypeAlias = tuple[str, int]


class VectorSpace(NamedTuple):
    """Origin of an index's vectors: the model's name, and their length.  Two spaces cannot be compared."""

    model: str
    dimensions: int


class FactFilter(msgspec.Struct, frozen=True, kw_only=True):
    """Search filter for facts.  ``statuses`` and ``kinds`` empty mean any.

    ``minimum_confidence`` is that of the latest evidence.  ``active_at``, ``passive_at``: only facts that are
    sure enough then to answer a search, or to be offered unasked (:mod:`processors.facts.confidence`), as most
    are.  ``lasting_until``: the few that are offered unasked until long after.  ``kept_since``: of these kinds
    only facts whose latest evidence arrived since then; what a policy says of how long notes are kept.
    """

    user_id: str
    tenant_id: str = "default"
    statuses: tuple[FactStatus, ...] = (FactStatus.ACTIVE,)
    kinds: tuple[Kind, ...] = ()
    minimum_confidence: float = 0.0
    active_at: datetime | None = None
    passive_at: datetime | None = None
    lasting_until: datetime | None = None
    kept_since: tuple[tuple[Kind, datetime], ...] = ()

    def conditions(self) -> list[Condition]:
        """See :class:`Where`."""
        wanted: list[Condition] = [
            AnyOf("user_id", (self.user_id,)),
            AnyOf("tenant_id", (self.tenant_id,)),
            AnyOf("status", self.statuses),
            AnyOf("kind", self.kinds),
        ]
        if self.minimum_confidence > 0.0:
            wanted.append(Within("confidence", self.minimum_confidence, usual=True))
        for field, at in (("active_until", self.active_at), ("passive_until", self.passive_at)):
            if at is not None:
                wanted.append(Within(field, at, usual=True))
        if self.lasting_until is not None:
            wanted.append(Within("passive_until", self.lasting_until))
        for kind, since in self.kept_since:
            wanted.append(NoneOf((AnyOf("kind", (kind,)), Within("last_evidence_at", None, since))))
        return [each for each in wanted if not isinstance(each, AnyOf) or each.values]


class TurnFilter(msgspec.Struct, frozen=True, kw_only=True):
    """Search filter for turns: of one person, and if need be of one conversation, of roles, of a time.

    ``roles`` empty means any; ``since`` is included, ``until`` is not.  ``labels``: all of these
    (:func:`models.turns.metadata_label`).
    """

    user_id: str
    tenant_id: str = "default"
    conversation_id: str = ""
    roles: tuple[Role, ...] = ()
    since: datetime | None = None
    until: datetime | None = None
    labels: tuple[str, ...] = ()

    def conditions(self) -> list[AnyOf | Within]:
        """See :class:`Where`."""
        wanted: list[AnyOf | Within] = [
            *(AnyOf("labels", (label,)) for label in self.labels),
            AnyOf("user_id", (self.user_id,)),
            AnyOf("tenant_id", (self.tenant_id,)),
            AnyOf("conversation_id", (self.conversation_id,) if self.conversation_id else ()),
            AnyOf("role", self.roles),
        ]
        if self.since is not None or self.until is not None:
            wanted.append(Within("sent_at", self.since, self.until))
        return [each for each in wanted if isinstance(each, Within) or each.values]


class EpisodeFilter(msgspec.Struct, frozen=True, kw_only=True):
    """Search filter for episodes: of one person, and if need be of one conversation, of a time.

    An episode is of a time if anything in it may have been said then: after ``since`` (included) and before
    ``until`` (not included).
    """

    user_id: str
    tenant_id: str = "default"
    conversation_id: str = ""
    since: datetime | None = None
    until: datetime | None = None

    def conditions(self) -> list[AnyOf | Within]:
        """See :class:`Where`."""
        wanted: list[AnyOf | Within] = [
            AnyOf("user_id", (self.user_id,)),
            AnyOf("tenant_id", (self.tenant_id,)),
        ]
        if self.conversation_id:
            wanted.append(AnyOf("conversation_id", (self.conversation_id,)))
        if self.since is not None:
            wanted.append(Within("last_sent_at", self.since))
        if self.until is not None:
            wanted.append(Within("first_sent_at", None, self.until))
        return wanted


class GraphFilter(msgspec.Struct, frozen=True, kw_only=True):
    """Search filter for entities or relations; of relations, those that touch one of ``ends``.

    ``kept_since``: only what was spoken of since then (by arrival).
    """

    user_id: str
    tenant_id: str = "default"
    ends: tuple[str, ...] = ()
    kept_since: datetime | None = None

    def conditions(self) -> list[AnyOf | Within]:
        """See :class:`Where`."""
        wanted: list[AnyOf | Within] = [
            AnyOf("user_id", (self.user_id,)),
            AnyOf("tenant_id", (self.tenant_id,)),
        ]
        if self.kept_since is not None:
            wanted.append(Within("changed_at", self.kept_since))
        return [*wanted, AnyOf("ends", self.ends)] if self.ends else wanted


class Found(NamedTuple, Generic[Item]):
    """A search result.  ``score``: the cosine for a vector, BM25 (above 0, no upper end) for words."""

    item: Item
    score: float


class IndexReader(Protocol[Item, Filter_contra]):
    """The reading part of an index; see :class:`SearchIndex`."""

    @property
    def space(self) -> VectorSpace:
        """The space of the vectors that it holds."""
        ...

    @property
    def is_degraded(self) -> bool:
        """True if it ranks words less well than it should; known once it was asked."""
        ...

    async def without_vector(self, ids: Sequence[str]) -> set[str]:
        """Return those of ``ids`` that are stored and have no vector yet."""
        ...

    async def vectors(self, ids: Sequence[str]) -> dict[str, NDArray[np.float32]]:
        """Return the vectors, of unit length, that are stored for these ids."""
        ...

    async def search_vector(
        self, vector: NDArray[np.float32], where: Filter_contra, limit: int
    ) -> list[Found[Item]]:
        """Return the nearest items by cosine similarity, best first."""
        ...

    async def cosines(self, vector: NDArray[np.float32], ids: Sequence[str]) -> dict[str, float]:
        """Return how near items are to ``vector``, of those of ``ids`` that have a vector, whosever they
        are.
        """
        ...

    async def search_text(self, query: str, where: Filter_contra, limit: int) -> list[Found[Item]]:
        """Return items whose text shares words with ``query``, best first by BM25, with or without vector."""
        ...

    async def search(
        self, query: str, vector: NDArray[np.float32], where: Filter_contra, limit: int
    ) -> tuple[list[Item], dict[str, float]]:
        """Return the items of :meth:`search_vector`, then of :meth:`search_text`, and the cosines by id."""
        ...

    async def get(self, ids: Sequence[str]) -> list[Item]:
        """Return the stored items among ``ids``, in no particular order."""
        ...

    async def page(
        self, where: Filter_contra, limit: int, start: str | None = None
    ) -> tuple[list[Item], str | None]:
        """Return items in order of their ids, from ``start`` on, and the next page's start, if any."""
        ...

    async def count(self, where: Filter_contra | None = None) -> int:
        """Return how many items are stored (that match ``where``)."""
        ...

    async def marks(self, places: Sequence[Place]) -> dict[Place, int]:
        """Return the offset up to which each partition is in the index; 0: nothing of it is."""
        ...


class SearchIndex(IndexReader[Item, Filter_contra], Protocol[Item, Filter_contra]):
    """A view of one topic's items, found by their words and by their vectors; kinds have an index each.

    What is written may come in any order, more than once, and from two topics: payloads (:meth:`upsert`,
    :meth:`erase`) and vectors (:meth:`store_vectors`, :meth:`forget_vectors`) of an item know nothing of each
    other.  Ids are uuids in lower case.  A stage that fills it calls :meth:`set_mark` after each batch's
    writes, and gives :meth:`marks` to its ``Stage`` as ``view_marks``: then what was lost is filled again::

        Stage(name="turn-log", sources=(TURNS,), async_step=self.step, view_marks=index.marks)

    How to have a new kind indexed: :mod:`streams.stores.qdrant_kinds`.
    """

    async def upsert(self, items: Sequence[Item]) -> None:
        """Store each item; an older ``version`` never replaces a newer one.

        An item without a vector is found by text.  A vector that is already stored is kept.
        """
        ...

    async def store_vectors(self, ids: Sequence[str], vectors: Vectors, model: str) -> None:
        """Store the vectors (row ``i`` belongs to ``ids[i]``) that ``model`` made; ids that are no uuids are
        ignored.

        A vector may come before its item, or after its erasure: nobody finds it until the item is there.

        Raises:
            ConfigurationError: they are not of the index's space.
        """
        ...

    async def forget_vectors(self, ids: Sequence[str]) -> None:
        """Remove vectors; the items stay, found by their words."""
        ...

    async def erase(self, versions: Mapping[str, int]) -> None:
        """Remove items, each up to a version; none up to that is taken any more.  Vectors: ``forget_vectors``.

        So an old copy that comes after the erasure stays out.  What is stored in a later version stays.
        """
        ...

    async def expire(self, field: str, before: datetime) -> int:
        """Remove, with their vectors, all items whose ``field``, a time, is earlier; return how many.

        Nothing of them stays: an old copy that comes afterwards is stored again.
        """
        ...

    async def set_mark(self, place: Place, next_offset: int) -> None:
        """Note that everything of a partition below ``next_offset`` is in the index."""
        ...

    async def close(self) -> None:
        """Flush and release the folder or the connection."""
        ...


FactIndex: TypeAlias = SearchIndex[Fact, FactFilter]
FactReader: TypeAlias = IndexReader[Fact, FactFilter]
