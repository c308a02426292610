"""``switchboard erase``: what is refused before anybody is asked, and what it says remains."""

from __future__ import annotations

import pytest

from streams.cli import main


@pytest.mark.parametrize(
    ("arguments", "said", "status"),
    [
        (["conversation", "c-1"], "nobody is here to be asked, so nothing was erased: add --yes", 78),
        (["person", "ada"], "nobody is here to be asked, so nothing was erased: add --yes", 78),
        (["person", "  ", "--yes"], "USER is blank: say who is to be forgotten", 65),
        (["conversation", "x" * 300, "--yes"], "conversation_id", 78),
        (["conversation", "", "--yes"], "conversation_id", 78),
    ],
)
def test_what_is_refused(
    arguments: list[str],
    said: str,
    status: int,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("SWITCHBOARD_BOOTSTRAP_SERVERS", "127.0.0.1:1")  # where no broker is
    assert main.run(["erase", *arguments]) == status
    assert said in capsys.readouterr().err
