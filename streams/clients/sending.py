"""Writing records for whoever asked over HTTP: confirmed by the broker before they are told so."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import NamedTuple

from aiokafka import AIOKafkaProducer
from aiokafka.errors import KafkaError
from aiokafka.structs import RecordMetadata

from models.errors import DependencyUnavailable
from processors.text.validation import EARLIEST, MAXIMUM_AHEAD
from streams.clients import cloudevents, kafka
from streams.clients.broker_clock import BrokerClock
from streams.clients.catalog import catalog_for
from streams.clients.partitioner import partition_of
from streams.config.background import in_background
from streams.config.settings import Settings

_SOURCE = "/switchboard/serve"


class Outgoing(NamedTuple):
    """A record: its topic in the catalog, its key (which picks the partition), its value, its event's id and
    subject.
    """

    topic: str
    key: bytes
    value: bytes
    event_id: str
    subject: str | None = None


class Sent(NamedTuple):
    """Where a record stands, and when it came there by the broker's clock (epoch milliseconds)."""

    partition: int
    offset: int
    arrived_ms: int


def check_clock(now: datetime, arrived_ms: int | None = None) -> None:
    """Refuse to have things said at a time that whoever reads them refuses, as ingest does.

    ``arrived_ms`` is when the broker took what was written at ``now``.

    Raises:
        DependencyUnavailable: this machine's clock is wrong.
    """
    wrong = ""
    if now < EARLIEST:
        wrong = f"it lies before {EARLIEST.year}"
    elif arrived_ms is not None and now.timestamp() - arrived_ms / 1000 > MAXIMUM_AHEAD.total_seconds():
        wrong = f"for the broker it was {datetime.fromtimestamp(arrived_ms / 1000, UTC).isoformat()}"
    if wrong:
        raise DependencyUnavailable(
            "clock", f"this machine's clock says {now.isoformat()}, and {wrong}: set it; nothing was remembered"
        )


class Sender:
    """A producer that connects with the first thing to be written, and anew when it has failed.

    ``clock`` compares this machine's clock with the stamps of what is written.
    """

    def __init__(self, settings: Settings, clock: BrokerClock | None = None) -> None:
        self._settings = settings
        self._clock = clock or BrokerClock()
        self._catalog = catalog_for(settings)
        self._patience = settings.request_timeout_seconds
        self._producer: AIOKafkaProducer | None = None
        self._connecting = asyncio.Lock()
        self._closing: set[asyncio.Task[None]] = set()

    async def send(self, records: Sequence[Outgoing]) -> list[Sent]:
        """Write records, in order, and return where each stands once the broker has confirmed them all.

        Raises:
            DependencyUnavailable: not all are confirmed; some may be there all the same.
        """
        producer: AIOKafkaProducer | None = None
        began = self._clock.now()
        try:
            async with asyncio.timeout(self._patience):
                producer = await self._connected()
                waiting = [await self._enqueue(producer, record) for record in records]
                confirmed = await asyncio.gather(*waiting)
        except (KafkaError, OSError) as error:  # TimeoutError is one
            self._give_up(producer)
            raise kafka.refusal(error, self._settings) or DependencyUnavailable(
                "kafka",
                f"{self._settings.bootstrap_servers} has not confirmed it ({error or type(error).__name__}); "
                "sent again with the same ids nothing counts twice",
            ) from error
        for each in confirmed:
            self._clock.note(began, each)
        return [Sent(each.partition, each.offset, each.timestamp) for each in confirmed]

    async def close(self) -> None:
        """Let go of the broker."""
        self._give_up(self._producer)
        await asyncio.gather(*self._closing, return_exceptions=True)

    def _give_up(self, producer: AIOKafkaProducer | None) -> None:
        """Write with another one from now on.

        An idempotent producer numbers its batches: when the broker has refused one, or one was given up, all
        that it sends to that partition afterwards is out of order, and refused as well.
        """
        if producer is None or self._producer is not producer:
            return
        self._producer = None
        closing = in_background(kafka.close(producer), "closing-producer")
        self._closing.add(closing)
        closing.add_done_callback(self._closing.discard)

    async def _enqueue(self, producer: AIOKafkaProducer, record: Outgoing) -> asyncio.Future[RecordMetadata]:
        spec = self._catalog.get(record.topic)
        headers = cloudevents.outgoing(spec.event_type, _SOURCE, record.event_id, subject=record.subject)
        future: asyncio.Future[RecordMetadata] = await producer.send(
            spec.name,
            record.value,
            record.key,
            partition=partition_of(record.key, spec.partitions),
            headers=headers,
        )
        return future

    async def _connected(self) -> AIOKafkaProducer:
        async with self._connecting:
            if self._producer is None:
                made = kafka.make_producer(self._settings, "switchboard-serve")
                try:
                    await kafka.connect(made, self._settings, self._patience)
                except BaseException:
                    await kafka.close(made)
                    raise
                self._producer = made
            return self._producer
