"""Printing: nothing from outside controls the terminal, and a pipe gets lines it can work with."""

from __future__ import annotations

import os
import subprocess
import sys

from hypothesis import given
from hypothesis import strategies as st

from streams.cli import output


@given(st.text())
def test_printable_is_one_line_without_controls_and_can_be_written(text: str) -> None:
    shown = output.printable(text)
    assert not any(ord(c) < 32 or 127 <= ord(c) < 160 for c in shown)
    assert "\u202e" not in shown
    shown.encode()
    assert len(shown.splitlines()) <= 1


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
