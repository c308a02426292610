"""Text from outside: nothing in it reaches a terminal as more than text, and JSON stays what it was."""

from __future__ import annotations

import subprocess
import sys

import pytest

from models.errors import ConfigurationError
from streams.cli import main
from streams.cli import settings as settings_command

#: C0, DEL, C1, line and paragraph separators, and every mark that sets the direction of writing.
CONTROLS = [chr(c) for c in (*range(32), *range(127, 160), 0x61C, 0x200E, 0x200F, *range(0x2028, 0x202F))]
CONTROLS += [chr(c) for c in range(0x2066, 0x206A)]


def controls(text: str) -> set[str]:
    return set(text) & set(CONTROLS)


def test_errors_are_shown_as_text(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def fail() -> None:
        raise ConfigurationError("two\nlines of \x1b]0;title\x07 and \x9b31m and \u202egnp.exe")

    monkeypatch.setattr(settings_command, "load_settings", fail)
    main.run(["settings"])
    assert capsys.readouterr().err == (
        "switchboard: two\nlines of \\x1b]0;title\\x07 and \\x9b31m and \\u202egnp.exe\n"
    )


_RAISES = """
from streams.cli import main, settings
def fail():
    raise ZeroDivisionError("said \\x1b[2J \\x9b1m")
settings.load_settings = fail
{how}
import sys
sys.argv = ["switchboard", "settings"]
main.main()
"""


@pytest.mark.parametrize(
    "how",
    ["", "import threading\nsettings.load_settings = lambda: threading.Thread(target=fail).start() or fail()"],
)
def test_a_traceback_reaches_the_terminal_as_text(how: str) -> None:
    done = subprocess.run([sys.executable, "-c", _RAISES.format(how=how)], capture_output=True, timeout=60)
    assert done.returncode == 1
    error = done.stderr.decode()
    assert error.count(r"ZeroDivisionError: said \x1b[2J \x9b1m") == (2 if how else 1)
    assert controls(error) == {"\n"}
