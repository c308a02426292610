"""A service: one Faust app, its stages, and what keeps them honest (epochs, slots, drains, fail-stop)."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

import structlog
from aiokafka import AIOKafkaProducer

from models.errors import ConsistencyError
from streams.clients.broker_clock import BrokerClock
from streams.clients.catalog import Catalog
from streams.config.settings import Settings
from streams.runtime.consumer import BatchConsumer
from streams.runtime.continuity import reset_hint
from streams.runtime.epoch import Epoch, EpochLane, Offsets
from streams.runtime.fair_lane import FairLane
from streams.runtime.faust_app import bind, make_app
from streams.runtime.faust_internals import TP
from streams.runtime.lane import Lane
from streams.runtime.lease import Lease
from streams.runtime.publisher import DELIVERY_TIMEOUT_SECONDS, Publisher, TopicLayout, make_producer
from streams.runtime.recovery import recover, repair
from streams.runtime.retry_policy import RetryPolicy
from streams.runtime.stage import BoundStage, Place, Stage, ViewMarks
from streams.runtime.stamp import config_hash
from streams.runtime.state_memory import StateMemory
from streams.runtime.table import NoState, PartitionState
from streams.runtime.throttle import Throttle
from streams.runtime.watch import Watch
from streams.telemetry.health import HealthState
from streams.telemetry.metrics import Metrics
from streams.telemetry.version import code_version


async def _go_on(unanswered: int) -> bool:
    return False


class ServiceRuntime:
    """Runs stages on one Faust app.

    Use: construct, :meth:`start`, wait for :attr:`failed` or a signal, :meth:`stop`.  A failure that
    would lose or invent data sets ``failed``; the worker then exits with an error and is restarted.
    """

    def __init__(
        self,
        name: str,
        stages: Sequence[Stage],
        *,
        settings: Settings,
        catalog: Catalog,
        metrics: Metrics,
        health: HealthState,
    ) -> None:
        self.name = name
        self.settings = settings
        self.metrics = metrics
        self.health = health
        self.catalog = catalog
        self.withheld = catalog.withheld
        shared = [spec.contract_name for spec in catalog if spec.shared]
        self.throttle = Throttle(settings.max_rate, shared)
        self.log = structlog.get_logger("streams.runtime").bind(service=name)
        self.slots = asyncio.Semaphore(settings.batches_in_flight)
        self.state_memory = StateMemory(settings.folder / "state", settings.state_memory_mb * 1e6)
        self.lease = Lease(settings.session_timeout_seconds, settings.static_member(name))
        self.failed = asyncio.Event()
        self.failure: BaseException | None = None
        self.broker_clock = BrokerClock()
        self.publisher: Publisher
        self._producer: AIOKafkaProducer | None = None
        self.watch = Watch(self)
        self._bound = bind(stages, name, catalog)
        self._by_source = {source: bound for bound in self._bound for source in bound.stage.sources}
        self.app, self._tables = make_app(self, self._bound)

    # -- life -------------------------------------------------------------------------------------------

    async def start(self) -> None:
        """Connect and join the group; returns when the app is started (not yet recovered)."""
        settings = self.settings
        self._producer = make_producer(settings, self.name)
        async with asyncio.timeout(settings.request_timeout_seconds):
            await self._producer.start()
        self.lease.guard(self._producer.client, self.fail)
        catalog = self.catalog
        layout = TopicLayout(
            catalog.name, catalog.partitions, lambda topic: catalog.get(topic).max_message_bytes
        )
        self.publisher = Publisher(
            self._producer, layout, submit_timeout=DELIVERY_TIMEOUT_SECONDS, clock=self.broker_clock
        )
        self.watch.start()
        for bound in self._bound:
            self._say_what_decides(bound.stage)
        self.app.finalize()
        await self.app.start()

    def _say_what_decides(self, stage: Stage) -> None:
        """Log what the stage's records will carry in ``sw_config`` only as a hash."""
        decided_by = dict(stage.decided_by)
        self.log.info(
            "stage",
            stage=stage.name,
            code=code_version(),
            config=config_hash(decided_by),
            decided_by=decided_by,
        )

    async def stop(self) -> None:
        """Drain, commit, leave; bounded by ``shutdown_timeout_seconds`` in the worker."""
        self.health.block("stopping", "stopping")
        await self.app.stop()
        self.state_memory.close()
        self.watch.stop()
        if self._producer is not None:
            await self._producer.stop()

    def fail(self, exc: BaseException) -> None:
        """Stop the worker because of ``exc``; the first call wins."""
        if self.failure is None:
            self.failure = exc
            self.health.fail(f"{type(exc).__name__}: {exc}")
            self.log.error("the worker stops", error=f"{type(exc).__name__}: {exc}")
        self.failed.set()

    # -- what the consumer and the lanes ask --------------------------------------------------------------

    @property
    def consumer(self) -> BatchConsumer:
        """The app's consumer."""
        return cast(BatchConsumer, self.app.consumer)

    @property
    def reset_hint(self) -> str:
        """Advice for a person when state and topic contradict each other."""
        return reset_hint(self.name, self.settings.generation)

    def deliver(self, bound: BoundStage, event: Any) -> None:
        """Hand a delivered batch to its lane, unless its epoch is over."""
        epoch: Epoch = event.value.epoch
        if epoch.running:
            self._lane(epoch, bound, event.value.partition).put(event)
        else:
            self.metrics.epoch_drops_total.labels(bound.stage.name).inc()
            self.discard(event.message)

    def _lane(self, epoch: Epoch, bound: BoundStage, partition: int) -> EpochLane:
        def make() -> Lane:
            table = self._tables.get(bound.stage.name)
            state = NoState() if table is None else PartitionState(table.partition(partition))
            made = Lane if bound.stage.tenant_of is None else FairLane
            return made(self, epoch, bound, partition, state)

        return epoch.lane(bound.stage.name, partition, make)

    def discard(self, message: Any) -> None:
        """Take a batch that will not be processed out of what shutdown waits for."""
        self.consumer.discard(message)

    def topic(self, source: str) -> str:
        """Return the name on the broker of a stage's source."""
        return self.catalog.name(source)

    def stalled(self) -> bool:
        """Say whether the event loop has just stood still for so long that partitions may be lost."""
        return self.watch.stalled()

    def serves_in_turn(self, topic: str) -> bool:
        """Say whether the stage that reads a topic of the broker serves tenants in turn."""
        return self._by_source[self.catalog.get(topic).contract_name].stage.tenant_of is not None

    def stage_of(self, source: str) -> str:
        """Return the name of the stage that reads ``source``."""
        return self._by_source[source].stage.name

    def caught_up(self, bound: BoundStage, partition: int) -> bool:
        """Say whether every source of the stage is read to its end in this partition."""
        epoch = self.consumer.epoch
        for source in bound.stage.sources:
            tp = TP(self.topic(source), partition)
            progress, end = epoch.partitions.get(tp), self.consumer.end_of(tp)
            if progress is None or end is None or progress.fetched < end or epoch.ledger.outstanding(tp):
                return False
        return True

    def check_end(self, tp: TP, offsets: Offsets) -> None:
        """Refuse a commit or a mark beyond the end of its partition (rule 6).

        Raises:
            ConsistencyError: the topic was deleted and made again; its records would be skipped in silence.
        """
        spec = self.catalog.get(tp.topic)
        bound = self._by_source[spec.contract_name]
        claims = [("the committed offset", offsets.committed or 0)]
        table = self._tables.get(bound.stage.name)
        if table is not None:
            index = bound.stage.sources.index(spec.contract_name)
            claims.append(("a high-water mark in state", table.partition(tp.partition).highest_mark(index)))
        for what, offset in claims:
            if offset > offsets.end:
                raise ConsistencyError(
                    f"{what} of {tp.topic}-{tp.partition} is {offset}, but the partition ends at "
                    f"{offsets.end}: the topic was deleted and made again, and its records would be "
                    f"skipped. {self.reset_hint}"
                )

    # -- epochs -------------------------------------------------------------------------------------------

    def on_assigned(self, assigned: Iterable[TP]) -> None:
        """Note a new assignment; state is recovered before anything of it is delivered."""
        self.metrics.rebalances_total.labels(self.name).inc()
        self.health.block("recovering", "recovering state after an assignment of partitions")
        self.log.info("partitions assigned", partitions=len(set(assigned)))

    async def recover(self, epoch: Epoch, changelogs: Iterable[TP]) -> None:
        """Read the state of the partitions that were assigned, and repair what is wrong in its changelogs."""
        for bound in self._bound:
            table = self._tables.get(bound.stage.name)
            if table is None:
                continue
            topic = table.changelog_topic_name
            parts = {tp: table.partition(tp.partition) for tp in changelogs if tp.topic == topic}
            began = time.monotonic()
            client_id = f"switchboard-{self.name}-recovery"
            records = await recover(parts, epoch, self.settings, client_id, self.reset_hint)
            repaired = await repair(parts, epoch, bound.changelog, self.publisher)
            for part in parts.values():
                part.begin_term()
            seconds = time.monotonic() - began
            self.metrics.recovery_seconds.labels(table.name).set(seconds)
            self.metrics.recovery_records_total.labels(table.name).inc(records)
            self.log.info(
                "state recovered",
                table=table.name,
                records=records,
                seconds=round(seconds, 3),
                repaired=repaired,
            )

    async def view_marks(self, epoch: Epoch, tps: Iterable[TP]) -> dict[TP, int]:
        """Return up to where each partition of a view stage was written into its views.

        A view that does not answer is waited for, visibly; to read from the commit instead might leave a hole.

        Raises:
            EpochOver: the partitions were revoked meanwhile.  ConfigurationError: a view cannot be used.
        """
        marks: dict[TP, int] = {}
        by_stage: dict[str, dict[Place, TP]] = {}
        for tp in tps:
            source = self.catalog.get(tp.topic).contract_name
            by_stage.setdefault(self.stage_of(source), {})[source, tp.partition] = tp
        for bound in self._bound:
            ask, places = bound.stage.view_marks, by_stage.get(bound.stage.name)
            if ask is None or not places:
                continue

            async def marks_of(
                ask: ViewMarks = ask, places: Mapping[Place, TP] = places
            ) -> Mapping[Place, int]:
                epoch.check()
                return await ask([*places])

            retry = RetryPolicy(self, bound.status)
            try:
                found = await retry.call(marks_of, _go_on)
            finally:
                retry.settle()
            marks |= {places[place]: mark for place, mark in found.items()}
        return marks

    def on_sought(self, epoch: Epoch) -> None:
        """State is recovered and every partition stands where it must: make the lanes that have timers."""
        for bound in self._bound:
            if bound.stage.timer_at is not None:
                source = self.topic(bound.stage.sources[0])
                for tp in epoch.partitions:
                    if tp.topic == source:
                        self._lane(epoch, bound, tp.partition)
        self.health.clear("starting")
        self.health.clear("recovering")
        # Without partitions a worker is all that it can be: it takes over as soon as another one goes.
        self.health.standby(not epoch.partitions)

    async def drain(self, epoch: Epoch) -> None:
        """Await what is in flight, for at most half a session; what still waits then is given up."""
        seconds = self.settings.session_timeout_seconds / 2
        if await epoch.drain(seconds, hopeless=lambda: self.failure is not None) or self.failure is not None:
            return
        busy = dict(epoch.busy_lanes())
        self.log.warning("giving up what is in flight; it will be read again", lanes=list(busy))
        if any(lane.unconfirmed for lane in busy.values()) and not self.app.should_stop:
            # The producer would still write it, but behind what the next owner of the partition writes.
            self.fail(ConsistencyError("records could not be written before partitions were given away"))
