"""Trying dead letters again, and dropping them: the two ways in which one is settled."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Collection
from contextlib import asynccontextmanager

from aiokafka import AIOKafkaProducer
from msgspec.structs import replace

from models.errors import ConfigurationError, NotFound
from streams.clients import cloudevents, kafka
from streams.clients.catalog import catalog_for
from streams.clients.kafka import broker
from streams.clients.partitioner import partition_of
from streams.clients.topic_spec import TopicSpec
from streams.config.settings import Settings
from streams.queries.dead_letters.letters import COPY, OF, SETTLED, TRACE, Letter, Place
from streams.queries.dead_letters.reading import read_letters
from streams.runtime.deadletters import (
    LARGEST_LETTER,
    DeadRecord,
)

RETRIED, DROPPED = b"retried", b"dropped"


async def retry(
    settings: Settings,
    queue: TopicSpec,
    wanted: Collection[Place],
    tell: Callable[[int], None] = lambda _: None,
    *,
    keep_trace: bool = True,
) -> list[Letter]:
    """Send the records of letters to where they lay, by key, and mark the letters; return these, each with
    where its record lies now.  ``tell`` is told how many are.

    Without ``keep_trace`` they are no longer of the trace that they were of, but of that which this is done
    for, if there is one (:func:`streams.clients.cloudevents.caused_by`).

    Each is marked only when the broker has its record, so a letter may be sent twice and is never lost.

    Raises:
        NotFound: no such letter.  Nothing was sent.
        ConfigurationError: one of them cannot be tried again.  Nothing was sent.
        DependencyUnavailable: the broker does not take them.
    """
    found = await read_letters(settings, queue.name, wanted)
    for letter, _ in found:
        if letter.retryable:
            raise ConfigurationError(f"{letter.place} of {queue.name} cannot be retried: {letter.retryable}")
    topic = catalog_for(settings).name(queue.dead_letter_of)
    partitions = (await broker.partitions_of(settings, [topic])).get(topic)
    if partitions is None:
        raise NotFound(f"{topic}, where they belong, does not exist: `switchboard topics apply` creates it")
    sent: list[Letter] = []
    async with _producing(settings) as producer:
        for letter, record in found:
            assert record is not None  # or it would not be retryable
            sent.append(
                replace(letter, sent=await _send(producer, topic, record, partitions, letter, keep_trace))
            )
            await _mark(producer, letter, RETRIED)
            tell(len(sent))
    return sent


async def drop(
    settings: Settings,
    queue: TopicSpec,
    wanted: Collection[Place],
    tell: Callable[[int], None] = lambda _: None,
) -> list[Letter]:
    """Mark letters as done with.  Their records stay in the queue as long as it keeps any (30 days).

    Raises :class:`NotFound`, :class:`DependencyUnavailable` as :func:`retry`.
    """
    found = await read_letters(settings, queue.name, wanted, with_records=False)
    async with _producing(settings) as producer:
        for number, (letter, _) in enumerate(found, start=1):
            await _mark(producer, letter, DROPPED)
            tell(number)
    return [letter for letter, _ in found]


@asynccontextmanager
async def _producing(settings: Settings) -> AsyncIterator[AIOKafkaProducer]:
    # As large as the largest letter that is kept whole: the topic's own limit is of what is compressed.
    client = kafka.make_producer(
        settings, "switchboard-dlq", max_request_size=LARGEST_LETTER + 2**20, compression_type="gzip"
    )
    async with broker.answering(settings), kafka.connected(client, settings, broker.ANSWER_SECONDS) as producer:
        yield producer


async def _send(
    producer: AIOKafkaProducer,
    topic: str,
    record: DeadRecord,
    partitions: int,
    letter: Letter,
    keep_trace: bool,
) -> str:
    place = letter.partition % partitions if record.key is None else partition_of(record.key, partitions)
    headers = [each for each in record.headers if each[0] not in COPY]
    if not keep_trace:
        headers = [each for each in headers if each[0].lower() not in TRACE]
        headers += cloudevents.trace_headers()
    async with asyncio.timeout(2 * broker.ANSWER_SECONDS):
        at = await producer.send_and_wait(topic, record.value, key=record.key, partition=place, headers=headers)
    return f"{at.partition}:{at.offset}"


async def _mark(producer: AIOKafkaProducer, letter: Letter, what: bytes) -> None:
    headers = [(SETTLED, what), (OF, str(letter.offset).encode()), *cloudevents.trace_headers()]
    async with asyncio.timeout(2 * broker.ANSWER_SECONDS):
        await producer.send_and_wait(
            letter.queue, None, key=str(letter.place).encode(), partition=letter.partition, headers=headers
        )
