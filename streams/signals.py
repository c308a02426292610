"""Which signals ask a process of ours to stop in order."""

from __future__ import annotations

import signal

_ASKING = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


def stop_signals() -> list[signal.Signals]:
    """Return SIGTERM, SIGINT and SIGHUP (a terminal that closes), but for those that ``nohup`` ignores."""
    return [number for number in _ASKING if signal.getsignal(number) is not signal.SIG_IGN]
