"""An epoch: the time between an assignment of partitions and the revoke, seek or stop that ends it (rule 5).

It owns everything that must not outlive it: how far each partition was read, what was delivered, the lanes
with their unconfirmed state and timers.  A batch carries the epoch that it was fetched in.  Whatever awaits
something asks on its return whether its epoch is still :attr:`Epoch.running`.

An epoch ends in two steps.  After :meth:`Epoch.stop` nothing of it is begun, but what is in flight may still be
confirmed, acked and committed; after :meth:`Epoch.drop` there is nothing left to commit.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from streams.runtime.faust_internals import TP
from streams.runtime.ledger import DeliveryLedger


class EpochOver(Exception):
    """The epoch ended before the awaited result came; another one carries on."""


class Offsets(NamedTuple):
    """Offsets of one partition: log start, log end, and the group's commit (or none)."""

    beginning: int
    end: int
    committed: int | None


@dataclass(slots=True)
class Progress:
    """How far one partition has come in one epoch, as offsets of the next record.

    ``start``: where it was sought to when the epoch began.  ``end``: where its log ended then; no earlier epoch
    has read further.  ``fetched``: up to here the broker was read, with what ends transactions and with aborted
    records.  ``position``: up to here batches were delivered; the next one continues from it.  ``committed``:
    the group's commit, if there is one.
    """

    start: int
    end: int
    fetched: int
    position: int
    committed: int | None

    @property
    def ahead(self) -> int:
        """Offsets delivered beyond the commit."""
        return self.position - max(self.start, self.committed or 0)

    @classmethod
    def at(cls, start: int, end: int, committed: int | None) -> Progress:
        """Return the progress of a partition that was just sought to ``start``."""
        return cls(start, end, start, start, committed)


class EpochLane(Protocol):
    """Operations of an epoch on its lanes."""

    @property
    def busy(self) -> bool: ...
    @property
    def unconfirmed(self) -> bool: ...
    def put(self, event: Any) -> None: ...
    def close(self) -> None: ...


class Epoch:
    """Work of a worker on its partitions until they are revoked, sought or given up.

    ``partitions`` is empty until they are sought; nothing is fetched before.
    """

    def __init__(self) -> None:
        self.running = True
        self.partitions: dict[TP, Progress] = {}
        self.ledger: DeliveryLedger[TP] = DeliveryLedger()
        #: Set when less is in flight.
        self.settled = asyncio.Event()
        self._lanes: dict[tuple[str, int], EpochLane] = {}

    def check(self) -> None:
        """Raise if the epoch has ended.

        Raises:
            EpochOver: it has.
        """
        if not self.running:
            raise EpochOver

    def stop(self) -> None:
        """Begin nothing more; what is in flight may be finished."""
        self.running = False
        self.ledger.notify()

    def drop(self) -> None:
        """Give up what is not confirmed and forget the rest: nothing of this is acked or committed any more."""
        self.stop()
        for lane in self._lanes.values():
            lane.close()
        self._lanes.clear()
        self.partitions.clear()
        self.ledger.clear()

    def lane(self, stage: str, partition: int, make: Callable[[], EpochLane]) -> EpochLane:
        """Return the lane of a stage and partition number; ``make`` it on first use.

        Raises:
            EpochOver: there are no lanes any more.
        """
        lane = self._lanes.get((stage, partition))
        if lane is None:
            self.check()
            lane = self._lanes[stage, partition] = make()
        return lane

    async def drain(self, seconds: float, hopeless: Callable[[], bool]) -> bool:
        """Await what is in flight, for at most ``seconds`` or until ``hopeless``; say whether all came
        through."""
        deadline = time.monotonic() + seconds
        while (busy := any(lane.busy for lane in self._lanes.values())) and not hopeless():
            left = deadline - time.monotonic()
            if left <= 0:
                break
            self.settled.clear()
            try:
                async with asyncio.timeout(min(left, 0.05)):
                    await self.settled.wait()
            except TimeoutError:
                continue
        return not busy

    def busy_lanes(self) -> Iterator[tuple[str, EpochLane]]:
        """Yield the name and the lane of each stage and partition that something is in flight of."""
        for (stage, partition), lane in self._lanes.items():
            if lane.busy:
                yield f"{stage}-{partition}", lane

    def committable(self) -> dict[TP, int]:
        """Return, per partition, what may be committed and is not: up to where everything read is acked."""
        ready = self.ledger.committable()
        for tp, progress in self.partitions.items():
            if not self.ledger.outstanding(tp):
                ready[tp] = progress.fetched
        return {tp: offset for tp, offset in ready.items() if offset != self.partitions[tp].committed}

    def committed(self, offsets: dict[TP, int]) -> None:
        """Note what was committed, unless it was given up meanwhile."""
        self.ledger.settle(offsets)
        for tp, offset in offsets.items():
            if tp in self.partitions:
                self.partitions[tp].committed = offset
