"""The ledger of delivered batches: what may be committed is the longest acked prefix of each partition."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Mapping
from typing import Generic, Protocol, TypeVar


class Delivered(Protocol):
    """A delivered message: its last offset, and whether it was acked."""

    @property
    def offset(self) -> int: ...
    @property
    def acked(self) -> bool: ...


class TopicPartition(Protocol):
    """Kafka's (topic, partition)."""

    @property
    def topic(self) -> str: ...
    @property
    def partition(self) -> int: ...


TP = TypeVar("TP", bound=TopicPartition)


class DeliveryLedger(Generic[TP]):
    """Tracks delivered batches by the message objects themselves.

    Offsets need not be consecutive, so a gap between batches is no gap in the ledger.  Reading what is
    committable changes nothing; only :meth:`settle`, after a commit that succeeded, takes entries out.
    A failed commit therefore needs no undoing.
    """

    def __init__(self) -> None:
        self._delivered: dict[TP, deque[tuple[Delivered, int, float]]] = {}
        self._freed = asyncio.Event()
        self._freed.set()

    def deliver(self, tp: TP, message: Delivered, size: int = 0, arrived: float = 0.0) -> None:
        """Enter a batch of ``size`` bytes, whose first record ``arrived`` then, in the order of delivery."""
        self._delivered.setdefault(tp, deque()).append((message, size, arrived))

    def committable(self) -> dict[TP, int]:
        """Return, per partition, the offset after the longest acked prefix (absent if there is none)."""
        offsets: dict[TP, int] = {}
        for tp, messages in self._delivered.items():
            for message, _, _ in messages:
                if not message.acked:
                    break
                offsets[tp] = message.offset + 1
        return offsets

    def settle(self, committed: Mapping[TP, int]) -> None:
        """Take out the batches below the committed offsets."""
        for tp, offset in committed.items():
            messages = self._delivered.get(tp)
            while messages and messages[0][0].acked and messages[0][0].offset < offset:
                messages.popleft()

    def outstanding(self, tp: TP) -> int:
        """Return how many batches of ``tp`` were delivered and not acked."""
        messages = self._delivered.get(tp)
        return sum(not message.acked for message, _, _ in messages) if messages else 0

    def oldest(self, tp: TP) -> float | None:
        """Return when the first record of ``tp`` arrived that was delivered and not acked."""
        return next((arrived for message, _, arrived in self._delivered.get(tp, ()) if not message.acked), None)

    def outstanding_bytes(self, tp: TP) -> int:
        """Return the size of the batches of ``tp`` that were delivered and not acked."""
        messages = self._delivered.get(tp)
        return sum(size for message, size, _ in messages if not message.acked) if messages else 0

    def clear(self) -> None:
        """Drop every entry: what was delivered will be delivered again."""
        self._delivered.clear()
        self.notify()

    def notify(self) -> None:
        """Wake who waits for room: a batch was acked or dropped."""
        self._freed.set()

    async def freed(self, timeout: float) -> None:
        """Return when a batch was acked or dropped since the last call, or after ``timeout`` seconds."""
        self._freed.clear()
        try:
            async with asyncio.timeout(timeout):
                await self._freed.wait()
        except TimeoutError:
            return
