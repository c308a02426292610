"""The demo that stays: Ctrl-C at any line ends it in order."""

from __future__ import annotations

import io
import sys

import pytest

from deploy.local import demo_session
from deploy.local.demo_parts import Parts


class Reader(io.StringIO):
    """A terminal at which somebody presses Ctrl-C at once when it says what that does."""

    def write(self, text: str, /) -> int:
        written = super().write(text)
        if "Ctrl-C" in text:
            raise KeyboardInterrupt
        return written


def test_ctrl_c_as_soon_as_it_is_named_is_no_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Reader()
    monkeypatch.setattr(sys, "stdout", terminal)
    try:
        demo_session._stay(Parts.__new__(Parts))
    except KeyboardInterrupt:
        pytest.fail("it was not yet listening")
    assert terminal.getvalue().endswith("ending ...\n")
