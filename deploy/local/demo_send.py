"""Records that the demo publishes: chat messages, and a response in the pieces that a model streams."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
from aiokafka import AIOKafkaProducer
from aiokafka.errors import KafkaError

from deploy.local.demo_input import EXAMPLES, InputMessage
from deploy.local.demo_watch import CHUNKS
from models.errors import DependencyUnavailable
from models.ids import deterministic_id
from models.responses import ResponseChunk
from streams.clients import cloudevents, kafka
from streams.clients.catalog import Catalog
from streams.clients.partitioner import partition_of
from streams.clients.topics import MESSAGES
from streams.config.settings import Settings

_SOURCE = "/switchboard/demo"
_RESPONSE_CONVERSATION = "amara-birthday"
_TELL_EVERY = 1000


def response_text(folder: Path = EXAMPLES / "responses") -> str:
    """Return the text of the response that the demo streams."""
    return (folder / "party.txt").read_text()


def response_id(text: str) -> str:
    """Return the id of a response: the same text is the same response."""
    return deterministic_id("demo-response", text)


async def send_messages(
    settings: Settings, catalog: Catalog, lines: Sequence[InputMessage], tell: Callable[[int], None]
) -> None:
    """Publish in order, keyed by conversation, each confirmed; ``tell`` learns how many are, now and then.

    Raises :class:`DependencyUnavailable` when the broker does not take them.
    """
    topic = catalog.get(MESSAGES)
    async with _producing(settings) as producer:
        confirmations = []
        for line in lines:
            message = line.message
            key = message.conversation_id.encode()
            confirmations.append(
                await producer.send(
                    topic.name,
                    key=key,
                    value=line.value,
                    partition=partition_of(key, topic.partitions),
                    headers=cloudevents.outgoing("chat.message.v1", _SOURCE, message.message_id),
                )
            )
        for number, confirmation in enumerate(confirmations, start=1):
            await confirmation
            if number % _TELL_EVERY == 0 or number == len(lines):
                tell(number)


async def send_response(settings: Settings, catalog: Catalog, text: str) -> None:
    """Publish ``text`` in pieces, one after the other, as a model writes it.

    Raises :class:`DependencyUnavailable` when the broker does not take them.
    """
    topic = catalog.get(CHUNKS)
    key = response_id(text).encode()
    async with _producing(settings) as producer:
        for chunk in _chunks(text):
            await producer.send_and_wait(
                topic.name,
                key=key,
                value=msgspec.json.encode(chunk),
                partition=partition_of(key, topic.partitions),
            )


def _chunks(text: str) -> Iterator[ResponseChunk]:
    """Cut a text as a model streams it: some characters at a time, anywhere, the same every time."""
    identity = response_id(text)
    sizes = random.Random(identity)
    at = sequence = 0
    while at < len(text):
        end = min(at + sizes.randint(2, 14), len(text))
        yield ResponseChunk(
            response_id=identity,
            conversation_id=_RESPONSE_CONVERSATION,
            sequence=sequence,
            text=text[at:end],
            final=end == len(text),
        )
        at, sequence = end, sequence + 1


@asynccontextmanager
async def _producing(settings: Settings) -> AsyncIterator[AIOKafkaProducer]:
    """Yield a producer that waits for all replicas and repeats nothing."""
    client = kafka.make_producer(settings, "switchboard-demo")
    async with kafka.connected(client, settings, settings.request_timeout_seconds) as producer:
        try:
            yield producer
        except KafkaError as error:
            raise kafka.refusal(error, settings) or DependencyUnavailable(
                "kafka", f"{settings.bootstrap_servers} took no messages: {error!r}"
            ) from error
