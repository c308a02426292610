"""What ``switchboard status`` shows, as data: who runs, how far each has read, where each topic ends."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from datetime import UTC, datetime

import msgspec
from aiokafka import TopicPartition

from models.errors import DependencyUnavailable
from streams.kafka import broker
from streams.settings import Settings
from streams.telemetry import services
from streams.topics import Catalog

#: Of a histogram the buckets say nothing once they are summed.
_LEFT_OUT = ("_bucket", "_created")


class ServiceStatus(msgspec.Struct, frozen=True, kw_only=True):
    """One process of a service.  ``state``: ``ready``, ``spare``, ``not ready``, or ``-`` if it does not run.

    ``reasons`` say why it is not ready ("waiting for qdrant for 12 s").  ``metrics`` are its counters and
    gauges without the prefix ``switchboard_``, each summed over its labels.
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
    """Looks at the services and the broker."""

    def __init__(self, settings: Settings, catalog: Catalog) -> None:
        self._settings = settings
        self._catalog = catalog

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

    async def _ask_broker(self) -> tuple[list[GroupStatus], dict[str, int], str]:
        names = {spec.name: spec.contract_name for spec in self._catalog.all()}
        sources = services.sources_by_group(self._settings)
        try:
            rows, ends = await asyncio.gather(broker.group_lags(self._settings, sources), self._ends())
        except DependencyUnavailable as error:
            return [], {}, str(error)
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
            for row in rows
        ]
        return groups, ends, ""

    async def _ends(self) -> dict[str, int]:
        specs = {spec.name: spec for spec in self._catalog.all() if not spec.is_changelog}
        present = await broker.partitions_of(self._settings, specs)
        places = [TopicPartition(name, number) for name, count in present.items() for number in range(count)]
        async with broker.reading(self._settings) as consumer:
            ends: Mapping[TopicPartition, int] = await broker.ends_of(consumer, places)
        totals = dict.fromkeys((specs[name].contract_name for name in present), 0)
        for place, end in ends.items():
            totals[specs[place.topic].contract_name] += end
        return totals


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
