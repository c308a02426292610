"""Data of ``switchboard status``: who runs, how far each has read, where each topic ends."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from datetime import UTC, datetime

import msgspec
from aiokafka import AIOKafkaConsumer
from aiokafka.admin import AIOKafkaAdminClient

from models.errors import ConfigurationError, DependencyUnavailable
from streams.clients.catalog import Catalog
from streams.clients.kafka import broker
from streams.config.settings import Settings
from streams.queries import services

#: Of a histogram the buckets say nothing once they are summed.
_LEFT_OUT = ("_bucket", "_created")


class ServiceStatus(msgspec.Struct, frozen=True, kw_only=True):
    """One process of a service.  ``state``: ``ready``, ``standby``, ``not ready``, or ``-`` if it does not run.

    ``reasons`` say why it is not ready ("waiting for qdrant for 12 s").  ``metrics`` are its counters and
    gauges without the prefix ``switchboard_``, each summed over its labels; of a histogram count, sum and
    ``_p99``.
    """

    service: str
    instance: str
    state: str
    port: int
    running: bool
    ready: bool
    reasons: list[str]
    metrics: dict[str, float]


class GroupStatus(msgspec.Struct, frozen=True, kw_only=True):
    """How far a consumer group has read a topic; offsets are summed over its partitions."""

    group: str
    topic: str
    partitions: int
    committed: int
    end: int
    lag: int
    started: bool


class Overview(msgspec.Struct, frozen=True, kw_only=True):
    """Everything at one moment.  ``broker`` is ``ok``, or says why nothing is known of groups and topics.

    ``topics`` says of each how many records were ever written to it (the sum of its end offsets).
    """

    at: datetime
    services: list[ServiceStatus]
    groups: list[GroupStatus]
    topics: dict[str, int]
    broker: str = "ok"


class Status:
    """Looks at the services and the broker, over connections that it keeps; close it at the end."""

    def __init__(self, settings: Settings, catalog: Catalog) -> None:
        self._settings = settings
        self._catalog = catalog
        self._asking = asyncio.Lock()
        self._connections = AsyncExitStack()
        self._clients: tuple[AIOKafkaAdminClient, AIOKafkaConsumer] | None = None

    async def now(self) -> Overview:
        """Return how things are.  A broker that does not answer is part of that, not an error."""
        reports, (groups, topics, trouble) = await asyncio.gather(
            services.ask_services(self._settings), self._ask_broker()
        )
        return Overview(
            at=datetime.now(UTC),
            services=[_of_service(report) for report in reports],
            groups=groups,
            topics=topics,
            broker=trouble or "ok",
        )

    async def close(self) -> None:
        """Let go of the broker."""
        self._clients = None
        await self._connections.aclose()

    async def _ask_broker(self) -> tuple[list[GroupStatus], dict[str, int], str]:
        names = {spec.name: spec.contract_name for spec in self._catalog.all()}
        sources = services.sources_by_group(self._settings)
        topics = [spec.name for spec in self._catalog.all() if not spec.is_changelog]
        async with self._asking:
            try:
                async with broker.answering(self._settings):
                    found = await broker.standing(*await self._connected(), sources, topics)
            except BaseException as error:  # what is left of the connections is anybody's guess
                await self.close()
                if isinstance(error, DependencyUnavailable | ConfigurationError):
                    return [], {}, str(error)
                raise
        groups = [
            GroupStatus(
                group=row.group,
                topic=names[row.topic],
                partitions=row.partitions,
                committed=row.committed,
                end=row.end,
                lag=row.lag,
                started=row.started,
            )
            for row in found.lags
        ]
        return groups, {names[topic]: end for topic, end in found.ends.items()}, ""

    async def _connected(self) -> tuple[AIOKafkaAdminClient, AIOKafkaConsumer]:
        if self._clients is None:
            self._clients = (
                await self._connections.enter_async_context(broker.administering(self._settings)),
                await self._connections.enter_async_context(broker.reading(self._settings)),
            )
        return self._clients


def _of_service(report: services.Report) -> ServiceStatus:
    return ServiceStatus(
        service=report.service,
        instance=report.instance,
        state=report.state,
        port=report.port,
        running=report.running,
        ready=report.ready,
        reasons=report.reasons,
        metrics={name: value for name, value in report.metrics.items() if not name.endswith(_LEFT_OUT)},
    )
