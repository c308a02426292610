"""A lane that serves tenants in turn: what one of them has waiting does not hold up the others.

Only the order of a tenant's records, and of a key's, holds here, and turns of several tenants are at work at
once (:mod:`streams.runtime.turns`); all the rest is as in any lane.  What turns decide is written in the order
in which they end.  A delivered batch is acked when all its records are done; so what may be committed is, as
everywhere, the longest acked prefix, and what was done behind it is read again after a crash, and known by its
marks.  How far ahead of the commit records are taken is bounded (``ahead_records``, ``ahead_bytes``).
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

from streams.clients.records import RecordBatch, SourceRecord
from streams.runtime.lane import Lane
from streams.runtime.stepping import Prepared, Stepper
from streams.runtime.turns import Turn, Turns


class _Delivery:
    """A delivered batch, and how many of its records are not done."""

    __slots__ = ("event", "left")

    def __init__(self, event: Any) -> None:
        self.event = event
        self.left = len(event.value)


class _Item(NamedTuple):
    record: SourceRecord
    delivery: _Delivery


class _Share:
    """Records of a turn, in place of the event of a batch: they are acked together."""

    __slots__ = ("deliveries",)

    def __init__(self, turn: Turn[_Item]) -> None:
        self.deliveries = Counter(item.delivery for item in turn.items)

    def ack(self) -> None:
        for delivery, records in self.deliveries.items():
            delivery.left -= records
            if not delivery.left:
                delivery.event.ack()


class _Ended(NamedTuple):
    """A turn whose step is over."""

    turn: Turn[_Item]
    prepared: Prepared


class FairLane(Lane):
    """Drives one stage on one partition number during one epoch, tenant by tenant."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        assert self.stage.tenant_of is not None
        self._tenant_of = self.stage.tenant_of
        self._turns: Turns[_Item] = Turns(self.stage.batch_records, self.runtime.settings.step_bytes)
        self._steps: set[asyncio.Task[None]] = set()
        self._steppers: list[Stepper] = []  # those that have nothing to do
        self._dropped: set[_Delivery] = set()

    @property
    def busy(self) -> bool:
        """True while a step runs or a turn awaits its confirmation."""
        return bool(self._steps) or self.unconfirmed

    def upcoming(self) -> RecordBatch | None:
        """Return a record that waits, if there is one."""
        item = self._turns.first()
        return super().upcoming() if item is None else self._batch([item])

    def close(self) -> None:
        """Give up everything that is not confirmed."""
        super().close()
        for step in self._steps:
            step.cancel()
        self._drop_waiting()

    def _drop(self, event: Any) -> None:
        if isinstance(event, _Ended):
            event = _Share(event.turn)
        if not isinstance(event, _Share):
            super()._drop(event)
            return
        for delivery in event.deliveries:
            self._drop_delivery(delivery)

    def _drop_delivery(self, delivery: _Delivery) -> None:
        if delivery not in self._dropped:
            self._dropped.add(delivery)
            super()._drop(delivery.event)

    def _drop_waiting(self) -> None:
        for item in self._turns.clear():
            self._drop_delivery(item.delivery)

    # -- the loop ---------------------------------------------------------------------------------------

    async def _handle(self, event: Any) -> None:
        if not isinstance(event, _Ended):
            await super()._handle(event)
            self._begin_turns()
            return
        self._turns.done(event.turn)
        self._begin_turns()
        await self._launch(event.prepared, _Share(event.turn))

    async def _on_batch(self, event: Any) -> None:
        """Have the batch's records wait for the turns of their tenants."""
        batch: RecordBatch = event.value
        await self._held_back(event)
        if not self.epoch.running:
            self._drop(event)
            return
        self._check_position(batch)
        delivery = _Delivery(event)
        for record in batch.records:
            size = len(record.value) if record.value else 0
            self._turns.put(self._tenant_of(record), record.key, _Item(record, delivery), size)
        batch.release()

    def _begin_turns(self) -> None:
        """Begin all turns that may begin; once the epoch is over, none."""
        if not self.epoch.running:
            self._drop_waiting()
        while (turn := self._turns.take()) is not None:
            batch = self._batch(turn.items)
            self._count_records(batch)
            step = asyncio.create_task(self._run(turn, batch), name=f"{self.stage.name}-{self.partition}")
            self._steps.add(step)
            step.add_done_callback(self._steps.discard)

    def _batch(self, items: Sequence[_Item]) -> RecordBatch:
        records = [item.record for item in items]
        return RecordBatch(records, epoch=self.epoch, source=self.stage.sources[0])

    async def _run(self, turn: Turn[_Item], batch: RecordBatch) -> None:
        try:
            stepper = self._steppers.pop() if self._steppers else Stepper(self)
            prepared = await stepper.run(batch)
            self._steppers.append(stepper)
            self._queue.put_nowait(_Ended(turn, prepared))
        except asyncio.CancelledError:
            raise
        except Exception as exc:  # noqa: BLE001 - the boundary: whatever it is, the worker must not go on
            self.runtime.fail(exc)
