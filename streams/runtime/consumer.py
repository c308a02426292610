"""The consumer: batches instead of records, epochs instead of read offsets, a ledger instead of ack lists.

Subclasses of Faust's consumer and its transport; its thread is in :mod:`streams.runtime.consumer_thread`.
What they replace, and why, is in :mod:`streams.runtime` (rules 1, 4, 5, 6 and 10); what of Faust they lean on
is in :mod:`streams.runtime.faust_internals`.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from typing import Any, cast

from aiokafka.errors import KafkaError

from models.errors import ConfigurationError, ConsistencyError
from streams.clients.aiokafka_internals import ConsumerStoppedError
from streams.runtime.consumer_thread import BatchConsumerThread, Fetch
from streams.runtime.continuity import check_start
from streams.runtime.epoch import Epoch, EpochOver, Progress
from streams.runtime.faust_internals import TP, Consumer, ConsumerMessage, Transport, ack_lock
from streams.runtime.ports import ConsumerHost

#: How long one fetch may wait for data while every partition has room, and while some have not (those may
#: get room at any moment, and their records may be in memory already).  A seek waits for the fetch before it.
_FETCH_TIMEOUT = 0.25
_FETCH_TIMEOUT_PRESSED = 0.02


class BatchConsumer(Consumer):
    """Delivers record batches, each with the epoch of its fetch.

    Each assignment makes an epoch.  Its partitions are recovered and sought (:meth:`perform_seek`) before
    anything of them is fetched; a revoke and a stop end it.
    """

    _thread: BatchConsumerThread

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self.epoch = Epoch()
        self.epoch.stop()
        super().__init__(*args, **kwargs)

    def _new_consumer_thread(self) -> BatchConsumerThread:
        return BatchConsumerThread(self, loop=self.loop, beacon=self.beacon)

    @property
    def runtime(self) -> ConsumerHost:
        """The service."""
        return cast(ConsumerHost, cast(Any, self.app).runtime)

    # -- epochs -----------------------------------------------------------------------------------------

    def stop_flow(self) -> None:
        """Stop taking batches (a revoke or a shutdown begins)."""
        self.epoch.stop()
        super().stop_flow()

    async def wait_empty(self) -> None:
        """Await what is in flight, commit it, and give up the rest: the end of an epoch."""
        epoch = self.epoch
        epoch.stop()
        await self.runtime.drain(epoch)
        try:
            async with asyncio.timeout(self.runtime.settings.session_timeout_seconds / 2):
                await self.maybe_wait_for_commit_to_finish()
                await self._commit_epoch(epoch)
        except TimeoutError:
            self.runtime.log.warning("the last commit was not answered; its records will be read again")
        epoch.drop()
        self._unacked_messages.clear()

    async def on_partitions_assigned(self, assigned: set[TP], generation_id: int = 0) -> None:
        """Begin the epoch of the new assignment; recovery lets the records flow again."""
        self.stop_flow()
        self._renew_epoch()
        self.runtime.on_assigned(assigned)
        await super().on_partitions_assigned(assigned, generation_id)

    def _renew_epoch(self) -> Epoch:
        self.epoch.drop()
        self.epoch = Epoch()
        return self.epoch

    async def perform_seek(self) -> None:
        """Recover state, then seek every stream partition to its commit or, without one, to where it is reset;
        or to the mark of a view that is behind.

        Faust leaves partitions without a commit where the fetcher happens to stand, which skips records.

        Raises:
            EpochOver: the partitions were revoked meanwhile; nothing of them was touched.
            ConfigurationError: a view cannot be used.  ConsistencyError:
            a commit or a high-water mark lies beyond the end of its partition, state could not
                be read, or the broker does not answer.
        """
        epoch = self.epoch
        epoch.check()
        if epoch.partitions:
            self.stop_flow()
            epoch = self._renew_epoch()
        try:
            assigned = self.assignment()
            changelogs = {tp for tp in assigned if self._is_changelog_tp(tp)}
            await self.runtime.recover(epoch, changelogs)
            epoch.check()
            marks = await self.runtime.view_marks(epoch, assigned - changelogs)
            epoch.check()
            async with asyncio.timeout(0.9 * self.runtime.settings.request_timeout_seconds):
                partitions = await self._find_starts(assigned - changelogs, marks)
                epoch.check()
                await self._thread.seek_all({tp: progress.start for tp, progress in partitions.items()})
        except EpochOver:
            raise
        except (ConfigurationError, ConsistencyError, KafkaError, TimeoutError) as exc:
            # Partitions that are gone while they are asked for are no failure.
            epoch.check()
            failure = exc
            if isinstance(exc, TimeoutError):
                failure = ConsistencyError("positions could not be read in time; restart the worker")
            self.runtime.fail(failure)
            raise failure from exc
        epoch.check()
        epoch.partitions.update(partitions)
        self.runtime.on_sought(epoch)

    async def _find_starts(self, tps: set[TP], marks: Mapping[TP, int]) -> dict[TP, Progress]:
        known = await self._thread.offsets(tps)
        reset_to_end = self.runtime.settings.auto_offset_reset == "latest"
        partitions: dict[TP, Progress] = {}
        for tp, offsets in known.items():
            self.runtime.check_end(tp, offsets)
            start = offsets.committed
            if start is None:
                start = offsets.end if reset_to_end else offsets.beginning
            if tp in marks:
                start = min(start, max(marks[tp], offsets.beginning))
            partitions[tp] = Progress.at(start, offsets.end, offsets.committed)
        return partitions

    # -- delivery ---------------------------------------------------------------------------------------

    async def _drain_messages(self, fetcher: Any) -> None:
        """Hand batches to the conductor until the fetcher or the consumer is stopped.

        Faust's own loop writes a read offset after delivering, so a delivery that outlives a seek makes
        it drop the records fetched after the seek.  Positions are kept where the fetch happens instead.
        """
        try:
            while not (self.should_stop or fetcher.should_stop):
                async for _tp, message in self.getmany(timeout=_FETCH_TIMEOUT):
                    await self.wait_first(self.callback(message), self.suspend_flow.wait())
                await asyncio.sleep(0)
        except ConsumerStoppedError:
            if not self.app.should_stop:
                raise
        except asyncio.CancelledError:
            if not self.app.should_stop:
                raise
        except Exception as exc:
            self.runtime.fail(exc)
            raise

    async def getmany(self, timeout: float) -> AsyncIterator[tuple[TP, ConsumerMessage]]:
        """Fetch, cut into batches and yield them, as long as the epoch of the fetch lasts."""
        epoch = self.epoch
        fetched = await self._fetch(epoch, timeout)
        for tp, fetch in fetched.items():
            if not epoch.running:
                return
            progress = epoch.partitions[tp]
            await check_start(tp, progress.fetched, fetch, self._thread, epoch, self.runtime.reset_hint)
            if not fetch.records and epoch.running:
                progress.fetched = fetch.end
        for tp, batch in self.scheduler.iterate({tp: fetch.records for tp, fetch in fetched.items()}):
            if not (self.flow_active and epoch.running):
                return
            progress = epoch.partitions[tp]
            batch.epoch = epoch
            batch.position, progress.position = progress.position, batch.next_position
            message = self._to_message(tp, batch)
            epoch.ledger.deliver(tp, message, batch.size, batch.records[0].timestamp / 1000)
            last = batch.offset == fetched[tp].records[-1].offset
            progress.fetched = fetched[tp].end if last else batch.next_position
            yield tp, message

    def _to_message(self, tp: TP, record: Any) -> ConsumerMessage:
        """Return the message whose value is the batch itself, and whose offset is the batch's last."""
        return ConsumerMessage(
            record.topic,
            record.partition,
            record.offset,
            record.timestamp / 1000,
            record.timestamp_type,
            None,
            None,
            record,
            None,
            0,
            0,
            tp,
            generation_id=self.app.consumer_generation_id,
        )

    async def _fetch(self, epoch: Epoch, timeout: float) -> dict[TP, Fetch]:
        if not self.flow_active:
            await self.wait(self.can_resume_flow.wait())
            return {}
        active = {tp for tp in self._get_active_partitions() if tp in epoch.partitions}
        wanted = self._with_room(epoch, active)
        if not wanted:
            # An empty set means "all" to aiokafka, so do not even ask.
            await epoch.ledger.freed(timeout=0.5)
            return {}
        pressed = len(wanted) < len(active)
        return await self._thread.fetch(wanted, _FETCH_TIMEOUT_PRESSED if pressed else timeout, epoch)

    def _with_room(self, epoch: Epoch, active: set[TP]) -> set[TP]:
        """Return the partitions that may have more in flight: by batches, and by bytes per topic.

        A topic's room is its own, or a stage that waits would hold up the others.  One partition takes little
        more than half of it, for one that waits must not hold up the other partitions either.  Where tenants
        are served in turn it is larger, since who waits behind another is seen only in what was read; it is
        counted from the commit on, or what is done behind a record that waits would be without bound.
        """
        settings, ledger = self.runtime.settings, epoch.ledger
        sizes = {tp: ledger.outstanding_bytes(tp) for tp in active}
        topics: Counter[str] = Counter()
        for tp, size in sizes.items():
            topics[tp.topic] += size
        in_turn = {topic for topic in topics if self.runtime.serves_in_turn(topic)}

        def has_room(tp: TP) -> bool:
            if tp.topic in in_turn:
                most, few = settings.ahead_bytes, epoch.partitions[tp].ahead < settings.ahead_records
            else:
                most, few = settings.unacked_bytes, ledger.outstanding(tp) < settings.batches_in_flight
            return few and topics[tp.topic] < most and sizes[tp] < most / 2

        return {tp for tp in active if has_room(tp)}

    # -- acks and commits -------------------------------------------------------------------------------

    def ack(self, message: Any) -> bool:
        """Mark a batch as done: its offset may be committed once all before it are done."""
        with ack_lock:
            if message.acked:
                return False
            message.acked = True
        self._unacked_messages.discard(message)
        self.epoch.ledger.notify()
        return True

    def discard(self, message: Any) -> None:
        """Take a batch that will not be processed out of what shutdown waits for; it is not acked."""
        self._unacked_messages.discard(message)

    def end_of(self, tp: TP) -> int | None:
        """Return the end of the partition as of its last fetch, or ``None`` before the first."""
        end: int | None = self.highwater(tp)
        return end

    async def force_commit(self, topics: Any = None, start_new_transaction: bool = True) -> bool:
        """Commit the longest acked prefix of every partition; where all is acked, all that was fetched."""
        return await self._commit_epoch(self.epoch)

    async def _commit_epoch(self, epoch: Epoch) -> bool:
        ready = epoch.committable()
        if not ready or not await self._ask_to_commit(ready):
            return False
        epoch.committed(ready)
        return True

    async def _ask_to_commit(self, ready: Mapping[TP, int]) -> bool:
        try:
            return bool(await self._thread.commit(ready))
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                raise
            # Nobody cancelled us: the consumer's thread ends, and with it what it was asked for.
            self.runtime.log.warning("a commit was given up as the consumer ended; its records are read again")
            return False

    async def check_errors(self) -> None:
        """Raise what has stopped the group's coordination."""
        await self._thread.check_errors()

    async def verify_all_partitions_active(self) -> None:
        """Do nothing: Faust's check knows single records only; health and lag are watched elsewhere."""


class BatchTransport(Transport):
    """Faust's aiokafka transport, with :class:`BatchConsumer`."""

    Consumer = BatchConsumer
