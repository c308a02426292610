"""The consumer group of a service while none of its workers runs: who is still in it, and where it reads on."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import NamedTuple

from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.errors import CommitFailedError, KafkaError, for_code
from aiokafka.protocol.admin import DeleteGroupsRequest

from models.errors import ConfigurationError
from streams.clients import kafka
from streams.clients.topic_spec import TopicSpec
from streams.config.settings import Settings

#: How much longer than its session a worker that is gone may be counted as a member of its group.
_SESSION_MARGIN_SECONDS = 5.0

_POLL_SECONDS = 0.2
_UUID_LENGTH = 36

#: Kafka's codes of answers about groups.
_GROUP_NOT_EMPTY, _GROUP_NOT_FOUND = 68, 69


class Member(NamedTuple):
    """A member of a consumer group: its static name (or client id), and the address that it joined from.

    ``namespace``: of Kubernetes, if it says one.
    """

    name: str
    host: str
    namespace: str = ""

    def __str__(self) -> str:
        return f"{self.name} ({self.host})"


class Rewound(NamedTuple):
    """A topic that will be read again from its beginning, and how many offsets lie ahead."""

    topic: str
    records: int


#: Called once if members must still leave, with them and the seconds that this is waited for at most.
OnWait = Callable[[Sequence[Member], float], None]


def longest_wait(settings: Settings) -> float:
    """Return the seconds after which a member that still is in the group must be alive."""
    return settings.session_timeout_seconds + _SESSION_MARGIN_SECONDS


async def wait_until_left(
    admin: AIOKafkaAdminClient, settings: Settings, service: str, on_wait: OnWait
) -> None:
    """Wait until the group of ``service`` has no members; a static one stays until its session ends.

    Raises :class:`ConfigurationError`, which names the members, when they do not leave: they are alive.
    """
    group = settings.group(service)
    present = await members(admin, group)
    if present:
        on_wait(present, longest_wait(settings))
    clock = asyncio.get_running_loop().time
    deadline = clock() + longest_wait(settings)
    while present:
        if clock() > deadline:
            raise ConfigurationError(
                f"{service} is running: {', '.join(map(str, present))} in the consumer group {group}. Stop "
                f"every worker of {service}, and whatever would start it again, then repeat this"
            )
        await asyncio.sleep(_POLL_SECONDS)
        present = await members(admin, group)


async def members(admin: AIOKafkaAdminClient, group: str) -> list[Member]:
    """Return the members of a group; none if there is no such group."""
    while True:
        try:
            # One group at a time: aiokafka 0.14 misreads the answer to more.
            [response] = await admin.describe_consumer_groups([group])
            [(code, _group, _state, _type, _protocol, members)] = response.groups
            if code:
                raise for_code(code)(f"cannot describe the group {group}")
        except KafkaError as error:
            if not error.retriable:
                raise
            await asyncio.sleep(_POLL_SECONDS)  # a broker that has just started is still looking for its groups
            continue
        # The broker makes a member's id of its static name (or else its client id) and a uuid.
        return [
            Member(member_id[: -_UUID_LENGTH - 1], host.removeprefix("/"), kafka.namespace_of(client))
            for member_id, client, host, _metadata, _assignment in members
        ]


async def delete_group(admin: AIOKafkaAdminClient, group: str) -> bool:
    """Delete a consumer group with its offsets; return False if there is none.

    Raises:
        ConfigurationError: it has members again, or we may not.
    """
    while True:
        try:
            coordinator = await admin.find_coordinator(group)
            response = await admin._send_request(DeleteGroupsRequest([group]), coordinator)
            [(_, code)] = response.results
            if code == _GROUP_NOT_FOUND:
                return False
            if code == _GROUP_NOT_EMPTY:
                raise ConfigurationError(
                    f"a worker of the group {group} has just started: stop it, and whatever would start it "
                    "again, then repeat this"
                )
            if code:
                raise for_code(code)(f"cannot delete the group {group}")
        except KafkaError as error:
            if not error.retriable:
                raise
            await asyncio.sleep(_POLL_SECONDS)
            continue
        return True


async def stands(settings: Settings, service: str, source: TopicSpec) -> bool:
    """Say whether the group of ``service`` has read ``source``, and has not been further than it goes."""
    places = [TopicPartition(source.name, number) for number in range(source.partitions)]
    async with _as_group(settings, service, places) as consumer:
        ends = await consumer.end_offsets(places)
        committed = {place: await consumer.committed(place) for place in places}
    known = {place: offset for place, offset in committed.items() if offset is not None}
    return bool(known) and all(offset <= ends[place] for place, offset in known.items())


async def rewind_group(settings: Settings, service: str, sources: Sequence[TopicSpec]) -> list[Rewound]:
    """Commit the beginning of every partition of ``sources``, which must exist, for the group of ``service``.

    Raises :class:`ConfigurationError` when the group is not empty: the broker refuses it then.
    """
    places = [TopicPartition(spec.name, number) for spec in sources for number in range(spec.partitions)]
    async with _as_group(settings, service, places) as consumer:
        beginnings = await consumer.beginning_offsets(places)
        ends = await consumer.end_offsets(places)
        await consumer.commit(beginnings)
    return [
        Rewound(spec.name, sum(ends[place] - beginnings[place] for place in places if place.topic == spec.name))
        for spec in sources
    ]


async def begin_group(settings: Settings, service: str, places: Mapping[TopicPartition, int]) -> None:
    """Commit offsets for the group of ``service``.

    Raises :class:`ConfigurationError` when the group is not empty: the broker refuses it then.
    """
    if places:
        async with _as_group(settings, service, places) as consumer:
            await consumer.commit(dict(places))


@asynccontextmanager
async def _as_group(
    settings: Settings, service: str, places: Iterable[TopicPartition]
) -> AsyncIterator[AIOKafkaConsumer]:
    """Yield a consumer that speaks for the group of ``service`` and is no member of it."""
    consumer = kafka.make_consumer(
        settings,
        "switchboard-reset",
        group_id=settings.group(service),
        request_timeout_ms=int(settings.request_timeout_seconds * 1000),
    )
    consumer.assign(list(places))
    try:
        await kafka.connect(consumer, settings, settings.request_timeout_seconds)
        yield consumer
    except CommitFailedError as error:
        raise ConfigurationError(
            f"a worker of {service} has just started: stop every worker of {service}, and whatever would start "
            "it again, then repeat this"
        ) from error
    finally:
        await kafka.close(consumer)
