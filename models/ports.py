"""The ports: what lies outside the process, as narrow protocols.

Adapters in ``streams/adapters`` implement them; processors and agents know nothing else.  Every method
that calls out raises :class:`models.errors.DependencyUnavailable` when the other side is down, slow or
throttling, and the caller waits in place and tries again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

import msgspec
import numpy as np
from numpy.typing import NDArray

from models.facts import Category, Fact, FactStatus
from models.statements import Statement
from models.summaries import SessionSummary, SummaryRequest
from models.windows import Window

#: Shape ``(n, dimensions)``, float32, rows of unit length.
Vectors = NDArray[np.float32]


class Embedder(Protocol):
    """Turns texts into unit vectors."""

    @property
    def model(self) -> str:
        """Name of the model, as stored beside its vectors."""
        ...

    @property
    def dimensions(self) -> int:
        """Length of a vector."""
        ...

    async def embed(self, texts: Sequence[str]) -> Vectors:
        """Return one unit vector per text, shape ``(len(texts), dimensions)``."""
        ...


class ExtractedStatement(msgspec.Struct, frozen=True, kw_only=True):
    """What an extractor found: a statement about ``user_id`` and the messages it rests on.

    ``source_message_ids`` are ids of messages of the window, in their order; ``quote`` is the text it
    came from; ``completes`` is the shorter statement that this one extends, or ``""``.
    """

    user_id: str
    category: Category
    statement: str
    confidence: float
    source_message_ids: tuple[str, ...]
    quote: str
    completes: str = ""


class Extracted(msgspec.Struct, frozen=True):
    """A window was read: what it states, in its order; often nothing."""

    statements: tuple[Statement, ...] = ()


class Refused(msgspec.Struct, frozen=True):
    """A window will never be read (a safety filter, too long): why, as a slug and as a sentence."""

    reason: str
    message: str


class TryLater(msgspec.Struct, frozen=True):
    """A window could not be read this time, others of the same call could: why."""

    message: str


#: What becomes of one window.
Extraction = Extracted | Refused | TryLater


class Extractor(Protocol):
    """Finds statements about the people in a window."""

    @property
    def name(self) -> str:
        """Name and version, as stored in each candidate."""
        ...

    async def extract(self, windows: Sequence[Window]) -> list[list[ExtractedStatement]]:
        """Return the statements of each window, in the order of ``windows``."""
        ...


class Summarizer(Protocol):
    """Compresses a range of messages into a structured summary."""

    @property
    def name(self) -> str:
        """Name and version, as stored in each summary."""
        ...

    async def summarize(self, request: SummaryRequest) -> SessionSummary:
        """Return the summary of the request's messages (or of its earlier summaries, for a roll-up)."""
        ...


class FactFilter(msgspec.Struct, frozen=True, kw_only=True):
    """Which facts a search may return.  ``statuses`` empty means any."""

    user_id: str
    tenant_id: str = "default"
    statuses: tuple[FactStatus, ...] = (FactStatus.ACTIVE,)
    categories: tuple[Category, ...] = ()
    minimum_confidence: float = 0.0


class FoundFact(msgspec.Struct, frozen=True, kw_only=True):
    """A search result: the fact, and its score (cosine similarity, or 0..1 for a text match)."""

    fact: Fact
    score: float


class FactIndex(Protocol):
    """The vector store's view of ``memory.facts.v1``.  Every write is idempotent and versioned."""

    async def upsert_facts(self, facts: Sequence[Fact]) -> None:
        """Store each fact's payload; an older ``version`` never replaces a newer one.

        A fact without a vector is found by text.  A vector that is already stored is kept.
        """
        ...

    async def without_vector(self, fact_ids: Sequence[str]) -> set[str]:
        """Return those of ``fact_ids`` that are stored and have no vector yet."""
        ...

    async def store_vectors(self, fact_ids: Sequence[str], vectors: Vectors) -> None:
        """Store the vectors (row ``i`` belongs to ``fact_ids[i]``); ids that are no uuids are ignored.

        A vector may come before its fact, or after its erasure: nobody finds it until the fact is there.
        """
        ...

    async def forget_vectors(self, fact_ids: Sequence[str]) -> None:
        """Remove vectors; the facts stay, found by their words."""
        ...

    async def search_vector(
        self, vector: NDArray[np.float32], where: FactFilter, limit: int
    ) -> list[FoundFact]:
        """Return the nearest facts by cosine similarity, best first."""
        ...

    async def search_text(self, query: str, where: FactFilter, limit: int) -> list[FoundFact]:
        """Return facts whose statement shares words with ``query``, best first, with or without vector."""
        ...

    async def get(self, fact_ids: Sequence[str]) -> list[Fact]:
        """Return the stored facts among ``fact_ids``, in no particular order."""
        ...

    async def list_facts(
        self, where: FactFilter, limit: int, start: str | None = None
    ) -> tuple[list[Fact], str | None]:
        """Return facts in order of ``fact_id``, from ``start`` on, and the next page's start, if any."""
        ...

    async def erase(self, versions: Mapping[str, int]) -> None:
        """Remove facts, each up to a version; none up to that is taken any more.  Vectors: ``forget_vectors``.

        So an old copy that comes after the erasure stays out.  What is stored in a later version stays.
        """
        ...

    async def count(self, where: FactFilter | None = None) -> int:
        """Return how many facts are stored (that match ``where``)."""
        ...

    async def close(self) -> None:
        """Flush and release the folder or the connection."""
        ...
