"""Consolidation of equal facts, and corrections by hand: ``memory.consolidation.v1`` and its neighbours.

Everything that is decided is written into the log before it is done, so that whoever reads it again comes to
the same facts.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import msgspec

from models.commands import CORRECTION_LIMIT
from models.facts import Confidence, Count, Text
from models.messages import DEFAULT_TENANT, Identifier, Timestamp
from models.statements import Kind
from models.vectors import Saying

_Id = Annotated[str, msgspec.Meta(max_length=256)]


class Step(StrEnum):
    """Kind of a consolidation step.

    ``consolidate``: look at what changed of a person since the last time, or of everybody in the partition.
    ``merge``: ``other_id`` becomes part of ``fact_id``.  ``contradiction``: the two cannot both be so, and
    nothing says which is: both are half as sure.  ``correct``: something else takes the place of ``fact_id``.
    ``support``: the turn ``other_id`` of the person is near the fact.  ``deprecate``: the fact has faded too
    far to be offered or found.  ``keep``: the two that a ``contradiction`` was about can both be
    so: they are as sure as before.  ``separate``: ``fact_id``, which was merged, is another fact after all.
    ``ends``: ``fact_id`` says that ``other_id``, which was said before it, no longer holds.  ``replaces``: it
    also says what holds instead.  ``passes``: the day of the plan ``fact_id`` is over: the person
    said something after it.
    """

    CONSOLIDATE = "consolidate"
    MERGE = "merge"
    CONTRADICTION = "contradiction"
    SUPPORT = "support"
    DEPRECATE = "deprecate"
    KEEP = "keep"
    SEPARATE = "separate"
    CORRECT = "correct"
    ENDS = "ends"
    REPLACES = "replaces"
    PASSES = "passes"


class Correction(msgspec.Struct, frozen=True, kw_only=True):
    """Correction of a fact, with the ``partition`` and ``offset`` of its command.

    ``arrived_at``: when the command did, by the log's clock.
    """

    text: Annotated[str, msgspec.Meta(min_length=1, max_length=CORRECTION_LIMIT)]
    command_id: Identifier
    conversation_id: Identifier
    topic: str
    partition: Count
    offset: Count
    arrived_at: Timestamp


class ConsolidationStep(msgspec.Struct, frozen=True, kw_only=True):
    """One step.  Key: ``step_id``; partition: that of ``user_id``.

    ``by``: who decided it: ``schedule``, ``command``, ``rules``, ``endings``, ``calendar``, the name of a
    model, or of who corrects a fact.  ``similarity``: the cosine of the two vectors, where it was looked at.
    ``saying``: where and when a turn that supports a fact, the fact that ends another, or what came after the
    day of a plan was said.  ``dry_run``: only say what would be done.
    A step about everybody (``user_id`` empty) stands in each partition.
    """

    step_id: Identifier
    step: Step
    at: Timestamp
    by: str
    user_id: _Id
    fact_id: _Id = ""
    other_id: _Id = ""
    similarity: float | None = None
    saying: Saying | None = None
    dry_run: bool = False
    tenant_id: Identifier = DEFAULT_TENANT
    correction: Correction | None = None


class Likeness(msgspec.Struct, frozen=True, kw_only=True):
    """A fact of a cluster, as far as somebody must know it who decides about it.

    ``said``: where it was said last; without, it takes the place of no other.
    """

    fact_id: Identifier
    statement: Text
    confidence: Confidence
    kind: Kind
    event_at: Timestamp | None = None
    last_evidence_at: Timestamp
    said: Saying | None = None


class MergeCluster(msgspec.Struct, frozen=True, kw_only=True):
    """Facts about one person that are near each other, and no rule says whether they say the same.

    The surest comes first.  ``contradictory``: two that deny each other, and are half as sure for it: to be
    confirmed, or taken back.
    """

    cluster_id: Identifier
    facts: Annotated[tuple[Likeness, ...], msgspec.Meta(min_length=2)]
    contradictory: bool = False


class MergeQuestion(msgspec.Struct, frozen=True, kw_only=True):
    """Question about all merge clusters of a person.

    Key: ``question_id``; partition: that of ``user_id``.
    """

    question_id: Identifier
    user_id: Identifier
    at: Timestamp
    clusters: Annotated[tuple[MergeCluster, ...], msgspec.Meta(min_length=1)]
    tenant_id: Identifier = DEFAULT_TENANT


class Decision(StrEnum):
    """The outcome for a cluster: one merged fact, all kept, all kept with less confidence, or the first named
    fact in the place of the others.
    """

    MERGE = "MERGE"
    KEEP_BOTH = "KEEP_BOTH"
    CONTRADICTION = "CONTRADICTION"
    SUPERSEDES = "SUPERSEDES"


class FactPair(msgspec.Struct, frozen=True):
    """Two facts: which stays, or is named first, and the other; or a fact and a turn."""

    fact_id: Identifier
    other_id: Identifier


class ConsolidationReport(msgspec.Struct, frozen=True, kw_only=True):
    """Report of one person's consolidation, or, with ``dry_run``, its preview.  Key: ``report_id``.

    One of what the rules found, and one of what somebody decided who was ``asked`` about the rest (``by``).

    ``changed`` and ``said``: how many of the ``facts``, and turns, were looked at; ``merged`` and
    ``contradicted``: what stays and what is part of it, and what denies each other; ``supported``: facts and
    the turns that bear them out; ``deprecated``: what has faded; ``created``: candidates made of what was said
    in several conversations; ``asked``: clusters that somebody is to decide about, or has.  ``kept``: of those
    what stays two; ``superseded``: what holds now and what held before; ``calls`` and ``cost_usd`` (US$): what
    deciding took.  ``support_from``: the nearness from which a turn counts.
    """

    report_id: Identifier
    user_id: Identifier
    at: Timestamp
    by: str
    facts: Count
    changed: Count
    merged: tuple[FactPair, ...] = ()
    contradicted: tuple[FactPair, ...] = ()
    asked: Count = 0
    said: Count = 0
    supported: tuple[FactPair, ...] = ()
    deprecated: tuple[Identifier, ...] = ()
    support_from: float | None = None
    dry_run: bool = False
    tenant_id: Identifier = DEFAULT_TENANT
    kept: tuple[FactPair, ...] = ()
    calls: Count = 0
    cost_usd: Annotated[float, msgspec.Meta(ge=0.0)] = 0.0
    created: tuple[Identifier, ...] = ()
    superseded: tuple[FactPair, ...] = ()
