"""The ports: what lies outside the process, as narrow protocols.  That of an index is :mod:`models.index`.

Adapters in ``streams/stores`` implement them; processors and agents know nothing else.  Every method
that calls out raises :class:`models.errors.DependencyUnavailable` when the other side is down, slow or
throttling, and the caller waits in place and tries again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Protocol, runtime_checkable

import msgspec

from models.consolidation import Decision, MergeCluster
from models.graph import GraphStatement
from models.index import Vectors
from models.readings import Reading, Sentence
from models.statements import Statement
from models.summaries import SessionSummary, SummaryRequest
from models.vectors import EmbeddingRequest
from models.windows import Window


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


class SentenceReader(Protocol):
    """Reads sentences as the built-in extractor and summarizer need them."""

    async def read(self, sentences: Sequence[Sentence]) -> list[Reading]:
        """Return the reading of each sentence."""
        ...


@runtime_checkable
class ReportsCoverage(Protocol):
    """An embedder that says how much of a text its model knows."""

    def coverage(self, text: str) -> float:
        """Return the share, 0..1, of a text that the model has words for.

        Texts of which it has none all get nearly the same vector: their cosines say nothing.
        """
        ...


class VectorSource(Protocol):
    """Makes the vectors that were asked for, where a call costs money: what the log holds is taken from it."""

    async def vectors(
        self, partition: int, asked: Mapping[bytes, EmbeddingRequest], *, some: bool = False
    ) -> Mapping[bytes, bytes]:
        """Return the packed vector of each request, by the key of both records.

        ``partition``: that of the requests, and of the log of vectors.  ``some``: what is above the budget of
        its tenant is left out, and all the rest is returned.
        """
        ...


class KnownNote(msgspec.Struct, frozen=True):
    """A living fact as an extractor is shown it; ``said_at``: when it was said last."""

    fact_id: str
    user_id: str
    text: str
    said_at: datetime


class KnownNotes(Protocol):
    """Finds what is known of the people of windows before it is asked what they say."""

    async def known(self, windows: Sequence[Window]) -> Sequence[KnownNote]:
        """Return living facts of the people who speak in windows of one person, the most useful first.

        Only what was said before the windows began.  What cannot be read now is left out: it helps, and what is
        extracted does not wait for a view.
        """
        ...


class Extracted(msgspec.Struct, frozen=True):
    """A window was read: what it states, in its order; often nothing.  ``by``: who read it, if not the one
    asked.
    """

    statements: tuple[Statement, ...] = ()
    by: str = ""


class Refused(msgspec.Struct, frozen=True):
    """A window will never be read (a safety filter, too long): why, as a slug and as a sentence."""

    reason: str
    message: str


class TryLater(msgspec.Struct, frozen=True):
    """A window could not be read this time, others of the same call could: why.

    ``unanswered``: there was no answer in time, which may be the window's own fault.
    """

    message: str
    unanswered: bool = False


#: What becomes of one window.
Extraction = Extracted | Refused | TryLater


class Extractor(Protocol):
    """Finds statements about the people in a window."""

    @property
    def name(self) -> str:
        """Name and version, as stored in each candidate."""
        ...

    async def extract(self, windows: Sequence[Window]) -> Sequence[Extraction]:
        """Return the outcome of each window, in the order of ``windows``.

        What it states is checked by whoever asked: a statement that the window does not bear out is dropped.
        """
        ...


class GraphReader(Protocol):
    """Finds how people, pets, places, organizations and days are related, besides what is read by tables."""

    @property
    def name(self) -> str:
        """Name and version."""
        ...

    async def relate(self, windows: Sequence[Window]) -> Sequence[tuple[GraphStatement, ...]]:
        """Return the graph statements of each window, in the order of ``windows``; subjects are checked
        here.
        """
        ...


class Summarized(msgspec.Struct, frozen=True):
    """A summary.  ``by``: who made it, if not the one asked."""

    summary: SessionSummary
    by: str = ""


class Summarizer(Protocol):
    """Compresses a range of messages into a structured summary."""

    @property
    def name(self) -> str:
        """Name and version, as stored in each summary."""
        ...

    async def summarize(self, request: SummaryRequest) -> Summarized:
        """Return the summary of the request's messages (or of its earlier summaries, for a roll-up)."""
        ...


class MergeVerdict(msgspec.Struct, frozen=True):
    """Decision about a cluster; of ``fact_ids`` alone, if any are named."""

    cluster_id: str
    decision: Decision
    fact_ids: tuple[str, ...] = ()


class Validated(msgspec.Struct, frozen=True):
    """Decisions about clusters; a cluster without one stays as it is.  ``by``: the validator that decided,
    if not the one asked.  ``calls`` and ``cost_usd`` (US dollars): what it took.
    """

    verdicts: tuple[MergeVerdict, ...] = ()
    by: str = ""
    calls: int = 0
    cost_usd: float = 0.0


class MergeValidator(Protocol):
    """Decides whether facts that are near each other say the same, where no rule can (requirement 3.4)."""

    @property
    def name(self) -> str:
        """Name and version, as stored in each step that follows."""
        ...

    async def validate(self, user_id: str, tenant_id: str, clusters: Sequence[MergeCluster]) -> Validated:
        """Return the decisions about one person's clusters, made in one call.

        It is checked by whoever asked: a verdict about clusters or facts that were not asked about is dropped,
        and what denies another, or is about somebody else, is not merged.
        """
        ...
