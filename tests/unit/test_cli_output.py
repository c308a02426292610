"""Printing: nothing from outside controls the terminal, and a pipe gets lines it can work with."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.statements import Kind
from streams.cli import output


@given(st.text())
def test_printable_is_one_line_without_controls_and_can_be_written(text: str) -> None:
    shown = output.printable(text)
    assert not any(ord(c) < 32 or 127 <= ord(c) < 160 for c in shown)
    assert "\u202e" not in shown
    shown.encode()
    assert len(shown.splitlines()) <= 1


def test_printable_keeps_what_people_write() -> None:
    text = "Bacalhau à Brás 👍 “quotes” 日本語 עברית"
    assert output.printable(text) == text


def test_printable_shows_an_escape_sequence_instead_of_sending_it() -> None:
    assert output.printable("a\x1b[2Jb\nc\x9b1m") == r"a\x1b[2Jb\nc\x9b1m"


def test_a_piped_table_is_aligned_and_never_wrapped(capsys: pytest.CaptureFixture[str]) -> None:
    output.print_table(("name", "records"), [("chat.messages.v1", 7), ("x" * 200, 12_000)], right=(1,))
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 3
    assert lines[0] == "name".ljust(200) + "  records"
    assert lines[1] == "chat.messages.v1".ljust(200) + "        7"
    assert lines[2].endswith("    12000")


def test_a_table_without_rows_still_has_its_headers(capsys: pytest.CaptureFixture[str]) -> None:
    output.print_table(("name", "records"), [])
    assert capsys.readouterr().out == "name  records\n"


def test_a_table_at_a_terminal_shows_every_cell_without_reading_markup(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    terminal = Terminal()
    monkeypatch.setattr(sys, "stdout", terminal)
    monkeypatch.setenv("TERM", "xterm")
    output.print_table(("name", "said"), [("amara", "[red]likes[/red] blueberries\x1b[2J")])
    assert "[red]likes[/red]" in terminal.getvalue()
    assert "\x1b[2J" not in terminal.getvalue()


def test_json_lines_hold_structs_enums_and_survive_lone_surrogates(capsys: pytest.CaptureFixture[str]) -> None:
    output.print_json({"kind": Kind.PREFERENCE, "said": "�"})
    assert json.loads(capsys.readouterr().out) == {"kind": "preference", "said": "�"}


@pytest.mark.parametrize(("number", "words"), [(0, "0 records"), (1, "1 record"), (12_000, "12,000 records")])
def test_count(number: int, words: str) -> None:
    assert output.count(number, "record") == words


def test_count_takes_an_irregular_plural() -> None:
    assert output.count(2, "person", "people") == "2 people"


def test_nobody_reads_tells_a_closed_pipe_from_an_open_one() -> None:
    script = (
        "import sys; from streams.cli.output import nobody_reads\n"
        "before = nobody_reads(); sys.stdin.read(); print(before, nobody_reads(), file=sys.stderr)"
    )
    read, write = os.pipe()
    child = subprocess.Popen(
        [sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=write, stderr=subprocess.PIPE, text=True
    )
    os.close(write)
    os.close(read)
    _, said = child.communicate("", timeout=60)
    assert said.split() == ["True", "True"]
    assert not output.nobody_reads()  # a test's stdout is a file
