"""Outcome of a message once its window was closed: how far the window was read, and the facts from it."""

from __future__ import annotations

import asyncio
from typing import NamedTuple

from aiokafka import TopicPartition

from models.errors import InvalidRecord
from models.facts import FactCandidate, FactStatus
from models.index import FactFilter
from models.messages import ChatMessage
from processors.text.validation import decode
from streams.clients.kafka.lookup import Lookup
from streams.clients.records import SourceRecord
from streams.clients.topics import CANDIDATES, FACTS, WINDOWS
from streams.config.settings import Settings
from streams.queries.live.records import WindowSeen
from streams.stores.remembered.ports import Facts

_PAGE = 500


class Learned(NamedTuple):
    """Outcome of a message.  ``window``: record of the window in which it was new, ``None`` if none is there;
    ``is_read``: nothing more is learned from that window; ``fact_ids``: active facts that rest on the message.
    """

    window: SourceRecord | None
    is_read: bool
    fact_ids: tuple[str, ...]


class LearningReader:
    """Follows messages from their windows to facts."""

    def __init__(self, settings: Settings, facts: Facts, lookup: Lookup) -> None:
        self._settings = settings
        self._facts = facts
        self._lookup = lookup

    async def of(self, message: ChatMessage) -> Learned:
        """Return the outcome of a message whose window is closed.

        Raises:
            DependencyUnavailable: Kafka, or what holds the facts, does not answer.
        """
        # First how far everybody is: what they wrote until then is there when it is looked for.
        memory, recall = await asyncio.gather(
            *(self._lookup.committed(self._settings.group(name)) for name in ("memory", "recall"))
        )
        found = await self._window(message)
        window: SourceRecord | None = None
        is_read = found is None  # retention took it: that was days ago
        if found is not None:
            window, window_id = found
            last = await self._last_fact_of(message) if memory.get(_place(window), 0) > window.offset else None
            candidate = await self._last_candidate(message, window_id)
            read_by = (memory, window), (memory, candidate), (recall, last)
            is_read = all(
                each is None or committed.get(_place(each), 0) > each.offset for committed, each in read_by
            )
        return Learned(window, is_read, await self._resting_on(message))

    async def _window(self, message: ChatMessage) -> tuple[SourceRecord, str] | None:
        """Return the first window with the message, and its id."""
        for record in await records_of(self._lookup, WINDOWS, message.conversation_id):
            try:
                window = decode(WindowSeen, record.value)
            except InvalidRecord:
                continue
            if window.tenant_id == message.tenant_id and message.message_id in window.message_ids:
                return record, window.window_id
        return None

    async def _last_candidate(self, message: ChatMessage, window_id: str) -> SourceRecord | None:
        found = None
        for record in await records_of(self._lookup, CANDIDATES, message.user_id):
            try:
                candidate = decode(FactCandidate, record.value)
            except InvalidRecord:
                continue
            if candidate.provenance.window_id == window_id:
                found = record
        return found

    async def _last_fact_of(self, message: ChatMessage) -> SourceRecord | None:
        return next(iter(await records_of(self._lookup, FACTS, message.user_id, newest=1)), None)

    async def _resting_on(self, message: ChatMessage) -> tuple[str, ...]:
        where = FactFilter(user_id=message.user_id, tenant_id=message.tenant_id, statuses=(FactStatus.ACTIVE,))
        found: list[str] = []
        start: str | None = None
        while True:
            page, start = await self._facts.page(where, _PAGE, start)
            found += [
                fact.fact_id
                for fact in page
                if any(
                    source.conversation_id == message.conversation_id
                    and message.message_id in source.message_ids
                    for source in fact.provenance
                )
            ]
            if start is None:
                return tuple(found)


async def records_of(lookup: Lookup, topic: str, name: str, newest: int | None = None) -> list[SourceRecord]:
    """Return the records of a topic under a name, only the ``newest`` if that is given."""
    found = await lookup.find(topic, name.encode(), newest)
    return [] if found is None else found.records


def _place(record: SourceRecord) -> TopicPartition:
    return TopicPartition(record.topic, record.partition)
