"""The one consumer of a process: without a group, and only of partitions that somebody watches."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime

import structlog
from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.errors import KafkaError

from models.errors import ConfigurationError, DependencyUnavailable
from streams.clients import kafka
from streams.clients.catalog import Catalog
from streams.clients.kafka import broker
from streams.config.background import cancel_and_wait, in_background
from streams.config.backoff import backoff
from streams.config.settings import Settings
from streams.llm.tokenizer import open_counter
from streams.queries.live.hub import Hub, Watcher
from streams.queries.live.interest import Interest
from streams.queries.live.records import EventKind, Happened
from streams.queries.live.status import Status

log = structlog.get_logger("streams.queries.live")

_ANSWER_SECONDS = 10.0

#: How long a fetch may wait for records: as long it takes at most until a new place is read too (ms).
_POLL_MS = 100

#: How long to wait after trouble with the broker.
_FIRST_WAIT_SECONDS = 0.25
_LONGEST_WAIT_SECONDS = 5.0

#: How often the state of the services is looked at while somebody watches it.
_STATUS_SECONDS = 1.0


class Live:
    """Reads along for those who watch.  :meth:`start` it in an event loop, :meth:`stop` it at the end."""

    def __init__(self, settings: Settings, catalog: Catalog, status: Status | None = None) -> None:
        self._settings = settings
        self._catalog = catalog
        self._status = status
        self._names = {spec.name: spec.contract_name for spec in catalog.all()}
        #: What must go on: without it nobody sees anything live any more.
        self.tasks: list[asyncio.Task[None]] = []
        self._positions: dict[TopicPartition, int] = {}
        self._covered: asyncio.Condition = asyncio.Condition()
        self._asked = asyncio.Event()
        self._trouble: Exception | None = None
        count = open_counter(settings.tokenizer)
        self.hub = Hub(catalog, lambda: asyncio.get_running_loop().time(), count)

    def start(self) -> None:
        """Begin to read for whoever comes; without anybody nothing is read, and no broker is needed."""
        self.tasks = [
            in_background(self._read(), "live-reader"),
            in_background(self._look(), "live-status"),
        ]

    async def stop(self) -> None:
        """Stop reading.  Streams end by themselves, with their server."""
        await cancel_and_wait(*self.tasks)

    @asynccontextmanager
    async def watching(self, interest: Interest, last_id: str = "") -> AsyncIterator[Watcher]:
        """Yield what sees every event from now on, or from ``last_id`` on if that is still known.

        Raises :class:`DependencyUnavailable` when the broker does not answer.
        """
        channel, watcher = self.hub.join(interest, last_id)
        try:
            await self._wait_covered(interest)
            yield watcher
        finally:
            self.hub.leave(channel)

    def reached(self, interest: Interest, topic: str) -> dict[tuple[str, int], int]:
        """Return from where on, by topic and partition, what ``interest`` wants of a topic is seen."""
        places = {place: self._place(*place) for place in interest.places(self._catalog) if place[0] == topic}
        return {name: self._positions[place] for name, place in places.items() if place in self._positions}

    async def _wait_covered(self, interest: Interest) -> None:
        """Return when every place of ``interest`` is read: what is written from now on will be seen."""
        wanted = {self._place(*place) for place in interest.places(self._catalog)}
        if not wanted:
            return
        self._asked.set()
        try:
            async with asyncio.timeout(_ANSWER_SECONDS), self._covered:
                while not wanted <= self._positions.keys():
                    await self._covered.wait()
        except TimeoutError:
            if isinstance(self._trouble, (DependencyUnavailable, ConfigurationError)):
                raise self._trouble from None
            raise DependencyUnavailable(
                "kafka",
                f"no usable answer from {self._settings.bootstrap_servers} within {_ANSWER_SECONDS:g} s",
            ) from None

    def _place(self, topic: str, partition: int) -> TopicPartition:
        return TopicPartition(self._catalog.name(topic), partition)

    async def _read(self) -> None:
        """Read while anybody watches; after trouble everybody learns that there is a gap."""
        failures = 0
        while True:
            await self._asked.wait()
            try:
                await self._read_until_nobody_watches()
                failures = 0
            except (KafkaError, OSError, TimeoutError, DependencyUnavailable, ConfigurationError) as error:
                self._trouble = error
                log.warning("live events are interrupted", error=str(error))
                self._positions.clear()
                self.hub.restart()
                failures += 1
                await asyncio.sleep(backoff(failures, _FIRST_WAIT_SECONDS, _LONGEST_WAIT_SECONDS))

    async def _read_until_nobody_watches(self) -> None:
        client = kafka.make_consumer(
            self._settings,
            "switchboard-live",
            group_id=None,
            auto_offset_reset="none",  # what retention took is a gap that must be seen
            request_timeout_ms=int(_ANSWER_SECONDS * 1000),
            fetch_max_wait_ms=_POLL_MS,
        )
        async with kafka.connected(client, self._settings, _ANSWER_SECONDS) as consumer:
            while await self._cover(consumer):
                for place, records in (await consumer.getmany(timeout_ms=_POLL_MS)).items():
                    if records and place in self._positions:
                        self._positions[place] = records[-1].offset + 1
                        self.hub.take(records, self._names[place.topic])
        self._positions.clear()

    async def _cover(self, consumer: AIOKafkaConsumer) -> bool:
        """Read what is watched now and nothing else; tell whether that is anything."""
        self.hub.expire()
        wanted = {self._place(*place) for place in self.hub.places()}
        if wanted != self._positions.keys():
            new = sorted(wanted - self._positions.keys())
            async with asyncio.timeout(_ANSWER_SECONDS):
                ends = await broker.ends_of(consumer, new)
            # Where others are read already, they are read on from where they are.
            positions = {place: self._positions[place] for place in wanted & self._positions.keys()} | ends
            consumer.assign(sorted(wanted))
            for place, offset in positions.items():
                consumer.seek(place, offset)
            self._trouble = None
            async with self._covered:
                self._positions = positions
                self._covered.notify_all()
        if not wanted:
            self._asked.clear()
        return bool(wanted)

    async def _look(self) -> None:
        """Look at the services once a second while anybody watches them."""
        while True:
            if self._status is not None and self.hub.watches(EventKind.STATUS):
                value = await self._status.now()
                self.hub.status(Happened(kind=EventKind.STATUS, at=datetime.now(UTC), value=value))
            await asyncio.sleep(_STATUS_SECONDS)
