"""Forgetting one fact: a record without a value on ``memory.facts.v1`` of every generation."""

from __future__ import annotations

from datetime import UTC, datetime

from models.facts import Fact
from streams.clients import cloudevents
from streams.clients.catalog import catalog_for
from streams.clients.topics import FACTS
from streams.config.settings import Settings
from streams.queries.erasure.erasing import Remaining, remaining
from streams.queries.erasure.generations import ErasureRecord, write_everywhere

_SOURCE = "/switchboard/serve"


class Forgetter:
    """Writes the records that erase facts."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    async def forget(self, fact: Fact) -> Remaining:
        """Erase a fact; return what remains until when, once the broker has the record of it.

        Raises :class:`DependencyUnavailable` when it does not confirm that.
        """
        spec = catalog_for(self._settings).get(FACTS)
        event_id = f"{fact.fact_id}/{fact.version}/forgotten"
        headers = cloudevents.outgoing(spec.event_type, _SOURCE, event_id, subject=fact.user_id)
        record = ErasureRecord(fact.fact_id.encode(), headers)
        patience = self._settings.request_timeout_seconds
        await write_everywhere(self._settings, fact.user_id, lambda _: record, "switchboard-serve", patience)
        return remaining(self._settings, datetime.now(UTC))
