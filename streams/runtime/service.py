"""A service: one Faust app, its stages, and what keeps them honest (epochs, slots, drains, fail-stop)."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable, Sequence
from typing import Any, cast

import structlog
from aiokafka import AIOKafkaProducer

from models.errors import ConfigurationError, ConsistencyError
from streams.runtime.consumer import BatchConsumer
from streams.runtime.consumer_thread import Offsets
from streams.runtime.faust_app import bind, make_app
from streams.runtime.faust_internals import TP
from streams.runtime.lane import Lane
from streams.runtime.lease import Lease
from streams.runtime.publisher import DELIVERY_TIMEOUT_SECONDS, Publisher, TopicLayout, make_producer
from streams.runtime.records import RecordBatch
from streams.runtime.stage import BoundStage, Stage
from streams.runtime.stamp import config_hash
from streams.runtime.table import NoState
from streams.settings import Settings
from streams.telemetry.health import HealthState
from streams.telemetry.metrics import Metrics
from streams.topics.catalog import Catalog
from streams.version import code_version

#: A pause of the event loop after which this process may have lost its partitions without knowing.
_BEAT_SECONDS = 0.5


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
        self.log = structlog.get_logger("streams.runtime").bind(service=name)
        self.slots = asyncio.Semaphore(settings.batches_in_flight)
        self.settled = asyncio.Event()
        self.lease = Lease(settings.session_timeout_seconds, settings.static_member(name))
        self.failed = asyncio.Event()
        self.failure: BaseException | None = None
        self.publisher: Publisher
        self._producer: AIOKafkaProducer | None = None
        self._sought: dict[TP, int] = {}
        self._lanes: dict[tuple[str, int], Lane] = {}
        self._assigned: set[TP] = set()
        self._last_beat = time.monotonic()
        self._background: list[asyncio.Task[None]] = []
        self._bound = [bind(stage, name, catalog) for stage in stages]
        self._by_source = {source: bound for bound in self._bound for source in bound.stage.sources}
        self.app, self._tables = make_app(self, self._bound)

    # -- life -------------------------------------------------------------------------------------------

    async def start(self) -> None:
        """Connect and join the group; returns when the app is started (not yet recovered).

        Raises:
            ConfigurationError: the data folder cannot be made.
        """
        settings = self.settings
        try:
            settings.data_dir.mkdir(parents=True, exist_ok=True)
        except OSError as exc:
            raise ConfigurationError(
                f"SWITCHBOARD_DATA_DIR={settings.data_dir} cannot be written: {exc.strerror}"
            ) from exc
        self._producer = make_producer(settings, self.name)
        async with asyncio.timeout(settings.request_timeout_seconds):
            await self._producer.start()
        self.lease.guard(self._producer.client, self.fail)
        catalog = self.catalog
        layout = TopicLayout(
            catalog.name, catalog.partitions, lambda topic: catalog.get(topic).max_message_bytes
        )
        self.publisher = Publisher(self._producer, layout, submit_timeout=DELIVERY_TIMEOUT_SECONDS)
        self._background = [
            asyncio.create_task(self._beat(), name="beat"),
            asyncio.create_task(self._watch(), name="watch"),
        ]
        for task in self._background:
            task.add_done_callback(self._ended)
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
        for task in self._background:
            task.cancel()
        if self._producer is not None:
            await self._producer.stop()

    def _ended(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled() and (exc := task.exception()) is not None:
            self.fail(exc)

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
    def epoch(self) -> int:
        """The consumer's epoch."""
        return self.consumer.epoch

    @property
    def reset_hint(self) -> str:
        """What a person does when state and topic contradict each other."""
        return (
            f"To start over from what the topics hold now, stop the service's workers and run: "
            f"switchboard state reset {self.name}"
        )

    def lane(self, bound: BoundStage, partition: int) -> Lane:
        """Return the lane of a stage and partition, made on first use in an epoch."""
        key = (bound.stage.name, partition)
        lane = self._lanes.get(key)
        if lane is None:
            table = self._tables.get(bound.stage.name)
            state = NoState() if table is None else table.state_of(partition)
            lane = self._lanes[key] = Lane(self, bound, partition, state)
        return lane

    def discard(self, message: Any) -> None:
        """Take a batch that will not be processed out of what shutdown waits for."""
        self.consumer.discard(message)

    def sought_position(self, batch: RecordBatch) -> int | None:
        """Return where the partition of ``batch`` was sought to at the start of this epoch."""
        return self._sought.get(TP(batch.topic, batch.partition))

    def stalled(self) -> bool:
        """Say whether the event loop has just stood still for so long that partitions may be lost."""
        return time.monotonic() - self._last_beat > max(2.0, self.settings.session_timeout_seconds / 4)

    def caught_up(self, bound: BoundStage, partition: int) -> bool:
        """Say whether every source of the stage is read to its end in this partition."""
        for source in bound.stage.sources:
            tp = TP(self.catalog.name(source), partition)
            end = self.consumer.end_of(tp)
            position = self.consumer.positions.get(tp)
            if end is None or position is None or position < end or self.consumer.ledger.outstanding(tp):
                return False
        return True

    def ends_at_seek(self, bound: BoundStage, partition: int) -> dict[str, int]:
        """Return, by source, where this partition ended at the start of this epoch."""
        topics = {source: self.catalog.name(source) for source in bound.stage.sources}
        return {source: self.consumer.ends_at_seek[TP(topic, partition)] for source, topic in topics.items()}

    def unread_changelogs(self, known: dict[TP, Offsets]) -> dict[TP, int]:
        """Return, of the changelogs with these offsets, where those go on that are not read to their end."""
        unread = {}
        for table in self._tables.values():
            for tp, offsets in known.items():
                if tp.topic == table.changelog_topic_name:
                    position = table.unread(tp.partition, offsets.beginning, offsets.end)
                    if position is not None:
                        unread[tp] = position
        return unread

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
            claims.append(("a high-water mark in state", table.highest_mark(tp.partition, index)))
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
        self._assigned = set(assigned)
        self._sought = {}
        self.metrics.rebalances_total.labels(self.name).inc()
        self.health.block("recovering", "recovering state after an assignment of partitions")
        self.log.info("partitions assigned", partitions=len(self._assigned))

    def on_sought(self, positions: dict[TP, int]) -> None:
        """State is recovered and every partition stands where it must: make the lanes that have timers."""
        self._sought = dict(positions)
        for bound in self._bound:
            if bound.stage.timer_at is not None:
                source = self.catalog.name(bound.stage.sources[0])
                for tp in positions:
                    if tp.topic == source:
                        self.lane(bound, tp.partition)
        for table in self._tables.values():
            self.metrics.recovery_seconds.labels(table.name).set(table.recovery_seconds)
            self.metrics.recovery_records_total.labels(table.name).inc(table.recovered_records)
            self.log.info(
                "state recovered",
                table=table.name,
                records=table.recovered_records,
                seconds=round(table.recovery_seconds, 3),
            )
            table.recovered_records = 0
        self.health.clear("starting")
        if positions:
            self.health.clear("recovering")
        else:
            self.health.block("recovering", "no partitions assigned: other workers have them all")

    async def drain(self) -> None:
        """Await what is in flight, for at most half a session; what still waits then is given up."""
        deadline = time.monotonic() + self.settings.session_timeout_seconds / 2
        while any(lane.busy for lane in self._lanes.values()) and self.failure is None:
            left = deadline - time.monotonic()
            if left <= 0:
                self._give_up()
                return
            self.settled.clear()
            try:
                async with asyncio.timeout(min(left, 0.05)):
                    await self.settled.wait()
            except TimeoutError:
                continue

    def _give_up(self) -> None:
        busy = [f"{name}-{partition}" for (name, partition), lane in self._lanes.items() if lane.busy]
        self.log.warning("giving up what is in flight; it will be read again", lanes=busy)
        if any(lane.unconfirmed for lane in self._lanes.values()) and not self.app.should_stop:
            # The producer would still write it, but behind what the next owner of the partition writes.
            self.fail(ConsistencyError("records could not be written before partitions were given away"))

    def abandon(self) -> None:
        """Close every lane: unconfirmed state and unfinished batches of this epoch are gone."""
        for lane in self._lanes.values():
            lane.close()
        self._lanes = {}

    # -- background -----------------------------------------------------------------------------------------

    async def _beat(self) -> None:
        while True:
            self._last_beat = time.monotonic()
            self.health.beat()
            self.metrics.batches_in_flight.labels(self.name).set(
                self.settings.batches_in_flight - self.slots._value
            )
            await asyncio.sleep(_BEAT_SECONDS)

    async def _watch(self) -> None:
        """Publish lag, and stop the worker when Faust, the group or another worker of our name demands it."""
        while True:
            await asyncio.sleep(1.0)
            if self.app.crashed:
                self.fail(self.app.crash_reason or RuntimeError("the Faust app crashed"))
                return
            self.lease.check_name()
            silence = self.lease.silence()
            if silence > self.settings.session_timeout_seconds / 2:
                self.health.block("kafka", f"the broker has not answered for {silence:.0f} s")
            else:
                self.health.clear("kafka")
            if self.app.consumer.started:
                await self.consumer.check_errors()
            consumer = self.consumer
            for tp, position in list(consumer.positions.items()):
                end = consumer.end_of(tp)
                if end is None:
                    continue
                committed = consumer.committed(tp)
                spec = self.catalog.get(tp.topic)
                self.metrics.lag_records.labels(
                    self._by_source[spec.contract_name].stage.name, spec.contract_name, str(tp.partition)
                ).set(max(0, end - (committed if committed is not None else position)))
