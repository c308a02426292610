"""Standing notes of a person: instructions, and facts that are in every prompt, whatever is spoken of."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Protocol

from models.context import FoundBy
from models.facts import Fact
from models.index import FactFilter
from models.statements import Kind
from processors.facts.confidence import FOREVER, RATES, confidence_at, is_lasting
from processors.retrieval.context.ranking import Candidate, likeness
from processors.retrieval.recall.question import words_of

#: Instructions, and other lasting facts, of one person that are looked at.
_MOST = 200

#: What never fades is offered until then.
_NEVER_FADES = FOREVER - timedelta(days=1)


class FactPages(Protocol):
    """The facts by person, as :class:`models.index.SearchIndex`."""

    async def page(
        self, where: FactFilter, limit: int, start: str | None = None
    ) -> tuple[Sequence[Fact], str | None]:
        """Return facts in order of their ids, from ``start`` on, and the next page's start, if any."""
        ...


async def standing_notes(facts: FactPages, tenant_id: str, user_id: str, now: datetime) -> list[Fact]:
    """Return the standing notes of a person that hold and are sure enough to be offered.

    Raises:
        DependencyUnavailable: the index is down.
    """
    told = FactFilter(user_id=user_id, tenant_id=tenant_id, kinds=(Kind.INSTRUCTION,), passive_at=now)
    sure = FactFilter(user_id=user_id, tenant_id=tenant_id, lasting_until=_NEVER_FADES)
    (instructions, _), (lasting, _) = await asyncio.gather(facts.page(told, _MOST), facts.page(sure, _MOST))
    found = {fact.fact_id: fact for fact in (*instructions, *lasting) if _stands(fact)}
    return [*found.values()]


def note_of(
    fact: Fact, wanted: Collection[str], now: datetime, rates: Mapping[Kind, float] = RATES
) -> Candidate:
    """Return a standing note as a candidate, as like what was just said as the words of both are."""
    words = words_of(fact.statement)
    return Candidate(
        id=fact.fact_id,
        text=fact.statement,
        found_by=FoundBy.KIND,
        similarity=likeness(wanted, words),
        confidence=confidence_at(fact, now, rates),
        at=said_last(fact),
        words=words,
        message_ids=tuple(dict.fromkeys(name for each in fact.provenance for name in each.message_ids)),
        conversation_id=fact.provenance[-1].conversation_id if fact.provenance else "",
        lasting=fact.kind is not Kind.INSTRUCTION,
    )


def said_last(fact: Fact) -> datetime:
    """Return when a fact was last said."""
    return max((source.sent_at for source in fact.provenance), default=fact.last_evidence_at)


def _stands(fact: Fact) -> bool:
    return fact.kind is Kind.INSTRUCTION or is_lasting(fact)
