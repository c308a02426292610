"""``memory.fact-candidates.v1`` and ``memory.facts.v1``."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Annotated

import msgspec

from models.clocks import said_at
from models.messages import DEFAULT_TENANT, Identifier, Timestamp
from models.statements import SELF, Assertion, Change, Importance, Kind, Polarity, Precision

Confidence = Annotated[float, msgspec.Meta(ge=0.0, le=1.0)]
Count = Annotated[int, msgspec.Meta(ge=0)]
Version = Annotated[int, msgspec.Meta(ge=1)]
Subject = Annotated[str, msgspec.Meta(min_length=1, max_length=256)]
AttributeName = Annotated[str, msgspec.Meta(max_length=128)]
Value = Annotated[str, msgspec.Meta(max_length=1024)]
Why = Annotated[str, msgspec.Meta(max_length=256)]
Text = Annotated[str, msgspec.Meta(min_length=1)]

#: How many of its latest changes a fact names.
CHANGES_LIMIT = 64


class FactStatus(StrEnum):
    """Where a fact is in its life.

    ``active``: it holds.  ``superseded``: the slot has another value since, or another
    fact says what holds instead.  ``contradicted``: the opposite was
    said since.  ``ended``: it was so, and the person said that it is no longer.  ``merged_into``: another fact
    says the same and more.  ``deprecated``: it never was so, the person corrected it (``valid_to`` says so); or
    it faded: nobody can be sure of it any more, until something supports it again.
    """

    ACTIVE = "active"
    SUPERSEDED = "superseded"
    CONTRADICTED = "contradicted"
    ENDED = "ended"
    MERGED_INTO = "merged_into"
    DEPRECATED = "deprecated"


class FactChange(StrEnum):
    """Kind of a fact's last change.

    ``reinforced``: said again, after an end too.  ``supported``: the person said what is near it.
    ``deprecated``: it faded.  ``kept``: what a contradiction or a merge had done was taken back.  ``erased``:
    some of what it rested on, or what had ended it, was erased.
    """

    CREATED = "created"
    REINFORCED = "reinforced"
    SUPPORTED = "supported"
    SUPERSEDED = "superseded"
    MERGED = "merged"
    CONTRADICTED = "contradicted"
    ENDED = "ended"
    CORRECTED = "corrected"
    DEPRECATED = "deprecated"
    KEPT = "kept"
    ERASED = "erased"


class Provenance(msgspec.Struct, frozen=True, kw_only=True):
    """The sentence a fact came from, and where it stands in the log.

    ``quote`` is the sentence (or sentences) as written; ``offsets`` are those of ``message_ids`` in
    ``topic``/``partition``, in the same order; ``window_end_id`` is the end mark of the window.
    ``sent_at`` is when the last of the messages was sent, ``arrived_at`` when it arrived, by the log's clock.
    ``since``: when what it says began, if it says so, as precisely as ``since_precision``.
    ``corrected_by``: who said it in the place of another fact, by hand; the one message is the command then.
    ``ends``: it says that the fact is no longer so.
    """

    conversation_id: Identifier
    window_id: Identifier
    window_end_id: Identifier
    message_ids: tuple[Identifier, ...]
    quote: str
    topic: str
    partition: Count
    offsets: tuple[Count, ...]
    sent_at: Timestamp
    arrived_at: Timestamp
    corrected_by: Annotated[str, msgspec.Meta(max_length=256)] = ""
    since: Timestamp | None = None
    since_precision: Precision | None = None
    ends: bool = False

    @property
    def said_at(self) -> datetime:
        """When it was said, for what supersedes what; a correction stands behind what it corrects."""
        return self.sent_at if self.corrected_by else said_at(self.sent_at, self.arrived_at)


class Support(msgspec.Struct, frozen=True, kw_only=True):
    """A turn of the same person that is near a fact, ``similarity`` being the cosine of their vectors."""

    turn_id: Identifier
    conversation_id: Identifier
    sent_at: Timestamp
    arrived_at: Timestamp
    similarity: float


class FactCandidate(msgspec.Struct, frozen=True, kw_only=True):
    """A statement about a person, before it is compared with what is known.  Key: ``user_id``.

    What it says is taken apart as in :class:`models.statements.Statement`.  ``corrects``: the fact, in the same
    slot, that somebody said is not so, and this is.  ``change``: what it means for the fact ``known``, which
    its extractor was shown.  ``also``: what else says it, where it was said more than once: evidence as
    ``provenance`` is.
    """

    candidate_id: Identifier
    user_id: Identifier
    kind: Kind
    statement: Text
    confidence: Confidence
    source_message_ids: tuple[Identifier, ...]
    provenance: Provenance
    extractor: str
    subject: Subject = SELF
    attribute: AttributeName = ""
    value: Value = ""
    polarity: Polarity = Polarity.AFFIRMED
    assertion: Assertion = Assertion.HOLDS
    event_at: Timestamp | None = None
    event_precision: Precision | None = None
    corrects: Annotated[str, msgspec.Meta(max_length=256)] = ""
    tenant_id: Identifier = DEFAULT_TENANT
    also: tuple[Provenance, ...] = ()
    importance: Importance = 2
    why: Why = ""
    change: Change = Change.NEW
    known: Annotated[str, msgspec.Meta(max_length=256)] = ""


class Period(msgspec.Struct, frozen=True):
    """A time in which a fact held before; ``tentative``: nobody said so surely."""

    valid_from: Timestamp
    valid_to: Timestamp
    tentative: bool = False


class Revision(msgspec.Struct, frozen=True, kw_only=True):
    """One change of a fact, and what caused it: a window and its message, or what was said of another fact.

    ``at`` is when the message arrived; ``confidence_before`` is ``None`` for the first.
    """

    version: Version
    change: FactChange
    at: Timestamp
    confidence_after: Confidence
    confidence_before: Confidence | None = None
    window_id: Identifier | None = None
    message_id: Identifier | None = None
    fact_id: Identifier | None = None


class Fact(msgspec.Struct, frozen=True, kw_only=True):
    """A whole fact after its latest change.  Key: ``fact_id``; partition: that of ``user_id``.

    ``attribute`` and ``value`` fill the slot ``slot_id`` of ``subject``; both are empty for what fits no slot.
    ``statement`` is for display.  ``tentative``: it was never said surely (asked for once, say) since it holds:
    in a slot that holds one value it stands beside what was.

    Clocks: ``valid_from``/``valid_to`` say when it was true: since when by what they said, else by when they
    said it; ``past`` when it had been before.  ``learned_at``, ``changed_at`` and ``last_evidence_at`` are
    times of arrival: of the first message that said it, of the last that changed it, of the last that supports
    it.  ``confidence`` is that of ``last_evidence_at``: it fades as time goes by
    (:mod:`processors.facts.confidence`).

    ``importance`` is the highest of its evidence: at 3 it never fades and is in every prompt.  ``why``
    says what weighed most when it was kept.

    ``version`` grows with every change; a view never lets an older version replace a newer one.
    ``archived_at``: since when it is part of ``merged_into_id``.
    ``support``: the latest turns of the person that are near it, on other occasions than its evidence.
    ``changes``: the latest of them, up to :data:`CHANGES_LIMIT`, the last one being this.  ``erased_until``:
    what arrived up to then was erased and is no part of it.
    """

    fact_id: Identifier
    slot_id: Identifier
    user_id: Identifier
    kind: Kind
    statement: Text
    confidence: Confidence
    status: FactStatus
    change: FactChange
    version: Version
    evidence_count: Annotated[int, msgspec.Meta(ge=1)]
    provenance: tuple[Provenance, ...]
    valid_from: Timestamp
    learned_at: Timestamp
    changed_at: Timestamp
    last_evidence_at: Timestamp
    subject: Subject = SELF
    attribute: AttributeName = ""
    value: Value = ""
    polarity: Polarity = Polarity.AFFIRMED
    event_at: Timestamp | None = None
    event_precision: Precision | None = None
    valid_to: Timestamp | None = None
    past: tuple[Period, ...] = ()
    superseded_by: Identifier | None = None
    merged_into_id: Identifier | None = None
    archived_at: Timestamp | None = None
    erased_until: Timestamp | None = None
    tentative: bool = False
    support: tuple[Support, ...] = ()
    changes: tuple[Revision, ...] = ()
    importance: Importance = 2
    why: Why = ""
    tenant_id: Identifier = DEFAULT_TENANT

    @property
    def has_faded(self) -> bool:
        """True if it is deprecated because it faded, and may come back; a voided one has an end."""
        return self.status is FactStatus.DEPRECATED and self.valid_to is None

    @property
    def is_void(self) -> bool:
        """True if it was voided: it never was true."""
        return self.status is FactStatus.DEPRECATED and self.valid_to is not None

    @property
    def holds(self) -> bool:
        """True if it is active, or would be had it not faded."""
        return self.status is FactStatus.ACTIVE or self.has_faded


class Erasure(msgspec.Struct, frozen=True, kw_only=True):
    """Record of an erased fact, without its content.

    Evidence that arrived up to ``until`` stays gone, however often the log is read again.  ``version`` is the
    last that the fact had by then: what is learned anew goes on from there, so that an old copy loses.
    """

    until: Timestamp
    version: Count = 0
