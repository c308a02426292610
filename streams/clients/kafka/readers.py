"""Clients that stay connected from one question to the next: to connect takes longer than most answers."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient

from streams.clients import kafka
from streams.clients.kafka import broker
from streams.config.settings import Settings

#: Consumers that are kept while nobody asks: a page asks for some topics at once.
_MOST_KEPT = 8

#: How long a fetch may wait for records, and so how long the end of one question holds up the next (ms).
_FETCH_WAIT_MS = 10


class Readers:
    """The consumers of a process, each for one who asks at a time, and an admin client.  Close it."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._kept: list[AIOKafkaConsumer] = []
        self._admin: AIOKafkaAdminClient | None = None
        self._connecting = asyncio.Lock()
        self._is_closed = False

    @asynccontextmanager
    async def reading(self) -> AsyncIterator[AIOKafkaConsumer]:
        """Yield a connected consumer, as :func:`streams.clients.kafka.broker.reading`."""
        consumer = await self._connected()
        try:
            async with broker.answering(self._settings):
                yield consumer
        except BaseException:  # whatever it was: what the consumer waits for is not known
            await kafka.close(consumer)
            raise
        consumer.pause(*consumer.assignment())
        if self._is_closed or len(self._kept) >= _MOST_KEPT:
            await kafka.close(consumer)
        else:
            self._kept.append(consumer)

    async def committed(self, group: str) -> dict[TopicPartition, int]:
        """Return the offsets of the records that a group reads next:
        :func:`streams.clients.kafka.broker.committed`.
        """
        admin = await self._administering()
        try:
            async with broker.answering(self._settings):
                return await broker.committed_by(admin, group)
        except Exception:  # whatever it was: a new one says what is wrong with the broker
            if self._admin is admin:
                self._admin = None
            await kafka.close(admin)
            raise

    async def close(self) -> None:
        """Let go of the broker."""
        self._is_closed = True
        if self._admin is not None:
            await kafka.close(self._admin)
            self._admin = None
        while self._kept:
            await kafka.close(self._kept.pop())

    async def _administering(self) -> AIOKafkaAdminClient:
        async with self._connecting:
            if self._admin is None or not _is_connected(self._admin):
                if self._admin is not None:
                    await kafka.close(self._admin)
                    self._admin = None
                made = broker.make_admin(self._settings)
                try:
                    await kafka.connect(made, self._settings, broker.ANSWER_SECONDS)
                except BaseException:
                    await kafka.close(made)
                    raise
                self._admin = made
            return self._admin

    async def _connected(self) -> AIOKafkaConsumer:
        while self._kept:
            kept = self._kept.pop()
            if _is_connected(kept):
                return kept
            await kafka.close(kept)  # a new one says what is wrong with the broker
        made = broker.make_reader(self._settings, _FETCH_WAIT_MS)
        try:
            await kafka.connect(made, self._settings, broker.ANSWER_SECONDS)
        except BaseException:
            await kafka.close(made)
            raise
        return made


def _is_connected(client: AIOKafkaConsumer | AIOKafkaAdminClient) -> bool:
    return any(each.connected() for each in client._client._conns.values())
