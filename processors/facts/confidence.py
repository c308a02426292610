"""Confidence of a fact at a time: it fades with the days since the last evidence (requirement 3.3).

Computed when it is read, and never stored: a fade that is stored is applied to what faded already.
``confidence`` of a fact is that of ``last_evidence_at``.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from math import exp, log
from types import MappingProxyType

import msgspec

from models.facts import Fact, FactStatus
from models.statements import Kind

#: Below this a fact is no answer to an explicit search (requirement 3.3).
ACTIVE_FROM = 0.3

#: Below this it is not offered unasked (requirement 3.3).
PASSIVE_FROM = 0.5

#: Per day and kind: the rate of requirement 3.3.  Instructions hold until they are taken back.
RATES: Mapping[Kind, float] = MappingProxyType(
    {kind: 0.0 if kind is Kind.INSTRUCTION else 0.01 for kind in Kind}
)

#: What does not fade, whatever its kind: forgetting it does harm.
LASTING = frozenset({"allergy", "constraint", "instruction", "medicine"})

#: From this importance on a fact never fades either.
LASTING_IMPORTANCE = 3

#: When what never fades falls below anything.
FOREVER = datetime(9999, 12, 31, tzinfo=UTC)

_DAY = timedelta(days=1)


def rate_of(fact: Fact, rates: Mapping[Kind, float] = RATES) -> float:
    """Return how fast a fact fades, per day; ``rates`` are those of each kind."""
    return 0.0 if is_lasting(fact) else rates.get(fact.kind, 0.0)


def is_lasting(fact: Fact) -> bool:
    """Return whether a fact never fades and is in every prompt: an allergy, an instruction, importance 3."""
    return fact.importance >= LASTING_IMPORTANCE or fact.attribute.partition("/")[0].casefold() in LASTING


def confidence_at(fact: Fact, now: datetime, rates: Mapping[Kind, float] = RATES) -> float:
    """Return how sure a fact is at a time; before it was last heard of, as sure as then."""
    days = max(0.0, (now - fact.last_evidence_at) / _DAY)
    return fact.confidence * exp(-days * rate_of(fact, rates))


def falls_below(fact: Fact, threshold: float, rates: Mapping[Kind, float] = RATES) -> datetime:
    """Return from when on a fact is less sure than ``threshold``: :data:`FOREVER` if never, and
    ``last_evidence_at`` if it never was as sure."""
    if fact.confidence < threshold:
        return fact.last_evidence_at.astimezone(UTC)
    rate = rate_of(fact, rates)
    if not rate or threshold <= 0:
        return FOREVER
    days = log(fact.confidence / threshold) / rate
    left = (FOREVER - fact.last_evidence_at) / _DAY
    return FOREVER if days >= left else fact.last_evidence_at.astimezone(UTC) + days * _DAY


def active_until(fact: Fact, rates: Mapping[Kind, float] = RATES) -> datetime:
    """Return until when a fact answers an explicit search."""
    return falls_below(fact, ACTIVE_FROM, rates)


def passive_until(fact: Fact, rates: Mapping[Kind, float] = RATES) -> datetime:
    """Return until when a fact is offered unasked."""
    return falls_below(fact, PASSIVE_FROM, rates)


def revived(fact: Fact) -> Fact:
    """Return a fact that something has made surer: one that had faded stands again if it is sure enough."""
    if not fact.has_faded or fact.confidence < ACTIVE_FROM:
        return fact
    return msgspec.structs.replace(fact, status=FactStatus.ACTIVE)
