"""How long the demo stays."""

from __future__ import annotations

import os
import pty
import signal
from typing import cast

import pytest

from deploy.local.demo_parts import Parts
from deploy.local.demo_session import _stay


class Running:
    """Parts that run; ``then`` happens when they have been looked at a few times."""

    def __init__(self, fd: int) -> None:
        self.looks, self._fd = 0, fd

    def check(self) -> None:
        self.looks += 1
        if self.looks == 2:
            os.close(self._fd)


@pytest.mark.timeout(60)
def test_it_ends_when_its_terminal_closes_and_nobody_passes_the_signal_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """``ssh -t HOST make demo``: only make, the first process of the session, is sent SIGHUP."""
    ours, theirs = pty.openpty()
    parts = Running(ours)
    with os.fdopen(theirs) as terminal:
        monkeypatch.setattr("sys.stdin", terminal)
        _stay(cast(Parts, parts))
    assert parts.looks == 2


def test_without_a_terminal_it_stays_until_a_signal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a pipe that ended nothing is concluded: ``make demo STAY=1 </dev/null`` is meant."""
    reading, writing = os.pipe()
    os.close(writing)
    parts = Running(os.dup(reading))
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with os.fdopen(reading) as pipe:
            monkeypatch.setattr("sys.stdin", pipe)
            monkeypatch.setattr(parts, "check", lambda: signal.raise_signal(signal.SIGINT))
            _stay(cast(Parts, parts))
    finally:
        signal.signal(signal.SIGINT, before)
