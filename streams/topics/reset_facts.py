"""What a reset of ``memory`` must not forget: the facts.

``memory.facts.v1`` is the truth and keeps every fact for ever; the windows and candidates that they came
from are kept for days.  A facts table that began empty would make version 1 of a fact that the topic has
as version 7.  That would replace the truth, no view would take it for newer, and what was erased would come
back from an old candidate.  So the table begins with what the topic holds, and with the erasures that it
knew itself, as they were before any candidate: without a high-water mark.  Every candidate is then
read again, and evidence that a fact has already is not counted twice (:mod:`processors.facts.consolidation`).
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import NamedTuple

import msgspec
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.errors import KafkaError

from models.errors import DependencyUnavailable, InvalidRecord
from models.facts import Fact, FactStatus
from processors.text.validation import decode
from streams.agents.memory.facts import FACTS, Facts
from streams.runtime import marks
from streams.runtime.partitioner import partition_of
from streams.settings import Settings
from streams.topics.admin import list_topics
from streams.topics.catalog import Catalog, TopicSpec
from streams.topics.groups import close

#: Records on their way to the broker at once.
_IN_FLIGHT = 1000

_encode = msgspec.json.Encoder().encode


class Kept(NamedTuple):
    """How many facts the table begins with, and how many records could not be read as facts."""

    facts: int
    unreadable: int


class FactsState(NamedTuple):
    """What the facts table is to begin with: facts by id, where to put them, how many marks each has."""

    facts: dict[bytes, Fact]
    changelog: TopicSpec
    sources: int
    kept: Kept


async def read(catalog: Catalog, settings: Settings) -> FactsState:
    """Return the latest state of every fact of the topic, and the erased ones of the table."""
    stage = Facts(settings).stage()
    sources = len(stage.sources)
    topic, changelog = catalog.get(FACTS), catalog.get(f"switchboard-memory-{stage.table}-changelog")
    found = {state.spec.name: state.partitions for state in await list_topics(catalog, settings)}
    async with _answering(settings):
        truth = await _latest(settings, topic, found[topic.name])
        table = await _latest(settings, changelog, found[changelog.name])
    facts: dict[bytes, Fact] = {}
    unreadable = 0
    for value in truth:
        try:
            fact = decode(Fact, value)
        except InvalidRecord:
            unreadable += 1  # whoever reads the topic has dead-lettered it
            continue
        facts[fact.fact_id.encode()] = fact
    for value in table:
        try:
            fact = decode(Fact, marks.payload(value, sources))
        except InvalidRecord:
            continue  # what cannot be read is forgotten, as all of the table is
        if fact.status is FactStatus.ERASED:
            facts[fact.fact_id.encode()] = fact
    return FactsState(facts, changelog, sources, Kept(len(facts), unreadable))


async def write(state: FactsState, settings: Settings) -> None:
    """Write the facts to the changelog, which is empty, as the stage would have stored them."""
    producer = AIOKafkaProducer(
        bootstrap_servers=settings.bootstrap_servers,
        client_id="switchboard-reset",
        acks="all",
        enable_idempotence=True,
        max_request_size=state.changelog.max_message_bytes,
        request_timeout_ms=int(settings.request_timeout_seconds * 1000),
    )
    async with _answering(settings):
        try:
            async with asyncio.timeout(settings.request_timeout_seconds):
                await producer.start()
            confirmations = []
            for key, fact in state.facts.items():
                value = marks.seal(None, _encode(fact), state.sources, 0, None)
                partition = partition_of(fact.user_id.encode(), state.changelog.partitions)
                confirmations.append(
                    await producer.send(state.changelog.name, key=key, value=value, partition=partition)
                )
                if len(confirmations) == _IN_FLIGHT:
                    await asyncio.gather(*confirmations)
                    confirmations.clear()
            await asyncio.gather(*confirmations)
        finally:
            await close(producer)


async def _latest(settings: Settings, spec: TopicSpec, partitions: int) -> list[bytes]:
    """Return the latest value of every key of a topic, without what was removed; nothing if it is missing."""
    if not partitions:
        return []
    consumer = AIOKafkaConsumer(
        bootstrap_servers=settings.bootstrap_servers,
        client_id="switchboard-reset",
        group_id=None,
        enable_auto_commit=False,
        auto_offset_reset="earliest",
        isolation_level="read_committed",
        request_timeout_ms=int(settings.request_timeout_seconds * 1000),
    )
    places = [TopicPartition(spec.name, number) for number in range(partitions)]
    consumer.assign(places)
    latest: dict[bytes | None, bytes | None] = {}
    clock = asyncio.get_running_loop().time
    try:
        async with asyncio.timeout(settings.request_timeout_seconds):
            await consumer.start()
            ends = await consumer.end_offsets(places)
        heard = clock()
        while True:
            async with asyncio.timeout(settings.request_timeout_seconds):
                places = [place for place in places if await consumer.position(place) < ends[place]]
            if not places:
                return [value for key, value in latest.items() if key is not None and value is not None]
            batches = await consumer.getmany(*places, timeout_ms=500)
            for records in batches.values():
                latest.update((record.key, record.value) for record in records)
            if batches:
                heard = clock()
            elif clock() - heard > settings.request_timeout_seconds:
                raise TimeoutError(f"{spec.name} does not go on")
    finally:
        await close(consumer)


@asynccontextmanager
async def _answering(settings: Settings) -> AsyncIterator[None]:
    try:
        yield
    except (KafkaError, OSError, TimeoutError) as error:
        raise DependencyUnavailable(
            "kafka",
            f"the broker at {settings.bootstrap_servers} failed: {error!r}. Repeat this once it is well",
        ) from error
