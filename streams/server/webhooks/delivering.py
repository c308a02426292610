"""Delivery of a topic's records to one endpoint: at least once, each partition in its order.

An offset is committed after its record was taken or given up.  A partition whose record is refused is paused
and tried again, ever more rarely; the other partitions go on.  A record is given up when it is a day old and
was refused for an hour by then: after a pause of ours longer than a day, an endpoint has that hour.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from typing import Any, Protocol

import msgspec
import structlog
from aiokafka import AIOKafkaConsumer, ConsumerRebalanceListener, TopicPartition
from aiokafka.errors import KafkaError

from models.errors import SwitchboardError
from models.messages import DEFAULT_TENANT
from models.webhooks import Undelivered, Webhook
from streams.clients import kafka
from streams.clients.catalog import catalog_for
from streams.clients.erasures import SCOPE_HEADER
from streams.config.background import cancel_and_wait
from streams.config.backoff import backoff
from streams.config.settings import Settings
from streams.server.webhooks.endpoints import UNDELIVERED, message_id
from streams.server.webhooks.sending import Sender
from streams.telemetry.metrics import Metrics

#: After so long a record is given up, if it was refused for so long by then (seconds).
GIVEN_UP_AFTER, REFUSED_FOR = 86_400.0, 3_600.0

#: Between two attempts (seconds).
_FIRST_SECONDS, _LONGEST_SECONDS = 1.0, 600.0

#: Records of a fetch, and how long one waits (ms).
_RECORDS, _FETCH_MS = 50, 500

#: How long a commit may take (seconds).
_COMMIT_SECONDS = 5.0

log = structlog.get_logger("streams.server.webhooks")


class Fetched(Protocol):
    """A record as it was fetched.  ``timestamp`` is in ms."""

    topic: str
    partition: int
    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: Sequence[tuple[str, bytes]]


class _Owned(msgspec.Struct):
    tenant_id: str = DEFAULT_TENANT


class _Message(msgspec.Struct, kw_only=True):
    """Body of a call.  ``data`` ``null``: what had this ``key`` was erased."""

    type: str
    timestamp: datetime
    key: str
    data: msgspec.Raw | None


def body_of(webhook: Webhook, record: Fetched, event_type: str) -> bytes | None:
    """Return the body that an endpoint is sent of a record; ``None``: it is sent nothing.

    What is no JSON is nobody's, and so is the erasure of a whole conversation or person: the keys of what goes
    follow one by one.  Whose an erased record was nobody can say, so every endpoint is told its key.
    """
    if any(name == SCOPE_HEADER for name, _ in record.headers):
        return None
    data = None
    if record.value is not None:
        try:
            tenant_id = msgspec.json.decode(record.value, type=_Owned).tenant_id
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            log.warning("a record is no JSON and is not delivered", topic=record.topic, offset=record.offset)
            return None
        if webhook.tenant_id not in ("", tenant_id):
            return None
        data = msgspec.Raw(record.value)
    return msgspec.json.encode(
        _Message(
            type=event_type,
            timestamp=datetime.fromtimestamp(record.timestamp / 1000, UTC),
            key=(record.key or b"").decode(errors="replace"),
            data=data,
        )
    )


class Delivery(ConsumerRebalanceListener):  # type: ignore[misc]  # aiokafka is untyped
    """Delivers to one endpoint until it is cancelled."""

    def __init__(
        self,
        settings: Settings,
        webhook: Webhook,
        metrics: Metrics,
        sender: Sender,
        clock: Callable[[], float] = time.time,
        sleep: Callable[[float], Any] = asyncio.sleep,
    ) -> None:
        self._settings = settings
        self._webhook = webhook
        self._metrics = metrics
        self._sender = sender
        self._clock = clock
        self._sleep = sleep
        self._spec = catalog_for(settings).get(webhook.topic)
        self._consumer: AIOKafkaConsumer
        self._tasks: dict[TopicPartition, asyncio.Task[None]] = {}
        #: When the record was written that each partition is at (epoch seconds), while there is one.
        self._open: dict[TopicPartition, float] = {}
        #: Up to where each partition is done and not committed.
        self._uncommitted: dict[TopicPartition, int] = {}
        #: Since when each partition's records are refused.
        self._refused: dict[TopicPartition, float] = {}

    async def run(self) -> None:
        """Deliver; what Kafka refuses is tried again."""
        attempt = 0
        try:
            while True:
                began = self._clock()
                try:
                    await self._consume()
                except (SwitchboardError, KafkaError, OSError) as error:
                    attempt = 1 if self._clock() - began > _LONGEST_SECONDS else attempt + 1
                    log.warning("a webhook waits for kafka", webhook=self._webhook.webhook_id, error=str(error))
                except Exception:
                    # A mistake of ours about one record must not end what this endpoint is sent for ever.
                    attempt += 1
                    log.exception("a webhook begins anew", webhook=self._webhook.webhook_id)
                await self._sleep(backoff(attempt, _FIRST_SECONDS, 30.0))
        finally:
            await self._sender.close()

    async def _consume(self) -> None:
        settings, patience = self._settings, self._settings.request_timeout_seconds
        name = f"webhook-{self._webhook.webhook_id}"
        self._consumer = kafka.make_consumer(
            settings,
            f"switchboard-{name}",
            group_id=settings.group(name),
            auto_offset_reset="earliest",
            request_timeout_ms=int(patience * 1000),
        )
        async with kafka.connected(self._consumer, settings, patience) as consumer:
            consumer.subscribe([self._spec.name], listener=self)
            try:
                while True:
                    found = await consumer.getmany(timeout_ms=_FETCH_MS, max_records=_RECORDS)
                    for place, records in found.items():
                        consumer.pause(place)
                        self._open[place] = records[0].timestamp / 1000
                        self._tasks[place] = asyncio.create_task(self._partition(place, records))
                    self._resume()
            finally:
                await self._stop([*self._tasks, *self._uncommitted])
                self._measure()

    def _resume(self) -> None:
        """Read on where all that was fetched is done; raise what went wrong."""
        for place, task in list(self._tasks.items()):
            if task.done():
                del self._tasks[place]
                task.result()
                self._consumer.resume(place)
        self._measure()

    def _measure(self) -> None:
        oldest = min(self._open.values(), default=None)
        age = 0.0 if oldest is None else max(0.0, self._clock() - oldest)
        self._metrics.webhook_oldest_undelivered_seconds.labels(self._webhook.webhook_id).set(age)

    async def on_partitions_assigned(self, assigned: Iterable[TopicPartition]) -> None:
        """Begin, where nothing was committed, with what arrived after the webhook was made."""
        made = int(self._webhook.created_at.timestamp() * 1000)
        for place in assigned:
            if await self._consumer.committed(place) is None:
                first = (await self._consumer.offsets_for_times({place: made}))[place]
                end = (await self._consumer.end_offsets([place]))[place]
                self._consumer.seek(place, end if first is None else first.offset)

    async def on_partitions_revoked(self, revoked: Iterable[TopicPartition]) -> None:
        """Leave partitions to others, with what was done of them committed."""
        await self._stop(list(revoked))

    async def _stop(self, places: Sequence[TopicPartition]) -> None:
        tasks = [self._tasks.pop(place) for place in places if place in self._tasks]
        await cancel_and_wait(*tasks)
        # Not left to the tasks: a commit that was under way ended with its task.
        await self._commit(places)
        for place in places:
            self._open.pop(place, None)
            self._refused.pop(place, None)
            self._uncommitted.pop(place, None)

    async def _partition(self, place: TopicPartition, records: Sequence[Fetched]) -> None:
        for record in records:
            self._open[place] = record.timestamp / 1000
            await self.deliver(place, record)
            self._uncommitted[place] = record.offset + 1
        self._open.pop(place, None)
        await self._commit([place])

    async def _commit(self, places: Sequence[TopicPartition]) -> None:
        offsets = {place: self._uncommitted[place] for place in places if place in self._uncommitted}
        if not offsets:
            return
        try:
            async with asyncio.timeout(_COMMIT_SECONDS):
                await self._consumer.commit(offsets)
        except (KafkaError, TimeoutError) as error:
            # What is delivered again has the same id.
            log.info("offsets are not committed", webhook=self._webhook.webhook_id, error=str(error))
            return
        for place in offsets:
            self._uncommitted.pop(place, None)

    async def deliver(self, place: TopicPartition, record: Fetched) -> None:
        """Return when a record was taken, is not for this endpoint, or was given up.

        Raises:
            DependencyUnavailable: it is to be given up, and Kafka does not take that.
        """
        body = body_of(self._webhook, record, self._spec.event_type)
        if body is None:
            return
        name = message_id(self._webhook.webhook_id, self._webhook.topic, record.partition, record.offset)
        count = self._metrics.webhook_deliveries_total
        attempt = 0
        while why := await self._sender.send(name, body):
            attempt += 1
            count.labels(self._webhook.webhook_id, "failed").inc()
            now = self._clock()
            refused_since = self._refused.setdefault(place, now)
            ends = max(record.timestamp / 1000 + GIVEN_UP_AFTER, refused_since + REFUSED_FOR)
            if now >= ends:
                await self._give_up(name, record, why, attempt)
                count.labels(self._webhook.webhook_id, "dead_lettered").inc()
                return
            if attempt == 1:
                log.warning("a webhook is not taken", webhook=self._webhook.webhook_id, reason=why)
                await self._commit([place])  # what came before it: a kill must not repeat that
            await self._sleep(min(backoff(attempt - 1, _FIRST_SECONDS, _LONGEST_SECONDS), ends - now))
        self._refused.pop(place, None)
        count.labels(self._webhook.webhook_id, "delivered").inc()

    async def _give_up(self, name: str, record: Fetched, why: str, attempts: int) -> None:
        log.error("a record is given up", webhook=self._webhook.webhook_id, offset=record.offset, reason=why)
        letter = Undelivered(
            message_id=name,
            webhook_id=self._webhook.webhook_id,
            topic=self._webhook.topic,
            partition=record.partition,
            offset=record.offset,
            key=(record.key or b"").decode(errors="replace"),
            reason=why,
            attempts=attempts,
            written_at=datetime.fromtimestamp(record.timestamp / 1000, UTC),
            given_up_at=datetime.fromtimestamp(self._clock(), UTC),
        )
        await UNDELIVERED.put(self._settings, name, letter)
