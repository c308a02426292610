"""The Faust app of a service: its settings, and a table and an agent per stage."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence
from typing import Any

import faust

from models.errors import ConfigurationError
from streams.clients.catalog import Catalog
from streams.runtime.assignor import SameTopicsAssignor
from streams.runtime.consumer import BatchTransport
from streams.runtime.credentials import faust_credentials
from streams.runtime.faust_recovery import SeekingTables
from streams.runtime.faust_table import StateTable
from streams.runtime.ports import AppHost
from streams.runtime.scheduler import scheduler_factory
from streams.runtime.stage import BoundStage, Stage
from streams.runtime.throttle import Throttle


class ServiceApp(faust.App):
    """A Faust app whose transport delivers batches; ``runtime`` is the service it belongs to."""

    runtime: AppHost

    def _new_transport(self) -> Any:
        return BatchTransport(self.conf.broker_consumer, self)

    def _create_directories(self) -> None:
        """Make none: tables are in memory, and a service without an index needs no folder that it can write."""


def bind(stages: Sequence[Stage], service: str, catalog: Catalog) -> list[BoundStage]:
    """Look up what the catalog says of the topics of a service's stages, and refuse what could not run.

    Raises:
        ConfigurationError: two stages share a name, a table or a source; a source has no dead-letter topic; a
            stage's sources, or its changelog, differ in partitions.
    """
    for what, names in (
        ("are called", [stage.name for stage in stages]),
        ("keep their state in", [stage.table for stage in stages if stage.table]),
    ):
        for name in _repeated(names):
            raise ConfigurationError(f"two stages of service {service} {what} {name!r}: give each its own")
    for source in _repeated([source for stage in stages for source in stage.sources]):
        readers = ", ".join(stage.name for stage in stages for each in stage.sources if each == source)
        raise ConfigurationError(
            f"{source} is read more than once in service {service} (by {readers}): a batch is cut, marked and "
            "acked for one stage. Let one stage read it and publish what the other needs, or give the other "
            "a service of its own"
        )
    return [_bind(stage, service, catalog) for stage in stages]


def _bind(stage: Stage, service: str, catalog: Catalog) -> BoundStage:
    names = [*stage.sources]
    changelog = f"switchboard-{service}-{stage.table}-changelog" if stage.table else ""
    if changelog:
        names.append(changelog)
    counts = {name: catalog.partitions(name) for name in names}
    if len(set(counts.values())) > 1:
        raise ConfigurationError(f"the topics of stage {stage.name} must have equal partitions: {counts}")
    hashed = {}
    for source in stage.sources:
        catalog.dead_letter_name(source)  # or the first bad record would stop the worker
        spec = catalog.get(source)
        hashed[source] = spec.partitions if spec.routed_by == spec.key else 0
    return BoundStage(stage, hashed, changelog)


def _repeated(names: Sequence[str]) -> list[str]:
    return [name for name, times in Counter(names).items() if times > 1]


def make_app(runtime: AppHost, stages: Sequence[BoundStage]) -> tuple[ServiceApp, dict[str, StateTable]]:
    """Return the app, and the tables by the names of their stages."""
    settings = runtime.settings
    app = ServiceApp(
        settings.group(runtime.name),
        broker=[f"kafka://{server}" for server in settings.bootstrap_servers.split(",")],
        broker_credentials=faust_credentials(settings),
        store="memory://",
        web_enabled=False,
        datadir=settings.folder / "faust",  # never made
        topic_disable_leader=True,
        topic_allow_declare=False,
        stream_wait_empty=True,
        stream_buffer_maxsize=1 << 16,
        # Recovery is fast; copies on other workers would cost every record a second time.
        table_standby_replicas=0,
        TableManager=SeekingTables,
        broker_commit_interval=settings.commit_interval_seconds,
        broker_request_timeout=settings.request_timeout_seconds,
        broker_session_timeout=settings.session_timeout_seconds,
        broker_heartbeat_interval=settings.heartbeat_seconds,
        consumer_max_fetch_size=4 << 20,
        consumer_group_instance_id=_member(settings.static_member(runtime.name), runtime.catalog, stages),
        PartitionAssignor=SameTopicsAssignor,
        ConsumerScheduler=scheduler_factory(
            _bounds(runtime.catalog, stages, runtime.throttle), settings.step_bytes
        ),
    )
    app.runtime = runtime
    tables = {bound.stage.name: _make_table(app, bound, runtime.catalog) for bound in stages if bound.changelog}
    for bound in stages:
        _make_agent(app, bound)
    return app, tables


def _member(name: str, catalog: Catalog, stages: Sequence[BoundStage]) -> str:
    """Return the static membership id (``group.instance.id``): whose it is, and what is read under it.

    To a member that comes back under its id the broker gives what it had, without looking at its topics: one
    that reads others now (after an upgrade, or with another embedder) would be given partitions of topics that
    it does not read, and none of the new ones.  So it is another member, and what the former one had is given
    away when its session ends (:mod:`streams.runtime.assignor`).
    """
    topics = {source for bound in stages for source in bound.stage.sources}
    topics |= {bound.changelog for bound in stages if bound.changelog}
    named = " ".join(sorted(map(catalog.name, topics)))
    return f"{name}-{hashlib.sha256(named.encode()).hexdigest()[:8]}"


def _make_table(app: ServiceApp, bound: BoundStage, catalog: Catalog) -> StateTable:
    table = StateTable(
        app,
        name=bound.stage.table or "",
        sources=bound.stage.sources,
        partitions=catalog.partitions(bound.changelog),
        memory=app.runtime.state_memory,
        key_type=bytes,
        value_type=bytes,
    )
    app.tables.add(table)
    return table


def _make_agent(app: ServiceApp, bound: BoundStage) -> None:
    names = [app.runtime.catalog.name(source) for source in bound.stage.sources]
    channel = app.topic(*names, value_serializer="raw", key_serializer="raw", allow_empty=True)

    async def agent(stream: Any) -> None:
        async for event in stream.noack().events():
            app.runtime.deliver(bound, event)

    agent.__name__ = bound.stage.name
    app.agent(channel, name=bound.stage.name)(agent)


def _bounds(catalog: Catalog, stages: Sequence[BoundStage], throttle: Throttle) -> Any:
    """Return the scheduler's bounds for a topic; see :data:`streams.runtime.scheduler.Bound`."""
    by_source = {source: bound.stage for bound in stages for source in bound.stage.sources}

    def bound_of(topic: str) -> tuple[int, str, int]:
        name = catalog.get(topic).contract_name
        stage = by_source[name]
        return throttle.most(name, stage.batch_records), name, stage.sources.index(name)

    return bound_of
