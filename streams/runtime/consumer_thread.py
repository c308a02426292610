"""The thread that talks to Kafka: an aiokafka consumer of our own making (rule 10), and what is asked of it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple, cast

import aiokafka
from aiokafka.errors import (
    CommitFailedError,
    CorruptRecordException,
    GroupCoordinatorNotAvailableError,
    IllegalStateError,
    KafkaError,
    KafkaTimeoutError,
    RebalanceInProgressError,
    UnknownMemberIdError,
)
from aiokafka.structs import OffsetAndMetadata, TopicPartition

from streams.clients import kafka
from streams.clients.aiokafka_internals import ConsumerStoppedError, HeartbeatRequest, JoinGroupRequest
from streams.clients.kafka.pacing import pace
from streams.clients.records import FetchedRecord
from streams.runtime.epoch import Epoch, Offsets
from streams.runtime.faust_internals import TP, AIOKafkaConsumerThread, ensure_aiokafka_TP
from streams.runtime.lease import Lease
from streams.runtime.ports import ConsumerHost
from streams.runtime.unpacking import Unpacker

#: Most records that one fetch takes, of all partitions: a batch of the stage that takes the largest.
_FETCH_RECORDS = 16_000

#: Kafka's error codes: unknown member; a static member whose name another one has taken.
_FORGOTTEN = frozenset({UnknownMemberIdError.errno, 82})

#: What a heartbeat is answered with while we are a member: no error, or that a rebalance has begun.
_ALIVE = frozenset({0, RebalanceInProgressError.errno})


def _error_codes(response: Any) -> set[int]:
    """Return the error codes of a coordinator's response: its own, or those of its partitions."""
    codes = {getattr(response, "error_code", 0)}
    codes.update(partition[-1] for _, partitions in getattr(response, "topics", ()) for partition in partitions)
    return codes


def _fetched(tp: TopicPartition, record: Any) -> FetchedRecord:
    headers = record.headers or ()
    return FetchedRecord(
        tp.topic, tp.partition, record.offset, record.timestamp, record.key, record.value, headers
    )


class Fetch(NamedTuple):
    """Fetch of a partition: its first offset, the records, and the next offset.

    ``start`` is ``None`` if aiokafka had lost its position.  ``end`` may lie beyond the last record, and
    beyond ``start`` without any record: what ends a transaction takes an offset, and so do aborted records.
    """

    start: int | None
    records: list[Any]
    end: int


class BatchConsumerThread(AIOKafkaConsumerThread):
    """Faust's consumer thread with an aiokafka consumer of our own making (rule 10)."""

    @property
    def runtime(self) -> ConsumerHost:
        """The service."""
        return cast(ConsumerHost, cast(Any, self.app).runtime)

    def _create_worker_consumer(self, transport: Any) -> aiokafka.AIOKafkaConsumer:
        settings = self.runtime.settings
        # Faust maps changelog partitions to workers in its own assignor, so it is needed with tables,
        # and it keeps equal partition numbers of all topics of a service on one worker.
        self._assignor = self.app.assignor
        consumer = kafka.make_consumer(
            settings,
            kafka.client_id(self.runtime.name, settings),
            group_id=self.app.conf.id,
            group_instance_id=self.app.conf.consumer_group_instance_id,
            partition_assignment_strategy=[self._assignor],
            auto_offset_reset=settings.auto_offset_reset,
            fetch_max_wait_ms=settings.fetch_max_wait_ms,
            max_poll_records=None,
            # Waiting in place for a dependency must not cost the partitions.
            max_poll_interval_ms=24 * 3600 * 1000,
            max_partition_fetch_bytes=self.app.conf.consumer_max_fetch_size,
            request_timeout_ms=int(settings.request_timeout_seconds * 1000),
            session_timeout_ms=int(settings.session_timeout_seconds * 1000),
            rebalance_timeout_ms=int(settings.session_timeout_seconds * 1000 * 2),
            heartbeat_interval_ms=int(settings.heartbeat_seconds * 1000),
            retry_backoff_ms=100,
            metadata_max_age_ms=30_000,
        )
        self._unpacker = Unpacker(settings.max_batch_uncompressed_bytes)
        self._unpacker.watch(consumer._client)
        return consumer

    async def on_start(self) -> None:
        """Start the consumer at its pace, and renew the lease with each heartbeat that the group answers."""
        await super().on_start()
        consumer = self._ensure_consumer()
        pace(consumer, rests=True)
        self.watch(consumer._coordinator, self.runtime.lease)

    @staticmethod
    def watch(coordinator: Any, lease: Lease) -> None:
        """Tell ``lease`` what the group answers to aiokafka's ``coordinator``."""
        send, reset_generation = coordinator._send_req, coordinator.reset_generation

        async def send_and_note(request: Any) -> Any:
            if lease.fenced or (lease.refusal is not None and isinstance(request, JoinGroupRequest)):
                # The worker is about to stop.  Joining again would take the name back, or partitions that
                # nobody else could then have until the group notices that their owner is gone.
                await asyncio.sleep(1.0)
                raise GroupCoordinatorNotAvailableError
            sent_at = time.monotonic()
            response = await send(request)
            codes = _error_codes(response)
            if codes & _FORGOTTEN:
                lease.lose(forgotten=True)
            elif isinstance(request, HeartbeatRequest) and codes <= _ALIVE:
                lease.renew(sent_at)
            return response

        def lose_and_reset() -> None:
            if not coordinator._closing.done():
                lease.lose()
            reset_generation()

        coordinator._send_req = send_and_note
        coordinator.reset_generation = lose_and_reset

    async def on_partitions_assigned(self, assigned: set[TP], generation_id: int = 0) -> None:
        """The group has taken us in.  Changelogs are read by recovery, not here."""
        self.runtime.lease.renew(time.monotonic())
        topics = self.app.tables.changelog_topics
        self._ensure_consumer().pause(*(ensure_aiokafka_TP(tp) for tp in assigned if tp.topic in topics))
        await super().on_partitions_assigned(assigned, generation_id)

    async def check_errors(self) -> None:
        """Raise what has stopped the group's coordination: aiokafka keeps it until somebody asks."""
        # Not through the thread's queue: calls that wait for a broker that is away stand in it.
        check = self._check_errors()
        try:
            checked = asyncio.run_coroutine_threadsafe(check, self.thread_loop)
        except RuntimeError:
            check.close()
            if self.thread_loop.is_closed():
                return  # the thread has ended, and nothing is coordinated any more
            raise
        await asyncio.wrap_future(checked)

    async def _check_errors(self) -> None:
        # Nobody coordinates before the client has met the broker, nor after it was stopped.
        if self._consumer is not None and (coordinator := self._consumer._coordinator) is not None:
            coordinator.check_errors()

    async def offsets(self, tps: Iterable[TP]) -> dict[TP, Offsets]:
        """Return log start, log end and commit of each partition, from the broker."""
        result: dict[TP, Offsets] = await self.call_thread(self._offsets, list(tps))
        return result

    async def _offsets(self, tps: list[TP]) -> dict[TP, Offsets]:
        consumer = self._ensure_consumer()
        wanted = {tp: ensure_aiokafka_TP(tp) for tp in tps}
        # The ends last: a commit that is made in between must not look as if it lay beyond them.
        committed = await asyncio.gather(*(consumer.committed(tp) for tp in wanted.values()))
        beginnings = await consumer.beginning_offsets(list(wanted.values()))
        ends = await consumer.end_offsets(list(wanted.values()))
        return {
            tp: Offsets(beginnings[raw], ends[raw], commit)
            for (tp, raw), commit in zip(wanted.items(), committed, strict=True)
        }

    async def fetch(self, wanted: set[TP], timeout: float, epoch: Epoch) -> dict[TP, Fetch]:
        """Take what was fetched of ``wanted``, waiting up to ``timeout`` s for the first of it."""
        result: dict[TP, Fetch] = await self.call_thread(self._fetch, wanted, timeout, epoch)
        return result

    async def _fetch(self, wanted: set[TP], timeout: float, epoch: Epoch) -> dict[TP, Fetch]:
        fetcher = self._ensure_consumer()._fetcher
        deadline = time.monotonic() + timeout
        while True:
            taken = await self._take(wanted, epoch)
            left = deadline - time.monotonic()
            if taken or left <= 0:
                return taken
            await asyncio.wait([waiter := fetcher._create_fetch_waiter()], timeout=left)
            if waiter.done():
                waiter.result()  # not allowed to read, for instance
            else:
                waiter.cancel()

    async def _take(self, wanted: set[TP], epoch: Epoch) -> dict[TP, Fetch]:
        """Take what is there.  Nothing is awaited from the look at the positions to the one after: a seek that
        came between them would look like a hole, and what is taken for an epoch that is over would be lost."""
        consumer = self._ensure_consumer()
        fetcher = consumer._fetcher
        if consumer._closed or fetcher._closed:
            raise ConsumerStoppedError()
        if not epoch.running or fetcher._subscriptions.reassignment_in_progress:
            return {}
        starts = self._positions(wanted)
        for fetched in fetcher._records.values():
            # There are none if it is an error, or was read to its end.
            if (waiting := getattr(fetched, "_partition_records", None)) is not None:
                waiting._consumer_record = _fetched
        try:
            with fetcher._subscriptions.fetch_context():
                # The rest waits as it came, in a third of the memory that records take.
                records = await fetcher.fetched_records(wanted, timeout=0, max_records=_FETCH_RECORDS)
        except (CorruptRecordException, ValueError) as exc:
            if not self._unpacker.distrust(wanted):
                raise
            self.runtime.log.warning("a batch could not be read; fetching it again", error=repr(exc))
            # What was taken of other partitions, or of this one before the error, is lost with it.
            for tp, position in starts.items():
                fetcher.seek_to(ensure_aiokafka_TP(tp), position)
            return {}
        taken = {TP(tp.topic, tp.partition): self._unpacker.put_back(batch) for tp, batch in records.items()}
        return {
            tp: Fetch(starts.get(tp), taken.get(tp, []), end)
            for tp, end in self._positions(wanted).items()
            if tp in taken or end != starts.get(tp)
        }

    def _positions(self, tps: Iterable[TP]) -> dict[TP, int]:
        assignment = self._ensure_consumer()._subscription.subscription.assignment
        states = ((tp, assignment.state_value(ensure_aiokafka_TP(tp))) for tp in tps)
        return {tp: state.position for tp, state in states if state is not None and state.has_valid_position}

    async def seek_all(self, starts: Mapping[TP, int]) -> None:
        """Seek each partition, dropping what was fetched of it."""
        await self.call_thread(self._seek_all, dict(starts))

    async def _seek_all(self, starts: Mapping[TP, int]) -> None:
        consumer = self._ensure_consumer()
        for tp, offset in starts.items():
            consumer.seek(ensure_aiokafka_TP(tp), offset)

    async def _commit(self, offsets: Mapping[TP, int]) -> bool:
        """Commit; ``False`` when the group moved on or the broker did not answer: it is tried again."""
        consumer = self._ensure_consumer()
        assigned = self.assignment()
        wanted = {
            ensure_aiokafka_TP(tp): OffsetAndMetadata(offset, "")
            for tp, offset in offsets.items()
            if tp in assigned
        }
        if not wanted:
            return False
        try:
            await consumer.commit(wanted)
        except (CommitFailedError, IllegalStateError) as exc:
            # The partitions are somebody else's now; whoever has them reads these records again.
            self.runtime.log.info("commit refused: the group has rebalanced", error=type(exc).__name__)
            return False
        except KafkaError as exc:
            if not exc.retriable and not isinstance(exc, KafkaTimeoutError):
                raise
            self.runtime.log.warning("commit failed, will be tried again", error=repr(exc))
            return False
        return True
