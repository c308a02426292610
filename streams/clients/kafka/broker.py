"""Reading from Kafka for one question: no consumer group, no commits, nothing on the broker changes.

Everything raises :class:`DependencyUnavailable` when the broker does not answer in time.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, NamedTuple

from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.errors import GroupCoordinatorNotAvailableError, KafkaError

from models.errors import DependencyUnavailable
from streams.clients import kafka
from streams.clients.records import SourceRecord
from streams.config.settings import Settings

#: Long enough for a broker that is busy, short enough for somebody who waits at a prompt.
ANSWER_SECONDS = 30.0

#: What the broker's logs call us.
_NAME = "switchboard-cli"


class GroupLag(NamedTuple):
    """How far a consumer group is in a topic, over all its partitions.

    ``committed`` and ``end`` are sums of offsets; ``lag`` counts from the beginning where the group has
    never committed; ``started`` says whether it has anywhere.  ``beyond`` numbers the partitions where the
    group is past the end: those were deleted and made again.
    """

    group: str
    topic: str
    partitions: int
    committed: int
    end: int
    lag: int
    started: bool
    beyond: list[int]


@asynccontextmanager
async def answering(settings: Settings) -> AsyncIterator[None]:
    """Turn what the client library raises into :class:`DependencyUnavailable`."""
    try:
        yield
    except BrokenPipeError:
        raise  # our own stdout: the reader of the pipe has seen enough
    except (KafkaError, OSError, TimeoutError) as error:
        raise kafka.refusal(error, settings) or DependencyUnavailable(
            "kafka",
            f"no usable answer from {settings.bootstrap_servers} ({type(error).__name__}): start the broker "
            "(`make demo` starts one), or set SWITCHBOARD_BOOTSTRAP_SERVERS to the host:port of one that runs",
        ) from error


@asynccontextmanager
async def administering(settings: Settings) -> AsyncIterator[AIOKafkaAdminClient]:
    """Yield a connected admin client."""
    async with kafka.connected(make_admin(settings), settings, ANSWER_SECONDS) as client, answering(settings):
        yield client


def make_admin(settings: Settings) -> AIOKafkaAdminClient:
    """Return an admin client, not yet connected."""
    return kafka.make_admin(settings, _NAME, request_timeout_ms=int(ANSWER_SECONDS * 1000))


@asynccontextmanager
async def reading(settings: Settings) -> AsyncIterator[AIOKafkaConsumer]:
    """Yield a connected consumer without a group, which sees committed records only."""
    async with (
        kafka.connected(make_reader(settings), settings, ANSWER_SECONDS) as consumer,
        answering(settings),
    ):
        yield consumer


def make_reader(settings: Settings, fetch_max_wait_ms: int = 200) -> AIOKafkaConsumer:
    """Return a consumer without a group, not yet connected."""
    return kafka.make_consumer(
        settings,
        _NAME,
        group_id=None,
        auto_offset_reset="earliest",
        request_timeout_ms=int(ANSWER_SECONDS * 1000),
        fetch_max_wait_ms=fetch_max_wait_ms,
    )


async def partitions_of(settings: Settings, topics: Iterable[str] = ()) -> dict[str, int]:
    """Return how many partitions each of ``topics`` has; all topics if none are named.

    Topics that do not exist are left out.
    """
    wanted = set(topics)
    async with administering(settings) as client, asyncio.timeout(ANSWER_SECONDS):
        if wanted:
            return _sizes((await kafka.described(client, wanted)).found.values())
        return _sizes(await client.describe_topics(None))


async def check_visible(settings: Settings, topic: str) -> None:
    """Raise :class:`ConfigurationError` if ``topic`` is not missing, but hidden from us."""
    async with administering(settings) as client, asyncio.timeout(ANSWER_SECONDS):
        if (await kafka.described(client, [topic])).hidden:
            raise kafka.denied("describe the topic", [topic])


async def ends_of(
    consumer: AIOKafkaConsumer, partitions: Sequence[TopicPartition]
) -> dict[TopicPartition, int]:
    """Return the offset after the last record of each partition."""
    async with asyncio.timeout(ANSWER_SECONDS):
        await _find(consumer, partitions)
        return dict(await consumer.end_offsets(list(partitions))) if partitions else {}


async def beginnings_of(
    consumer: AIOKafkaConsumer, partitions: Sequence[TopicPartition]
) -> dict[TopicPartition, int]:
    """Return the offset of the first record that each partition still has."""
    async with asyncio.timeout(ANSWER_SECONDS):
        await _find(consumer, partitions)
        return dict(await consumer.beginning_offsets(list(partitions))) if partitions else {}


async def _find(consumer: AIOKafkaConsumer, partitions: Iterable[TopicPartition]) -> None:
    """Ask at once who leads all partitions: aiokafka finds one unknown topic at a time, 100 ms apart."""
    client = consumer._client
    await asyncio.gather(*(client.add_topic(topic) for topic in {place.topic for place in partitions}))


async def offsets_since(
    consumer: AIOKafkaConsumer, ends: Mapping[TopicPartition, int], since_ms: int
) -> dict[TopicPartition, int]:
    """Return the offset of the first record of each partition from a time (ms) on; its end if there is none."""
    async with asyncio.timeout(ANSWER_SECONDS):
        await _find(consumer, ends)
        found = await consumer.offsets_for_times(dict.fromkeys(ends, max(since_ms, 0)))
    return {place: ends[place] if found[place] is None else found[place].offset for place in ends}


async def until(consumer: AIOKafkaConsumer, ends: Mapping[TopicPartition, int]) -> AsyncIterator[SourceRecord]:
    """Yield the records of the assigned partitions up to ``ends``, in order within each partition.

    Raises :class:`DependencyUnavailable` as :func:`batches_until` does.
    """
    async for batch in batches_until(consumer, ends):
        for record in batch:
            yield record


async def batches_until(
    consumer: AIOKafkaConsumer, ends: Mapping[TopicPartition, int]
) -> AsyncIterator[list[SourceRecord]]:
    """Yield what the assigned partitions hold up to ``ends``, some records of one partition at a time.

    Raises :class:`DependencyUnavailable` when the broker has sent nothing for :data:`ANSWER_SECONDS` although
    it has not sent all: what was read then is not the whole.
    """
    remaining = dict(ends)
    clock = asyncio.get_running_loop().time
    heard = clock()
    while True:
        for place in list(remaining):
            async with asyncio.timeout(ANSWER_SECONDS):
                if await consumer.position(place) >= remaining[place]:
                    del remaining[place]
        if not remaining:
            return
        batches = await consumer.getmany(*remaining, timeout_ms=500)
        for place, records in batches.items():
            heard = clock()
            if within := [record for record in records if record.offset < ends[place]]:
                yield within
        if clock() - heard > ANSWER_SECONDS:
            where = ", ".join(f"{place.topic}-{place.partition}" for place in remaining)
            raise DependencyUnavailable(
                "kafka", f"nothing came for {ANSWER_SECONDS:g} s of what is left in {where}: repeat this"
            )


async def committed(settings: Settings, group: str) -> dict[TopicPartition, int]:
    """Return the offset of the record that a group reads next, for each partition where it has said so."""
    async with administering(settings) as client:
        return await committed_by(client, group)


async def committed_by(client: AIOKafkaAdminClient, group: str) -> dict[TopicPartition, int]:
    """Ask a connected client; see :func:`committed`."""
    async with asyncio.timeout(ANSWER_SECONDS):
        try:
            found = await client.list_consumer_group_offsets(group)
        except GroupCoordinatorNotAvailableError:
            return {}  # a broker on which no group has ever committed
    return {place: each.offset for place, each in found.items() if each.offset >= 0}


class Standing(NamedTuple):
    """How far groups have read, and where topics end (offsets summed over partitions), at one moment."""

    lags: list[GroupLag]
    ends: dict[str, int]


async def group_lags(settings: Settings, sources: Mapping[str, Sequence[str]]) -> list[GroupLag]:
    """Return one row per group and each of its ``sources`` (group -> topics) that exists."""
    async with administering(settings) as client, reading(settings) as consumer:
        return (await standing(client, consumer, sources)).lags


async def standing(
    client: AIOKafkaAdminClient,
    consumer: AIOKafkaConsumer,
    sources: Mapping[str, Sequence[str]],
    topics: Iterable[str] = (),
) -> Standing:
    """Return how far groups are in their ``sources`` (group -> topics), and where those ``topics`` end that
    there are.
    """
    committed: dict[str, Mapping[TopicPartition, Any]] = {}
    async with asyncio.timeout(ANSWER_SECONDS):
        for group in sources:
            try:
                committed[group] = await client.list_consumer_group_offsets(group)
            except GroupCoordinatorNotAvailableError:
                committed[group] = {}  # a broker on which no group has ever committed
        asked_for = {*topics, *(topic for names in sources.values() for topic in names)}
        present = _sizes((await kafka.described(client, asked_for)).found.values())
    read = {topic for names in sources.values() for topic in names if topic in present}
    shown = [topic for topic in topics if topic in present]
    places = {topic: _places(topic, present[topic]) for topic in {*read, *shown}}
    ends = await ends_of(consumer, [place for each in places.values() for place in each])
    starts = await beginnings_of(consumer, [place for topic in read for place in places[topic]])
    lags = [
        _lag(group, topic, places[topic], committed[group], starts, ends)
        for group, names in sources.items()
        for topic in names
        if topic in read
    ]
    return Standing(lags, {topic: sum(ends[place] for place in places[topic]) for topic in shown})


def _sizes(described: Iterable[Mapping[str, Any]]) -> dict[str, int]:
    return {topic["topic"]: len(topic["partitions"]) for topic in described}


def _places(topic: str, partitions: int) -> list[TopicPartition]:
    return [TopicPartition(topic, number) for number in range(partitions)]


def _lag(
    group: str,
    topic: str,
    places: Sequence[TopicPartition],
    committed: Mapping[TopicPartition, Any],
    starts: Mapping[TopicPartition, int],
    ends: Mapping[TopicPartition, int],
) -> GroupLag:
    done = {place: committed[place].offset for place in places if place in committed}
    done = {place: offset for place, offset in done.items() if offset >= 0}
    return GroupLag(
        group=group,
        topic=topic,
        partitions=len(places),
        committed=sum(done.values()),
        end=sum(ends[place] for place in places),
        lag=sum(max(ends[place] - done.get(place, starts[place]), 0) for place in places),
        started=bool(done),
        beyond=sorted(place.partition for place in done if done[place] > ends[place]),
    )
