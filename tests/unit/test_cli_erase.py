"""``switchboard erase``: what is refused before anybody is asked, and what it says remains."""

from __future__ import annotations

import pytest

from streams.cli import main


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["conversation", "c-1"], "nobody is here to be asked, so nothing was erased: add --yes"),
        (["person", "ada"], "nobody is here to be asked, so nothing was erased: add --yes"),
        (["person", "  ", "--yes"], "USER is blank: say who is to be forgotten"),
        (["conversation", "x" * 300, "--yes"], "conversation_id"),
        (["conversation", "", "--yes"], "conversation_id"),
    ],
)
def test_what_is_refused(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SWITCHBOARD_BOOTSTRAP_SERVERS", "127.0.0.1:1")  # where no broker is
    assert main.run(["erase", *arguments]) == 78
    assert said in capsys.readouterr().err
