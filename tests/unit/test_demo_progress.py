"""The demo's line of progress at a terminal."""

from __future__ import annotations

import io
import sys

import pytest

from deploy.local.demo_report import Progress
from tests.waiting import eventually


class Terminal(io.StringIO):
    """Standard output that is a terminal."""

    def isatty(self) -> bool:
        return True


def test_a_step_that_takes_long_counts_its_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stdout", terminal)
    monkeypatch.setenv("COLUMNS", "20")
    progress = Progress()
    progress.update("sent 530/531 | windows 0 | facts 0")
    eventually(lambda: "\x1b[Ksent 530/531  (1 s)" in terminal.getvalue(), "a count within 20 columns", 20)
    progress.clear()
    assert terminal.getvalue().endswith("\r\x1b[K")
