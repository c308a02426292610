"""Known notes of the people in a window, for a model that is asked what they say: standing, near, and latest.

They are read from the views, which may lag behind or be down: then fewer are shown, or none.  What is shown
changes an answer once; the answer is remembered, so a replay does not depend on them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import datetime

import structlog

from models.errors import DependencyUnavailable
from models.facts import Fact
from models.index import FactFilter
from models.messages import Role
from models.ports import KnownNote
from models.windows import Window
from processors.retrieval.recall.question import InvalidQuestion
from streams.stores.remembered.ports import Facts, Search
from streams.stores.remembered.standing import standing_notes
from streams.stores.search import SearchType, Wanted

log = structlog.get_logger("streams.known_notes")

#: Notes that are shown, and of them standing ones; characters of each.
_MOST, _STANDING, _LONGEST = 40, 16, 400

#: People of a call whose notes are read, and facts of each that are looked at.
_PEOPLE, _LOOKED_AT = 8, 200

#: Characters of a window that nearness is taken from: the last ones.
_NEAR = 1_500

#: Longest wait for the views: a window is read without them then.
_SECONDS = 5.0


class KnownFacts:
    """Implements :class:`models.ports.KnownNotes`."""

    def __init__(self, search: Search, facts: Facts, seconds: float = _SECONDS) -> None:
        self._search = search
        self._facts = facts
        self._seconds = seconds

    async def known(self, windows: Sequence[Window]) -> Sequence[KnownNote]:
        """Return the known notes of the speakers; each speaker has a share."""
        texts: dict[str, list[str]] = {}
        for window in windows:
            for each in window.messages:
                if each.role is Role.USER:
                    texts.setdefault(each.user_id, []).append(each.content)
        people = [*texts][:_PEOPLE]
        # What is said in the windows themselves may be known from an earlier reading: it is no earlier note.
        new = [each for window in windows for each in window.messages[window.overlap :]]
        if not people or not new:
            return ()
        before = min(each.sent_at for each in new)
        most = max(1, _MOST // len(people))
        try:
            async with asyncio.timeout(self._seconds):
                found = await asyncio.gather(
                    *(
                        self._of(windows[0].tenant_id, person, "\n".join(texts[person])[-_NEAR:], before, most)
                        for person in people
                    )
                )
        except (DependencyUnavailable, TimeoutError) as error:
            log.warning("a window is read without known notes: the views do not answer", error=str(error))
            return ()
        return [note for notes in found for note in notes]

    async def _of(
        self, tenant_id: str, user_id: str, text: str, before: datetime, most: int
    ) -> Sequence[KnownNote]:
        where = FactFilter(user_id=user_id, tenant_id=tenant_id)
        standing, near, (others, _) = await asyncio.gather(
            standing_notes(self._facts, tenant_id, user_id, before),
            self._near(tenant_id, user_id, text, before, most),
            self._facts.page(where, _LOOKED_AT),
        )
        standing.sort(key=_importance_and_latest, reverse=True)
        ranked = [
            *standing[:_STANDING],
            *near,
            *standing[_STANDING:],
            *sorted(others, key=_latest, reverse=True),
        ]
        held = {each.fact_id: each for each in ranked if _was_said_before(each, before)}
        return [
            KnownNote(each.fact_id, user_id, each.statement[:_LONGEST], _latest(each))
            for each in [*held.values()][:most]
        ]

    async def _near(
        self, tenant_id: str, user_id: str, text: str, before: datetime, most: int
    ) -> Sequence[Fact]:
        wanted = Wanted(
            query=text,
            user_id=user_id,
            tenant_id=tenant_id,
            search_type=SearchType.FACTS,
            limit=most,
            as_of=before,
        )
        try:
            found = await self._search.search(wanted)
        except InvalidQuestion:  # nothing but pictures
            return ()
        return [each.fact for each in found if each.fact is not None]


def _was_said_before(fact: Fact, before: datetime) -> bool:
    return any(each.sent_at < before for each in fact.provenance)


def _latest(fact: Fact) -> datetime:
    return max((each.sent_at for each in fact.provenance), default=fact.last_evidence_at)


def _importance_and_latest(fact: Fact) -> tuple[int, datetime]:
    return fact.importance, _latest(fact)
