"""Standing notes of a person: instructions, and facts that are in every prompt, whatever is spoken of."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Protocol

from models.facts import Fact
from models.index import FactFilter
from models.statements import Kind
from processors.facts.confidence import FOREVER, is_lasting

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


def _stands(fact: Fact) -> bool:
    return fact.kind is Kind.INSTRUCTION or is_lasting(fact)
