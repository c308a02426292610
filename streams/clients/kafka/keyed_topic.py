"""A small compacted topic of one partition that holds what operators set, by key: tokens, policies, webhooks.

It is read as a whole, outside of any consumer group, and followed by whoever needs its latest values.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Generic, TypeVar

import msgspec
import structlog
from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.errors import KafkaError

from models.errors import DependencyUnavailable
from streams.clients import cloudevents, kafka
from streams.clients.catalog import catalog_for
from streams.config.settings import Settings

T = TypeVar("T", bound=msgspec.Struct)

_SOURCE = "/switchboard/cli"

#: How long a fetch waits for what is new; the broker answers as soon as there is something.
_FETCH_WAIT_MS = 1000

log = structlog.get_logger("streams.clients.kafka")


class KeyedTopic(Generic[T]):
    """Values of type ``kind`` in ``topic``.  ``what`` names them in errors: "tokens"."""

    def __init__(self, topic: str, kind: type[T], what: str) -> None:
        self.topic = topic
        self.kind = kind
        self.what = what
        self._decode = msgspec.json.Decoder(kind).decode

    async def put(self, settings: Settings, key: str, value: T | None) -> None:
        """Write a value, or that there is none (``None``), and return when the broker has confirmed it.

        Raises:
            DependencyUnavailable: the broker does not answer.
        """
        spec, patience = catalog_for(settings).get(self.topic), settings.request_timeout_seconds
        client = kafka.make_producer(settings, f"switchboard-{self.what}")
        headers = cloudevents.outgoing(spec.event_type, _SOURCE, key)
        payload = None if value is None else msgspec.json.encode(value)
        try:
            async with kafka.connected(client, settings, patience) as producer, asyncio.timeout(patience):
                await producer.send_and_wait(spec.name, payload, key=key.encode(), partition=0, headers=headers)
        except (KafkaError, OSError) as error:
            raise self._down(error, settings) from error

    async def read_all(self, settings: Settings) -> dict[str, T]:
        """Return the values that there are, by key.

        Raises:
            DependencyUnavailable: the broker does not answer.
        """
        async with aclosing(self.follow(settings)) as changes:
            return await anext(changes)

    async def follow(self, settings: Settings) -> AsyncGenerator[dict[str, T]]:
        """Yield all values, once the topic was read to its end, and again after each change.

        Raises:
            DependencyUnavailable: the broker does not answer (any more).
        """
        name, patience = catalog_for(settings).name(self.topic), settings.request_timeout_seconds
        place = TopicPartition(name, 0)
        client = kafka.make_consumer(
            settings,
            f"switchboard-{self.what}",
            group_id=None,
            auto_offset_reset="earliest",
            fetch_max_wait_ms=_FETCH_WAIT_MS,
            request_timeout_ms=int(patience * 1000),
        )
        values: dict[str, T] = {}
        try:
            async with kafka.connected(client, settings, patience) as consumer:
                consumer.assign([place])
                async with asyncio.timeout(patience):
                    end = (await consumer.end_offsets([place]))[place]
                    begin = (await consumer.beginning_offsets([place]))[place]
                    await consumer.seek_to_beginning(place)
                first = begin < end
                if not first:
                    yield {}
                while True:
                    changed = await self._take(consumer, place, values)
                    if await consumer.position(place) >= end and (changed or first):
                        first = False
                        yield dict(values)
        except (KafkaError, OSError) as error:
            raise self._down(error, settings) from error

    async def _take(self, consumer: AIOKafkaConsumer, place: TopicPartition, values: dict[str, T]) -> bool:
        records = (await consumer.getmany(place, timeout_ms=1000)).get(place, ())
        for record in records:
            key = (record.key or b"").decode(errors="replace")
            try:
                value = self._decode(record.value) if record.value else None
            except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
                # What is no token allows nothing, what is no policy rules nothing.
                log.error("a record cannot be read and counts as removed", topic=self.topic, key=key,
                          error=str(error))  # fmt: skip
                value = None
            if value is None:
                values.pop(key, None)
            else:
                values[key] = value
        return bool(records)

    def _down(self, error: Exception, settings: Settings) -> Exception:
        return kafka.refusal(error, settings) or DependencyUnavailable(
            "kafka", f"the {self.what} could not be read or written ({error or type(error).__name__})"
        )
