"""Producing: records are packed per partition, sent as whole batches, and confirmed as whole batches."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

from aiokafka import AIOKafkaProducer
from aiokafka.errors import KafkaError, KafkaTimeoutError, ProducerClosed

from models.errors import ConsistencyError
from streams.clients import kafka
from streams.clients.broker_clock import BrokerClock
from streams.clients.partitioner import partitions_of
from streams.clients.records import Headers
from streams.config.settings import Settings
from streams.runtime.effects import Output
from streams.runtime.requests import send_in_one_go
from streams.runtime.stamp import Stamp

#: What a record needs in a Kafka batch beyond key, value and headers (varints, CRC, batch header).
_RECORD_OVERHEAD = 100

#: What a header needs beyond its name and value (two varints).
_HEADER_OVERHEAD = 10

#: How long the producer tries to deliver a batch before the worker gives up: a broker may be gone for
#: this long without any worker stopping.
DELIVERY_TIMEOUT_SECONDS = 180.0

_NO_HEADERS: list[Any] = []

Packed = list[tuple[str, int, Any]]
Confirmation = asyncio.Future[Any]


def record_bytes(key: bytes | None, value: bytes | None, headers: Headers) -> int:
    """Return how many bytes a record takes at most in a Kafka batch of its own."""
    size = _RECORD_OVERHEAD + (len(value) if value else 0) + (len(key) if key else 0)
    for name, content in headers:
        size += _HEADER_OVERHEAD + (len(name) if name.isascii() else len(name.encode()))
        size += len(content) if content else 0
    return size


class OutputTooLarge(Exception):
    """An output is larger than its topic takes.  The record that caused it is isolated."""

    def __init__(self, topic: str, size: int, limit: int) -> None:
        super().__init__(f"an output of {size} bytes is larger than {topic} takes ({limit} bytes)")
        self.topic = topic


class TopicLayout:
    """Layout of a topic for the publisher: its name on the broker, partitions and largest record."""

    def __init__(
        self,
        full_name: Callable[[str], str],
        partitions: Callable[[str], int],
        max_message_bytes: Callable[[str], int],
    ) -> None:
        self._full_name = full_name
        self._partitions = partitions
        self._max_message_bytes = max_message_bytes
        self._known: dict[str, tuple[str, int, int]] = {}

    def __getitem__(self, topic: str) -> tuple[str, int, int]:
        """Return ``(name on the broker, partitions, largest record in bytes)`` of a catalog topic."""
        known = self._known.get(topic)
        if known is None:
            known = self._known[topic] = (
                self._full_name(topic),
                self._partitions(topic),
                self._max_message_bytes(topic),
            )
        return known


class Publisher:
    """Packs outputs into Kafka batches and sends them through one idempotent producer.

    One future per packed batch: a thousand records are confirmed by a handful of futures.  The producer
    keeps the order of batches of a partition through its own retries; a batch it cannot deliver within
    its delivery timeout fails its future for good, and the caller must stop.
    """

    def __init__(
        self,
        producer: AIOKafkaProducer,
        layout: TopicLayout,
        *,
        submit_timeout: float,
        clock: BrokerClock | None = None,
    ) -> None:
        self._producer = producer
        self._layout = layout
        self._submit_timeout = submit_timeout
        self.clock = clock or BrokerClock()

    def largest(self, topic: str) -> int:
        """Return how many bytes a record of ``topic`` may have (see :func:`record_bytes`)."""
        return self._layout[topic][2]

    def pack(self, outputs: Iterable[Output], stamp: Stamp = ()) -> Packed:
        """Pack ``outputs`` in order, without sending; ``stamp`` goes on all but the copies, and those with one
        of their own.

        Raises:
            OutputTooLarge: a record exceeds what its topic takes; nothing is sent.
        """
        packed: Packed = []
        open_builders: dict[tuple[str, int], Any] = {}
        create_batch = self._producer.create_batch
        outputs = outputs if isinstance(outputs, list) else list(outputs)
        for output, partition in zip(outputs, self._partitions(outputs), strict=True):
            topic, _, limit = self._layout[output.topic]
            key, value, headers = output.key, output.value, _headers(output, stamp)
            size = record_bytes(key, value, headers)
            if size > limit:
                raise OutputTooLarge(output.topic, size, limit)
            where = (topic, partition)
            builder = open_builders.get(where)
            # A full builder refuses the record; an empty one never does, so this ends.
            if builder is None or not _append(builder, key, value, headers):
                builder = open_builders[where] = create_batch()
                packed.append((topic, partition, builder))
                if not _append(builder, key, value, headers):
                    raise ConsistencyError(f"an empty batch for {topic} refused a record of {size} bytes")
        return packed

    def pack_values(self, topic: str, partition: int, values: Mapping[bytes, bytes]) -> Packed:
        """Pack stored values in order, without sending; an empty one becomes a record without a value.

        Nothing is measured or looked up for each: whoever stored them saw to it that they fit.
        """
        packed: Packed = []
        builder = None
        for key, value in values.items():
            if builder is None or not _append(builder, key, value or None, _NO_HEADERS):
                builder = self._producer.create_batch()
                packed.append((self._layout[topic][0], partition, builder))
                if not _append(builder, key, value or None, _NO_HEADERS):
                    raise ConsistencyError(f"an empty batch for {topic} refused {len(value)} bytes")
        return packed

    def _partitions(self, outputs: list[Output]) -> list[int]:
        """Return where each output goes: to its partition, or to that of its route, or of its key, or to 0."""
        result = [0] * len(outputs)
        hashed: dict[int, list[tuple[int, bytes]]] = {}
        for at, output in enumerate(outputs):
            if output.partition is not None:
                result[at] = output.partition
                continue
            route = output.route if output.route is not None else output.key
            if route is not None:
                hashed.setdefault(self._layout[output.topic][1], []).append((at, route))
        for count, places in hashed.items():
            found = partitions_of([route for _, route in places], count)
            for (at, _), partition in zip(places, found, strict=True):
                result[at] = partition
        return result

    async def submit(self, packed: Packed) -> list[Confirmation]:
        """Hand packed batches to the producer, in order; return one future per batch.

        Raises:
            ConsistencyError: the producer is closed or did not take a batch in time.
        """
        confirmations: list[Confirmation] = []
        try:
            for topic, partition, builder in packed:
                sent = self.clock.now()
                async with asyncio.timeout(self._submit_timeout):
                    confirmation = await self._producer.send_batch(builder, topic, partition=partition)
                # Nobody may be left to ask for it: what is given up is not confirmed.
                confirmation.add_done_callback(partial(self._retrieve, sent))
                confirmations.append(confirmation)
        except (ProducerClosed, KafkaTimeoutError, TimeoutError, KafkaError) as exc:
            raise ConsistencyError(f"the producer took no batch for {topic}-{partition}: {exc!r}") from exc
        return confirmations

    def _retrieve(self, sent: float, confirmation: Confirmation) -> None:
        if not confirmation.cancelled() and confirmation.exception() is None:
            self.clock.note(sent, confirmation.result())

    @staticmethod
    async def confirm(confirmations: Iterable[Confirmation]) -> list[int]:
        """Wait until every batch is written to all in-sync replicas; return the first offset of each.

        Raises:
            ConsistencyError: a batch could not be delivered.
        """
        first_offsets = []
        for result in await asyncio.gather(*confirmations, return_exceptions=True):
            if isinstance(result, BaseException):
                raise ConsistencyError(f"a batch could not be delivered: {result!r}") from result
            first_offsets.append(int(result.offset))
        return first_offsets


def make_producer(settings: Settings, service: str) -> AIOKafkaProducer:
    """Return the service's producer: idempotent, and patient with a broker that is away."""
    producer = kafka.make_producer(
        settings,
        f"switchboard-{service}",
        compression_type=None if settings.compression == "none" else settings.compression,
        max_batch_size=settings.batch_bytes,
        max_request_size=16 << 20,
        request_timeout_ms=int(DELIVERY_TIMEOUT_SECONDS * 1000),
        metadata_max_age_ms=30_000,
    )
    send_in_one_go(producer.client)
    return producer


def _append(builder: Any, key: bytes | None, value: bytes | None, headers: list[Any]) -> bool:
    return builder.append(timestamp=None, key=key, value=value, headers=headers) is not None


def _headers(output: Output, stamp: Stamp) -> list[tuple[str, bytes | None]]:
    return [*output.headers] if output.copy else [*output.headers, *(output.stamp or stamp)]
