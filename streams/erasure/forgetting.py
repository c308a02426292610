"""Forgetting one fact: a record without a value on ``memory.facts.v1``; no replay brings it back."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime

from models.facts import Fact
from streams import cloudevents, kafka
from streams.erasure.erasing import Remaining, remaining
from streams.kafka import broker
from streams.runtime.partitioner import partition_of
from streams.settings import Settings
from streams.topics.catalog import catalog_for

FACTS = "memory.facts.v1"

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
        place = partition_of(fact.user_id.encode(), spec.partitions)
        event_id = f"{fact.fact_id}/{fact.version}/forgotten"
        headers = cloudevents.outgoing(spec.event_type, _SOURCE, event_id, subject=fact.user_id)
        client = kafka.make_producer(self._settings, "switchboard-serve")
        patience = self._settings.request_timeout_seconds
        async with (
            broker.answering(self._settings),
            kafka.connected(client, self._settings, patience) as producer,
            asyncio.timeout(patience),
        ):
            await producer.send_and_wait(
                spec.name, None, key=fact.fact_id.encode(), partition=place, headers=headers
            )
        return remaining(self._settings, datetime.now(UTC))
