"""The consumer: batches instead of records, epochs instead of read offsets, a ledger instead of ack lists.

Subclasses of Faust's consumer and its transport; its thread is in :mod:`streams.runtime.consumer_thread`.
What they replace, and why, is in :mod:`streams.runtime` (rules 1, 4, 5, 6 and 10); what of Faust they lean on
is in :mod:`streams.runtime.faust_internals`.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any

from aiokafka.errors import KafkaError

from models.errors import ConsistencyError
from streams.runtime.consumer_thread import BatchConsumerThread, Fetch
from streams.runtime.continuity import check_start, read_to_end
from streams.runtime.faust_internals import (
    TP,
    Consumer,
    ConsumerMessage,
    ConsumerStoppedError,
    Transport,
    ack_lock,
)
from streams.runtime.ledger import DeliveryLedger

if TYPE_CHECKING:
    from streams.runtime.faust_app import ServiceApp

#: How long one fetch may wait for data while every partition has room, and while some have not (those may
#: get room at any moment, and their records may be in memory already).  A seek waits for the fetch before it.
_FETCH_TIMEOUT = 0.25
_FETCH_TIMEOUT_PRESSED = 0.02


class BatchConsumer(Consumer):
    """Delivers record batches, each stamped with the epoch of its fetch.

    ``epoch`` grows with every seek, revoke and assignment.  ``ledger`` holds what was delivered in this
    epoch.  ``positions`` says, per partition, up to where everything was delivered; a partition that was
    not sought yet has none, and nothing of it is fetched.
    """

    app: ServiceApp
    _thread: BatchConsumerThread

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self.epoch = 0
        self.ledger: DeliveryLedger[TP] = DeliveryLedger()
        self.positions: dict[TP, int] = {}
        self._ends: dict[TP, int] = {}
        #: Where partitions ended when they were sought: earlier epochs have read no further.
        self.ends_at_seek: dict[TP, int] = {}
        super().__init__(*args, **kwargs)

    def _new_consumer_thread(self) -> BatchConsumerThread:
        return BatchConsumerThread(self, loop=self.loop, beacon=self.beacon)

    # -- epochs -----------------------------------------------------------------------------------------

    def new_epoch(self) -> None:
        """Start a new epoch: no batch of an older one will be started."""
        self.epoch += 1
        self.ledger.notify()

    def stop_flow(self) -> None:
        """Stop taking batches (a revoke or a shutdown begins)."""
        self.new_epoch()
        super().stop_flow()

    async def wait_empty(self) -> None:
        """Await what is in flight, commit it, and give up the rest: the end of an epoch."""
        await self.app.runtime.drain()
        try:
            async with asyncio.timeout(self.app.runtime.settings.session_timeout_seconds / 2):
                await self.maybe_wait_for_commit_to_finish()
                await self.force_commit()
        except TimeoutError:
            self.app.runtime.log.warning("the last commit was not answered; its records will be read again")
        self.app.runtime.abandon()
        self._unacked_messages.clear()
        self._forget()

    def _forget(self) -> None:
        """Forget what was delivered, and up to where: a position without its batches would be committed."""
        self.ledger.forget_all()
        self.positions.clear()
        self._ends.clear()

    async def on_partitions_assigned(self, assigned: set[TP], generation_id: int = 0) -> None:
        """Begin the new assignment's epoch; recovery lets the records flow again."""
        self.stop_flow()
        self.app.runtime.abandon()
        self._forget()
        self.app.runtime.on_assigned(assigned)
        await super().on_partitions_assigned(assigned, generation_id)

    async def perform_seek(self) -> None:
        """Seek every stream partition to its commit or, without one, to the configured reset position.

        Faust leaves partitions without a commit where the fetcher happens to stand, which skips records.

        Raises:
            ConsistencyError: a commit or a high-water mark lies beyond the end of its partition, or the broker
                does not answer (Faust would take that for success).
        """
        runtime = self.app.runtime
        try:
            async with asyncio.timeout(0.9 * runtime.settings.request_timeout_seconds):
                changelogs = {tp for tp in self.assignment() if self._is_changelog_tp(tp)}
                await read_to_end(changelogs, self._thread, runtime)
                # State must not move on while it is compared with where its sources end.  Nor may anything
                # be delivered from here on: recovery clears Faust's queues before it resumes the flow.
                self.stop_flow()
                self._forget()
                positions = await self._start_positions(self.assignment() - changelogs)
                # What follows in the changelogs is our own.
                self.pause_partitions(changelogs)
                await self._thread.seek_all(positions, pause=changelogs)
        except (ConsistencyError, KafkaError) as exc:
            runtime.fail(exc)
            raise
        except TimeoutError as exc:
            failure = ConsistencyError("state or positions could not be read in time; restart the worker")
            runtime.fail(failure)
            raise failure from exc
        self.positions = dict(positions)
        self._ends = dict(positions)
        runtime.abandon()
        runtime.on_sought(positions)

    async def _start_positions(self, tps: set[TP]) -> dict[TP, int]:
        known = await self._thread.offsets(tps)
        reset_to_end = self.app.runtime.settings.auto_offset_reset == "latest"
        positions: dict[TP, int] = {}
        for tp, offsets in known.items():
            self.app.runtime.check_end(tp, offsets)
            self.ends_at_seek[tp] = offsets.end
            if offsets.committed is not None:
                positions[tp] = offsets.committed
                self._committed_offset[tp] = offsets.committed
            else:
                positions[tp] = offsets.end if reset_to_end else offsets.beginning
        return positions

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
            self.app.runtime.fail(exc)
            raise

    async def getmany(self, timeout: float) -> AsyncIterator[tuple[TP, ConsumerMessage]]:
        """Fetch, cut into batches and yield them, as long as the epoch of the fetch lasts."""
        epoch = self.epoch
        fetched = await self._fetch(timeout)
        if not self.flow_active or self.epoch != epoch:
            return
        starts = {tp: fetch.start for tp, fetch in fetched.items()}
        for tp, fetch in fetched.items():
            if tp in self.positions:
                await check_start(tp, self.positions[tp], fetch, self._thread, self.app.runtime.reset_hint)
                if not fetch.records:
                    self.positions[tp] = fetch.end
        for tp, batch in self.scheduler.iterate({tp: fetch.records for tp, fetch in fetched.items()}):
            if not self.flow_active or self.epoch != epoch:
                return
            batch.epoch = epoch
            message = self._to_message(tp, batch)
            if tp in self.positions:
                batch.position, self._ends[tp] = self._ends[tp], batch.next_position
                self.ledger.deliver(tp, message)
                last = batch.offset == fetched[tp].records[-1].offset
                self.positions[tp] = fetched[tp].end if last else batch.next_position
            else:
                start, starts[tp] = starts[tp], batch.next_position
                batch.position = batch.first_offset if start is None else start
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

    async def _fetch(self, timeout: float) -> dict[TP, Fetch]:
        if not self.flow_active:
            await self.wait(self.can_resume_flow.wait())
            return {}
        active = {
            tp for tp in self._get_active_partitions() if self._is_changelog_tp(tp) or tp in self.positions
        }
        limit = self.app.runtime.settings.batches_in_flight
        wanted = {tp for tp in active if self.ledger.outstanding(tp) < limit}
        if not wanted:
            # An empty set means "all" to aiokafka, so do not even ask.
            await self.ledger.freed(timeout=0.5)
            return {}
        pressed = len(wanted) < len(active)
        fetched = await self._thread.fetch(wanted, _FETCH_TIMEOUT_PRESSED if pressed else timeout, self.epoch)
        return {TP(tp.topic, tp.partition): fetch for tp, fetch in fetched.items()}

    # -- acks and commits -------------------------------------------------------------------------------

    def ack(self, message: Any) -> bool:
        """Mark a batch as done: its offset may be committed once all before it are done."""
        with ack_lock:
            if message.acked:
                return False
            message.acked = True
        self._unacked_messages.discard(message)
        self.ledger.notify()
        return True

    def discard(self, message: Any) -> None:
        """Take a batch that will not be processed out of what shutdown waits for; it is not acked."""
        self._unacked_messages.discard(message)

    def committed(self, tp: TP) -> int | None:
        """Return the last offset that was committed, or ``None``."""
        offset: int | None = self._committed_offset[tp]
        return offset

    def end_of(self, tp: TP) -> int | None:
        """Return the end of the partition as of its last fetch, or ``None`` before the first."""
        end: int | None = self.highwater(tp)
        return end

    async def force_commit(self, topics: Any = None, start_new_transaction: bool = True) -> bool:
        """Commit the longest acked prefix of every partition; where all is acked, the position itself."""
        ready = self.ledger.committable()
        for tp, position in self.positions.items():
            if not self.ledger.outstanding(tp):
                ready[tp] = position
        ready = {tp: offset for tp, offset in ready.items() if offset != self._committed_offset.get(tp)}
        if not ready:
            return False
        if not await self._thread.commit(ready):
            return False
        self.ledger.settle(ready)
        self._committed_offset.update(ready)
        return True

    async def check_errors(self) -> None:
        """Raise what has stopped the group's coordination."""
        await self._thread.check_errors()

    async def verify_all_partitions_active(self) -> None:
        """Do nothing: Faust's check knows single records only; health and lag are watched elsewhere."""


class BatchTransport(Transport):
    """Faust's aiokafka transport, with :class:`BatchConsumer`."""

    Consumer = BatchConsumer
