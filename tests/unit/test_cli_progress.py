"""What takes long says at a terminal what it is at, and nowhere else."""

from __future__ import annotations

import io
import threading

import pytest

from streams.cli import progress


class Screen(io.StringIO):
    """A terminal that may be waited for."""

    def __init__(self) -> None:
        super().__init__()
        self._written = threading.Condition()

    def isatty(self) -> bool:
        return True

    def write(self, text: str) -> int:
        with self._written:
            written = super().write(text)
            self._written.notify_all()
        return written

    def shows(self, text: str) -> bool:
        with self._written:
            return self._written.wait_for(lambda: text in self.getvalue(), timeout=60)


def screen_of(monkeypatch: pytest.MonkeyPatch) -> Screen:
    """Make stderr a terminal; in the test itself, for pytest sets it anew before."""
    made = Screen()
    monkeypatch.setattr("sys.stderr", made)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setattr(progress, "AFTER_SECONDS", 0.0)
    return made


def test_what_takes_long_says_what_it_is_at_and_how_far(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    screen = screen_of(monkeypatch)
    with progress.showing("exporting [b]\x1b[31m") as tell:
        assert screen.shows("exporting [b]\\x1b[31m …"), "no markup, no codes"
        tell("12 of 40 conversations")
        assert screen.shows("12 of 40 conversations")
    assert screen.getvalue().endswith("\x1b[2K") and not capsys.readouterr().out, "the line is gone in the end"


def test_where_no_terminal_is_nothing_is_shown(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(progress, "AFTER_SECONDS", 0.0)
    with progress.showing("exporting") as tell:
        tell("1 of 2 conversations")
    assert capsys.readouterr() == ("", "")
