"""What an erasure leaves of a fact: nothing of what arrived until then, wherever it is read again.

Time decides, not the order in which things are processed: a candidate that was on its way when its fact was
erased, and one that a replay reads years later, are ignored alike if their messages arrived no later than the
erasure; what the person says after it is learned anew.
"""

from __future__ import annotations

from datetime import datetime

import msgspec

from models.facts import Erasure, Fact, FactChange, FactStatus, Provenance


def is_erased(evidence: Provenance, erasure: Erasure | None) -> bool:
    """Whether evidence is among what was erased."""
    return erasure is not None and evidence.arrived_at <= erasure.until


def erase(
    fact: Fact | None, before: Erasure | None, until: datetime, version: int = 0
) -> tuple[Fact | None, Erasure]:
    """Return what is left of ``fact`` when what arrived up to ``until`` is erased, and what to remember of it.

    ``version``: the last one that is known to be erased, if higher than that of ``fact``.  Both come back as
    they are when there is nothing to do.  Evidence that came later is kept: the person said it again before
    we learned of the erasure.  What a fact had let go of before counts as erased.
    """
    erasure = before or Erasure(until=until)
    version = max(version, erasure.version)
    kept = () if fact is None else _later(fact, until)
    if fact is None or outlives(fact, until):
        if before is not None and until <= before.until and version == before.version:
            return fact, before
        return fact, Erasure(until=max(erasure.until, until), version=version)
    erasure = Erasure(until=max(erasure.until, until), version=max(version, fact.version))
    if not kept:
        return None, erasure
    status = fact.status if fact.status is FactStatus.MERGED_INTO else FactStatus.ACTIVE
    left = msgspec.structs.replace(
        fact,
        status=status,
        change=FactChange.ERASED,
        version=erasure.version + 1,
        evidence_count=len(kept),
        provenance=kept,
        valid_from=min(e.arrived_at for e in kept),
        recorded_at=max(e.arrived_at for e in kept),
        erased_until=erasure.until,
    )
    return left, erasure


def outlives(fact: Fact, until: datetime) -> bool:
    """Whether nothing that a fact rests on was there when it was erased: it began anew since, or only then."""
    begun_anew = fact.erased_until is not None and until <= fact.erased_until
    return begun_anew or len(_later(fact, until)) == fact.evidence_count


def _later(fact: Fact, until: datetime) -> tuple[Provenance, ...]:
    return tuple(evidence for evidence in fact.provenance if evidence.arrived_at > until)
