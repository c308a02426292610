"""Writing what is said in a chat: messages and chunks, each confirmed by the broker."""

from __future__ import annotations

import asyncio

import msgspec
from aiokafka import AIOKafkaProducer
from aiokafka.errors import KafkaError

from models.errors import DependencyUnavailable
from models.messages import ChatMessage
from models.responses import ResponseChunk
from models.turns import TurnSource
from streams import cloudevents, kafka
from streams.runtime.partitioner import partition_of
from streams.settings import Settings
from streams.topics.catalog import catalog_for

MESSAGES = "chat.messages.v1"
CHUNKS = "chat.response-chunks.v1"

_SOURCE = "/switchboard/chat"

_encode = msgspec.json.Encoder().encode


class Sending:
    """A producer that connects with the first thing to be written."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._catalog = catalog_for(settings)
        self._producer: AIOKafkaProducer | None = None
        self._connecting = asyncio.Lock()

    async def message(self, message: ChatMessage) -> TurnSource:
        """Write a message and return where it stands.

        Raises:
            DependencyUnavailable: the broker has not confirmed it; it may be there all the same.
        """
        key = message.conversation_id.encode()
        event = cloudevents.outgoing(
            "chat.message.v1", _SOURCE, message.message_id, subject=message.conversation_id
        )
        return await self._send(MESSAGES, key, _encode(message), event)

    async def chunk(self, chunk: ResponseChunk) -> None:
        """Write a piece of an answer.

        Raises:
            DependencyUnavailable: as :meth:`message`.
        """
        event_id = f"{chunk.response_id}/{chunk.sequence}"
        event = cloudevents.outgoing("chat.response-chunk.v1", _SOURCE, event_id, subject=chunk.conversation_id)
        await self._send(CHUNKS, chunk.response_id.encode(), _encode(chunk), event)

    async def close(self) -> None:
        """Let go of the broker."""
        if self._producer is not None:
            await kafka.close(self._producer)

    async def _send(self, topic: str, key: bytes, value: bytes, headers: cloudevents.Headers) -> TurnSource:
        spec = self._catalog.get(topic)
        partition = partition_of(key, spec.partitions)
        try:
            producer = await self._connected()
            async with asyncio.timeout(self._settings.request_timeout_seconds):
                done = await producer.send_and_wait(
                    spec.name, key=key, value=value, partition=partition, headers=headers
                )
        except (KafkaError, OSError) as error:  # TimeoutError is one
            refused = kafka.refusal(error, self._settings)
            why = refused or f"{spec.name} took nothing ({error or type(error).__name__}): try again"
            raise DependencyUnavailable("kafka", str(why)) from error
        return TurnSource(topic=topic, partition=partition, offset=done.offset)

    async def _connected(self) -> AIOKafkaProducer:
        async with self._connecting:
            if self._producer is None:
                producer = kafka.make_producer(self._settings, "switchboard-chat")
                try:
                    await kafka.connect(producer, self._settings, self._settings.request_timeout_seconds)
                except BaseException:
                    await kafka.close(producer)
                    raise
                self._producer = producer
            return self._producer
