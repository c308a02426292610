"""Signals that ask a process of ours to stop in order."""

from __future__ import annotations

import signal


def stop_signals() -> list[signal.Signals]:
    """Return SIGTERM, SIGINT and, unless ``nohup`` has it ignored, SIGHUP (a terminal that closes)."""
    asking = [signal.SIGTERM, signal.SIGINT]
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
        asking.append(signal.SIGHUP)
    return asking
