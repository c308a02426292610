"""How many turns a ``serve`` drives at once: beyond it none begins, so that those that run come to an end."""

from __future__ import annotations

from streams.telemetry.metrics import Metrics


class NoRoom(Exception):
    """So many turns run here as may; nothing of the one that was to begin is written."""


class TurnLimiter:
    """Limit of ``most`` turns at once, counted in ``metrics``."""

    def __init__(self, most: int, metrics: Metrics) -> None:
        self.most = most
        self.metrics = metrics
        self._running = 0

    @property
    def is_full(self) -> bool:
        """Tell whether no turn may begin that nobody has heard yet."""
        return self._running >= self.most

    def enter(self) -> None:
        """A turn begins.  One that was heard already goes on even where no other may begin."""
        self._running += 1
        self.metrics.chat_turns_running.set(self._running)

    def leave(self) -> None:
        """A turn has ended, or has not begun."""
        self._running -= 1
        self.metrics.chat_turns_running.set(self._running)

    def refuse(self) -> NoRoom:
        """Count a turn that finds no room; return what says so."""
        self.metrics.chat_turns_refused_total.inc()
        return NoRoom(f"{self._running} turns run at this server, which has room for {self.most}")
