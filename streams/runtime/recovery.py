"""Recovery: changelogs are read to their ends, in order, before anything is delivered (rules 5 to 7).

Faust's own recovery counts what it drops as read, takes a timeout for success and cannot fill a hole; it is
given nothing to do (:mod:`streams.runtime.faust_recovery`).  Here a consumer without a group reads the
changelogs of the partitions that this worker has, from where it knows them to where they end, in batches that
let the event loop have its turn.  A large state may take long; what ends a recovery is that it does not go
on.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from contextlib import AsyncExitStack
from typing import Any

from aiokafka.errors import KafkaError

from models.errors import ConsistencyError
from streams.clients import kafka
from streams.config.settings import Settings
from streams.runtime.epoch import Epoch
from streams.runtime.faust_internals import TP, ensure_aiokafka_TP
from streams.runtime.publisher import Publisher
from streams.runtime.stored import StoredPartition

#: Records that are taken in before the event loop has its turn: 20 ms or so.
_BATCH_RECORDS = 10_000

#: Records that are written again at a time.
_REPAIR_RECORDS = 1000

#: How long one poll may wait, and so how soon it is noticed that the epoch is over.
_POLL_SECONDS = 0.25


async def recover(
    parts: Mapping[TP, StoredPartition], epoch: Epoch, settings: Settings, client_id: str, reset_hint: str
) -> int:
    """Read each changelog partition from where ``parts`` knows it to its present end; return how many records.

    Raises:
        EpochOver: the partitions are no longer ours to recover.  ConsistencyError: nothing came for
        ``request_timeout_seconds``, or a changelog ends before what was read.
    """
    if not parts:
        return 0
    reader = _Reader(parts, epoch, settings.request_timeout_seconds, reset_hint)
    try:
        async with AsyncExitStack() as stack:
            async with asyncio.timeout(settings.request_timeout_seconds):
                consumer = _consumer(settings, client_id)
                stack.push_async_callback(_close, consumer)
                await consumer.start()
                epoch.check()
                left = await reader.begin(consumer)
            return await reader.read(consumer, left)
    except (KafkaError, TimeoutError) as exc:
        epoch.check()
        raise ConsistencyError(
            f"state could not be read from its changelogs ({exc!r}); restart the worker"
        ) from exc


class _Reader:
    def __init__(
        self, parts: Mapping[TP, StoredPartition], epoch: Epoch, patience: float, reset_hint: str
    ) -> None:
        self._parts = {ensure_aiokafka_TP(tp): part for tp, part in parts.items()}
        self._epoch = epoch
        self._patience = patience
        self._reset_hint = reset_hint

    async def begin(self, consumer: Any) -> dict[Any, int]:
        """Stand where each partition was left; return the ends of those that go on."""
        tps = list(self._parts)
        consumer.assign(tps)
        beginnings = await consumer.beginning_offsets(tps)
        ends: dict[Any, int] = await consumer.end_offsets(tps)
        self._epoch.check()
        for tp, part in self._parts.items():
            part.read_to = max(part.read_to, beginnings[tp])
            if part.read_to > ends[tp]:
                raise ConsistencyError(
                    f"{_name(tp)} was read up to offset {part.read_to}, but ends at {ends[tp]}: the changelog "
                    f"was deleted and made again. {self._reset_hint}"
                )
            consumer.seek(tp, part.read_to)
        return {tp: end for tp, end in ends.items() if self._parts[tp].read_to < end}

    def _fold(self, tp: Any, batch: list[Any]) -> None:
        try:
            self._parts[tp].fold(batch)
        except ConsistencyError as exc:
            raise ConsistencyError(f"{_name(tp)}: {exc}. {self._reset_hint}") from exc

    async def read(self, consumer: Any, left: dict[Any, int]) -> int:
        """Read until nothing is left; return how many records that were."""
        records, moved_at = 0, time.monotonic()
        while left:
            batches = await consumer.getmany(*left, timeout_ms=_POLL_SECONDS * 1000, max_records=_BATCH_RECORDS)
            # Buffered records are handed over without a pause; heartbeats and the watchdog need one.
            await asyncio.sleep(0)
            self._epoch.check()
            for tp, batch in batches.items():
                self._fold(tp, batch)
                records += len(batch)
                await self._parts[tp].room()
                self._epoch.check()
            for tp, end in list(left.items()):
                async with asyncio.timeout(self._patience):
                    position = await consumer.position(tp)
                self._epoch.check()
                if position > self._parts[tp].read_to:
                    # Beyond the last record, too: what ends a transaction takes an offset.
                    self._parts[tp].read_to, moved_at = position, time.monotonic()
                if position >= end:
                    del left[tp]
            if time.monotonic() - moved_at > self._patience:
                raise ConsistencyError(
                    f"{_name(next(iter(left)))} is not read to its end, and nothing more came for "
                    f"{self._patience:g} s ({len(left)} changelog partitions wait). Restart the worker"
                )
        return records


def _name(tp: Any) -> str:
    return f"{tp.topic}-{tp.partition}"


def _consumer(settings: Settings, client_id: str) -> Any:
    return kafka.make_consumer(
        settings,
        client_id,
        group_id=None,
        # A position that the broker does not have is an error here, not a reason to begin elsewhere.
        auto_offset_reset="none",
        fetch_max_wait_ms=settings.fetch_max_wait_ms,
        max_partition_fetch_bytes=4 << 20,
        request_timeout_ms=int(settings.request_timeout_seconds * 1000),
        retry_backoff_ms=100,
    )


#: Consumers that are still being stopped, each by a task of its own.
_stopping: set[asyncio.Task[None]] = set()


async def _close(consumer: Any) -> None:
    """Stop ``consumer``, without waiting for it for long.

    In a task that is not cancelled: while the broker is away the client waits for it, and swallows being
    cancelled, so that a time-out around it would never end.
    """
    stopping = asyncio.ensure_future(consumer.stop())
    _stopping.add(stopping)
    stopping.add_done_callback(_stopped)
    await asyncio.wait({stopping}, timeout=_POLL_SECONDS * 4)


def _stopped(task: asyncio.Task[None]) -> None:
    _stopping.discard(task)
    if not task.cancelled():
        task.exception()  # what a client says that nobody needs any more is of no interest


async def repair(
    parts: Mapping[TP, StoredPartition], epoch: Epoch, changelog: str, publisher: Publisher
) -> int:
    """Write the values again behind which the changelog holds an older one; return how many (rule 7).

    Compaction keeps what stands last.  Returns when they are confirmed.

    Raises:
        EpochOver: the partitions are no longer ours to repair.
        ConsistencyError: they could not be written.
    """
    repaired = 0
    for tp, part in parts.items():
        keys = list(part.repairs)
        for first in range(0, len(keys), _REPAIR_RECORDS):
            chunk = keys[first : first + _REPAIR_RECORDS]
            packed = publisher.pack_values(changelog, tp.partition, {key: part.values[key] for key in chunk})
            offsets = await publisher.confirm(await publisher.submit(packed))
            epoch.check()
            for (_, _, builder), offset in zip(packed, offsets, strict=True):
                part.wrote(offset, builder.record_count())
            part.repairs.difference_update(chunk)
            repaired += len(chunk)
    return repaired
