"""Faust's recovery service with nothing to recover: it seeks, and lets the records flow.

The changelogs are read by :mod:`streams.runtime.recovery`, inside of ``perform_seek``.  What Faust's other
parts wait for is done here in Faust's order.
"""

from __future__ import annotations

from typing import Any

from streams.runtime.epoch import EpochOver
from streams.runtime.faust_internals import TP, RebalanceAgain, Recovery, Service, ServiceStopped, TableManager


class SeekingRecovery(Recovery):
    """After each assignment: seek (which recovers), resume the flow.  A new assignment cuts it short."""

    def add_active(self, table: Any, tp: TP) -> None:
        """Let Faust count no changelog partition: there is nothing that it must wait for."""

    def add_standby(self, table: Any, tp: TP) -> None:
        """See :meth:`add_active`."""

    @Service.task
    async def _restart_recovery(self) -> None:
        while not await self.wait_for_stopped(self.signal_recovery_start.wait()):
            self.signal_recovery_start.clear()
            try:
                await self._wait(self._seek_and_resume())
            except (RebalanceAgain, EpochOver):
                continue  # the next assignment has its own turn
            except ServiceStopped:
                break

    @Service.task
    async def _slurp_changelogs(self) -> None:
        """No changelog event ever comes this way."""

    async def _seek_and_resume(self) -> None:
        app: Any = self.app
        consumer = app.consumer
        await app.on_rebalance_complete.send()
        consumer.resume_partitions({tp for tp in consumer.assignment() if not self._is_changelog_tp(tp)})
        await consumer.perform_seek()
        self.completed.set()
        # This empties Faust's queues, so nothing may be delivered before.
        app.flow_control.resume()
        consumer.resume_flow()
        await app._fetcher.maybe_start()
        self.tables.on_actives_ready()
        self.tables.on_standbys_ready()
        app.on_rebalance_end()


class SeekingTables(TableManager):
    """Faust's table manager, with :class:`SeekingRecovery`."""

    async def on_start(self) -> None:
        """Begin at once: an app has all its tables before it starts.  Faust waits a second for more."""
        await self._update_channels()
        await self.recovery.start()

    @property
    def recovery(self) -> Recovery:
        """The recovery service; made on first use."""
        if self._recovery is None:
            self._recovery = SeekingRecovery(self.app, self, beacon=self.beacon, loop=self.loop)
        return self._recovery
