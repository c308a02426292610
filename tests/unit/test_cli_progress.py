"""What takes long says at a terminal what it is at, and nowhere else."""

from __future__ import annotations

import io
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from streams import dead_letters
from streams.cli import export, main, progress


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


def test_who_is_answered_at_once_sees_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = screen_of(monkeypatch)
    monkeypatch.setattr(progress, "AFTER_SECONDS", 3600.0)
    with progress.showing("exporting") as tell:
        tell("1 of 1 conversation")
    assert "exporting" not in screen.getvalue()
    assert not [each for each in threading.enumerate() if isinstance(each, threading.Timer)]


def test_where_no_terminal_is_nothing_is_shown(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(progress, "AFTER_SECONDS", 0.0)
    with progress.showing("exporting") as tell:
        tell("1 of 2 conversations")
    assert capsys.readouterr() == ("", "")


def test_letters_that_are_sent_again_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = screen_of(monkeypatch)
    place = dead_letters.Place(0, 1)

    async def letters_of(*_: Any) -> list[Any]:
        return [SimpleNamespace(place=place, reason="invalid_json", retryable="")] * 3

    async def retry(_: Any, queue: Any, wanted: Any, tell: Any, *, keep_trace: bool) -> list[Any]:
        tell(2)
        assert screen.shows("2 of 3 letters sent again")
        return list(wanted)

    monkeypatch.setattr(dead_letters, "letters_of", letters_of)
    monkeypatch.setattr(dead_letters, "retry", retry)
    assert main.run(["dlq", "retry", "chat.messages.v1", "--all"]) == 0


def test_conversations_that_are_exported_are_counted(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    screen = screen_of(monkeypatch)

    async def export_conversation(_: Any, __: Any, tenant: str, name: str) -> list[Any]:
        assert screen.shows(f"{name[-1]} of 2 conversations")
        return [{"conversation_id": name}]

    monkeypatch.setattr(export, "export_conversation", export_conversation)
    assert main.run(["export", "c-0", "c-1", "--output", str(tmp_path / "out.jsonl")]) == 0
