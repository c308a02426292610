"""``switchboard erase``: what is refused before anybody is asked, and what it says remains."""

from __future__ import annotations

import pytest

from streams.cli import erase, main
from streams.settings import Settings


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


def test_it_says_what_remains_and_for_how_long(capsys: pytest.CaptureFixture[str]) -> None:
    erase._say_what_remains(Settings(topic_prefix="p-"))
    said = capsys.readouterr().out
    kept = [line for line in said.splitlines() if line.startswith("still to be read")]
    assert any("p-chat.messages.v1" in line for line in kept)
    assert any("p-memory.summary-requests.v1" in line for line in kept)
    names = {name for line in kept for name in line.partition(": ")[2].split(", ")}
    assert not names & {
        "p-memory.summaries.v1",
        "p-memory.turns.v1",
        "p-memory.facts.v1",
        "p-memory.embeddings.v1",
    }
