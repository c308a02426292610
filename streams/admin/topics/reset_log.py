"""Reading topics whole, and replacing what a changelog holds, while none of a service's workers runs.

A changelog is replaced without a moment at which what is kept is nowhere: it is opened, the new values are
appended, and then the records before them are deleted by offset.  Until it is closed again no worker starts,
because its cleanup policy is not that of the contract.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import NamedTuple

from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, RecordsToDelete
from aiokafka.errors import (
    KafkaError,
    LeaderNotAvailableError,
    NotLeaderForPartitionError,
    PolicyViolationError,
    TopicAuthorizationFailedError,
)

from models.errors import DependencyUnavailable
from streams.admin.topics.cluster import alter, connected, describe, read_configs
from streams.clients import kafka
from streams.clients.records import SourceRecord
from streams.clients.topic_spec import TopicSpec
from streams.config.settings import Settings

#: Records on their way to the broker at once.
_IN_FLIGHT = 1000

#: What lets records be deleted by offset from a compacted topic, and nothing by its age.
_OPEN = {"cleanup.policy": "compact,delete", "retention.ms": "-1"}

_POLL_SECONDS = 0.1


class Placed(NamedTuple):
    """A value of a table, sealed, and the partition that it belongs to."""

    partition: int
    value: bytes


async def open_changelogs(admin: AIOKafkaAdminClient, specs: Sequence[TopicSpec]) -> None:
    """Let records of these changelogs be deleted by offset; workers of the service refuse to start."""
    await _configure(admin, specs, _OPEN)


async def close_changelogs(admin: AIOKafkaAdminClient, specs: Sequence[TopicSpec]) -> None:
    """Give these changelogs the cleanup policy of the contract again."""
    await _configure(admin, specs, {"cleanup.policy": "compact"}, without="retention.ms")


async def _configure(
    admin: AIOKafkaAdminClient, specs: Sequence[TopicSpec], wanted: Mapping[str, str], without: str = ""
) -> None:
    """Set a configuration until the broker reports it; remove the setting ``without``."""
    while True:
        configs = await read_configs(admin, specs)
        differing = [
            name
            for name, config in configs.items()
            if any(config[setting][0] != value for setting, value in wanted.items())
        ]
        if not differing:
            return
        for config in configs.values():
            config.pop(without, None)
        await alter(admin, configs, dict.fromkeys(differing, wanted))
        await asyncio.sleep(_POLL_SECONDS)


async def delete_before(
    admin: AIOKafkaAdminClient, offsets: Mapping[TopicPartition, int], timeout_seconds: float
) -> None:
    """Delete the records of open changelogs before these offsets."""
    clock = asyncio.get_running_loop().time
    deadline = clock() + timeout_seconds
    wanted = {place: RecordsToDelete(before_offset=offset) for place, offset in offsets.items()}
    while wanted:
        try:
            await admin.delete_records(wanted, timeout_ms=int(timeout_seconds * 1000))
        except TopicAuthorizationFailedError as error:
            raise kafka.denied("delete records of the topic", {place.topic for place in wanted}) from error
        except (PolicyViolationError, NotLeaderForPartitionError, LeaderNotAvailableError):
            # A broker applies a configuration some time after the controller has it.
            if clock() > deadline:
                raise
            await asyncio.sleep(_POLL_SECONDS)
        else:
            return


async def ends(settings: Settings, specs: Sequence[TopicSpec]) -> dict[TopicPartition, int]:
    """Return the offset after the last record of each partition.

    Raises:
        DependencyUnavailable: the broker does not answer.
    """
    places = [TopicPartition(spec.name, number) for spec in specs for number in range(spec.partitions)]
    consumer = _consumer(settings)
    async with _answering(settings):
        try:
            await kafka.connect(consumer, settings, settings.request_timeout_seconds)
            async with asyncio.timeout(settings.request_timeout_seconds):
                return dict(await consumer.end_offsets(places)) if places else {}
        finally:
            await kafka.close(consumer)


async def write(values: Mapping[bytes, Placed], changelog: TopicSpec, settings: Settings) -> None:
    """Append values to a changelog.

    Raises:
        DependencyUnavailable: the broker does not take them.
    """
    producer = kafka.make_producer(
        settings,
        "switchboard-reset",
        max_request_size=changelog.max_message_bytes,
        request_timeout_ms=int(settings.request_timeout_seconds * 1000),
    )
    async with _answering(settings):
        try:
            await kafka.connect(producer, settings, settings.request_timeout_seconds)
            confirmations = []
            for key, (partition, value) in values.items():
                confirmations.append(
                    await producer.send(changelog.name, key=key, value=value, partition=partition)
                )
                if len(confirmations) == _IN_FLIGHT:
                    await asyncio.gather(*confirmations)
                    confirmations.clear()
            await asyncio.gather(*confirmations)
        finally:
            await kafka.close(producer)


async def read(settings: Settings, spec: TopicSpec, note: Callable[[SourceRecord], None]) -> None:
    """Hand every record of a topic to ``note``, in order within each partition; none if it is missing.

    Raises:
        DependencyUnavailable: the broker does not answer.
    """
    async with connected(settings, settings.request_timeout_seconds) as admin:
        found = await describe(admin, [spec.name])
    if spec.name in found:
        async with _answering(settings):
            await _read(settings, spec, found[spec.name].partitions, note)


async def _read(
    settings: Settings, spec: TopicSpec, partitions: int, note: Callable[[SourceRecord], None]
) -> None:
    consumer = _consumer(settings)
    places = [TopicPartition(spec.name, number) for number in range(partitions)]
    consumer.assign(places)
    clock = asyncio.get_running_loop().time
    try:
        await kafka.connect(consumer, settings, settings.request_timeout_seconds)
        async with asyncio.timeout(settings.request_timeout_seconds):
            ends = await consumer.end_offsets(places)
        heard = clock()
        while True:
            async with asyncio.timeout(settings.request_timeout_seconds):
                places = [place for place in places if await consumer.position(place) < ends[place]]
            if not places:
                return
            batches = await consumer.getmany(*places, timeout_ms=500)
            for records in batches.values():
                for record in records:
                    note(record)
            if batches:
                heard = clock()
            elif clock() - heard > settings.request_timeout_seconds:
                raise TimeoutError(f"{spec.name} does not go on")
    finally:
        await kafka.close(consumer)


def _consumer(settings: Settings) -> AIOKafkaConsumer:
    return kafka.make_consumer(
        settings,
        "switchboard-reset",
        group_id=None,
        auto_offset_reset="earliest",
        request_timeout_ms=int(settings.request_timeout_seconds * 1000),
    )


@asynccontextmanager
async def _answering(settings: Settings) -> AsyncIterator[None]:
    try:
        yield
    except (KafkaError, OSError, TimeoutError) as error:
        raise kafka.refusal(error, settings) or DependencyUnavailable(
            "kafka",
            f"the broker at {settings.bootstrap_servers} failed: {error!r}. Repeat this once it is well",
        ) from error
