"""``memory.fact-candidates.v1`` and ``memory.facts.v1``."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import msgspec

from models.messages import DEFAULT_TENANT, Identifier, Timestamp

Confidence = Annotated[float, msgspec.Meta(ge=0.0, le=1.0)]
Count = Annotated[int, msgspec.Meta(ge=0)]


class Category(StrEnum):
    """What kind of thing a statement says about a person."""

    PREFERENCE = "preference"
    FEEDBACK = "feedback"
    PROFILE = "profile"
    EVENT = "event"


class FactStatus(StrEnum):
    """Where a fact is in its life."""

    ACTIVE = "active"
    MERGED_INTO = "merged_into"
    DEPRECATED = "deprecated"


class FactChange(StrEnum):
    """What the last change to a fact was."""

    CREATED = "created"
    REINFORCED = "reinforced"
    MERGED = "merged"
    CONTRADICTED = "contradicted"
    DECAYED = "decayed"
    DEPRECATED = "deprecated"
    ERASED = "erased"


class Provenance(msgspec.Struct, frozen=True, kw_only=True):
    """The sentence a fact came from, and where it stands in the log.

    ``quote`` is the sentence (or sentences) as written; ``offsets`` are those of ``message_ids`` in
    ``topic``/``partition``, in the same order; ``window_end_id`` is the end mark of the window.
    ``arrived_at`` is when the last of the messages arrived, by the log's clock.
    """

    conversation_id: Identifier
    window_id: Identifier
    window_end_id: Identifier
    message_ids: tuple[Identifier, ...]
    quote: str
    topic: str
    partition: Count
    offsets: tuple[Count, ...]
    arrived_at: Timestamp


class FactCandidate(msgspec.Struct, frozen=True, kw_only=True):
    """A statement about a person, before it is compared with what is known.  Key: ``user_id``.

    ``refines`` lists the ``fact_id`` of partial statements that this one completes (seed 000:
    "likes blueberries" and then "likes blueberries, especially in smoothies").
    """

    candidate_id: Identifier
    user_id: Identifier
    category: Category
    statement: Annotated[str, msgspec.Meta(min_length=1)]
    confidence: Confidence
    source_message_ids: tuple[Identifier, ...]
    provenance: Provenance
    valid_from: Timestamp
    extractor: str
    refines: tuple[Identifier, ...] = ()
    tenant_id: Identifier = DEFAULT_TENANT


class Fact(msgspec.Struct, frozen=True, kw_only=True):
    """A whole fact after its latest change.  Key: ``fact_id``; partition: that of ``user_id``.

    Two clocks: ``valid_from``/``valid_to`` say when it was true, ``recorded_at`` when we learned it: when the
    latest message that it rests on arrived.  ``version`` grows with every change; a view never lets an older
    version replace a newer one.  ``erased_until``: what arrived up to then was erased and is no part of it.
    """

    fact_id: Identifier
    user_id: Identifier
    category: Category
    statement: Annotated[str, msgspec.Meta(min_length=1)]
    confidence: Confidence
    status: FactStatus
    change: FactChange
    version: Annotated[int, msgspec.Meta(ge=1)]
    evidence_count: Annotated[int, msgspec.Meta(ge=1)]
    provenance: tuple[Provenance, ...]
    valid_from: Timestamp
    recorded_at: Timestamp
    valid_to: Timestamp | None = None
    merged_into_id: Identifier | None = None
    erased_until: Timestamp | None = None
    tenant_id: Identifier = DEFAULT_TENANT


class Erasure(msgspec.Struct, frozen=True, kw_only=True):
    """What is remembered of a fact that was erased: nothing that it said.

    Evidence that arrived up to ``until`` stays gone, however often the log is read again.  ``version`` is the
    last that the fact had by then: what is learned anew goes on from there, so that an old copy loses.
    """

    until: Timestamp
    version: Count = 0
