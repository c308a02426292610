"""``switchboard facts`` and ``switchboard explain``: on the index in the data folder, and over HTTP."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec
import pytest
import samples

from models import ids
from models.facts import Fact, FactChange, FactStatus, Period, Revision
from models.index import VectorSpace
from models.statements import Kind
from streams.cli import main
from streams.config.settings import load_settings
from streams.llm.onnx_embedder import OnnxEmbedder
from streams.stores.index_factory import open_index
from streams.stores.qdrant_kinds import FACTS

NOW = datetime.now(UTC)
SLOT = ids.slot_id("default", "ada", "user", "home")


def fact(value: str, status: FactStatus = FactStatus.ACTIVE, user: str = "ada") -> Fact:
    evidence = samples.evidence(f"I live in \x1b[31m{value}", at=NOW, offsets=(4,))
    revision = Revision(
        version=2,
        change=FactChange.CREATED,
        at=NOW,
        confidence_before=0.7,
        confidence_after=0.8,
        window_id="w-1",
        message_id="m-1",
        fact_id="f-2",
    )
    return samples.fact(
        f"User lives in {value}",
        at=NOW,
        fact_id=ids.fact_id(SLOT, f"{user} {value}", "affirmed"),
        slot_id=SLOT,
        user_id=user,
        kind=Kind.STATE,
        attribute="home",
        value=value,
        status=status,
        version=2,
        evidence_count=3,
        provenance=(evidence,),
        valid_from=NOW - timedelta(days=9),
        valid_to=None if status is FactStatus.ACTIVE else NOW,
        past=(Period(NOW - timedelta(days=30), NOW - timedelta(days=20)),),
        superseded_by=None if status is FactStatus.ACTIVE else "f-2",
        changes=(revision,),
    )


BERLIN = fact("Berlin", FactStatus.SUPERSEDED)
MUNICH = msgspec.structs.replace(fact("Munich"), why="first person +1.2, \x1b[31mmeaning +0.4")
#: Part of another fact: as consolidation made it, and as something that was said did.
MERGED, COMPLETED = (
    msgspec.structs.replace(
        fact(value, FactStatus.MERGED_INTO, "cyd"),
        superseded_by=None,
        merged_into_id="f-9",
        archived_at=NOW,
        changes=(
            Revision(version=2, change=FactChange.MERGED, at=NOW, confidence_after=0.8, window_id=window_id),
        ),
    )
    for value, window_id in (("Oslo", None), ("Rome", "w-1"))
)
LYON = msgspec.structs.replace(fact("Lyon", user="bob"), tentative=True)


@pytest.fixture(autouse=True)
def index(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """An index in the data folder, and nobody who listens."""
    monkeypatch.setenv("SWITCHBOARD_DATA_DIR", str(tmp_path))
    monkeypatch.setenv("SWITCHBOARD_API_PORT", "1")
    monkeypatch.setenv("SWITCHBOARD_BOOTSTRAP_SERVERS", "127.0.0.1:1")
    asyncio.run(_fill())


async def _fill() -> None:
    embedder = OnnxEmbedder()
    opened = open_index(load_settings(), FACTS, VectorSpace(embedder.model, embedder.dimensions))
    await opened.upsert([BERLIN, MUNICH, LYON, MERGED, COMPLETED])
    await opened.close()


def test_the_facts_of_a_person_that_hold(capsys: pytest.CaptureFixture[str]) -> None:
    assert main.run(["facts", "--user", "ada"]) == 0
    out = capsys.readouterr().out.splitlines()
    assert out[:2] == ["state", "  0.80  User lives in Munich"]
    assert out[2].startswith(f"        {MUNICH.fact_id}  home, since ")
    assert out[2].endswith(", said 3 times")
    assert len(out) == 3


def test_a_known_person_without_facts_is_not_unknown(capsys: pytest.CaptureFixture[str]) -> None:
    assert main.run(["facts", "--user", "cyd"]) == 0
    assert "cyd is known, but no fact about them holds: --all shows" in capsys.readouterr().out
    assert main.run(["facts", "--user", "cyd", "--all"]) == 0
    assert "[merged into]" in capsys.readouterr().out


def test_a_fact_is_explained(capsys: pytest.CaptureFixture[str]) -> None:
    assert main.run(["explain", BERLIN.fact_id, "--user", "ada"]) == 0
    out = capsys.readouterr().out
    assert "User lives in Berlin  [superseded]" in out
    assert "superseded by f-2" in out
    assert r"“I live in \x1b[31mBerlin”" in out
    assert "and 2 earlier pieces of evidence" in out
    assert "created      0.70 -> 0.80  by f-2, message m-1, window w-1" in out
    assert "before from" in out


def test_explain_prints_the_heaviest_features_below_the_quotes(capsys: pytest.CaptureFixture[str]) -> None:
    assert main.run(["explain", MUNICH.fact_id, "--user", "ada"]) == 0
    quotes, changes = capsys.readouterr().out.split("rests on\n")[1].split("changes\n")
    assert quotes.endswith("\n  weighed most: first person +1.2, \\x1b[31mmeaning +0.4\n") and changes
    assert main.run(["explain", BERLIN.fact_id, "--user", "ada"]) == 0
    assert "weighed" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("fact_id", "user", "status", "says"),
    [
        (MERGED.fact_id, "cyd", 69, "127.0.0.1:1"),  # it would be sent, if a broker were there
        (MERGED.fact_id, "eve", 66, "there is no fact"),
        ("nothing", "cyd", 66, "there is no fact nothing about cyd"),
        (COMPLETED.fact_id, "cyd", 78, "switchboard correct f-9 TEXT"),
    ],
)
def test_irrecoverable_losses_are_told_before_sending(
    capsys: pytest.CaptureFixture[str], fact_id: str, user: str, status: int, says: str
) -> None:
    whose = ["--user", user] if user else []
    assert main.run(["consolidate", "--separate", fact_id, *whose]) == status
    assert says in capsys.readouterr().err


@pytest.mark.parametrize("fact_id", [LYON.fact_id, "nonsense"])
def test_nobody_elses_fact_is_shown(capsys: pytest.CaptureFixture[str], fact_id: str) -> None:
    assert main.run(["explain", fact_id, "--user", "ada"]) == 66
    assert "there is no fact" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "status"),
    [
        (["facts", "--user", " "], 65),
        (["explain", "f", "--user", ""], 65),
        (["explain", "a/b", "--user", "ada"], 78),
    ],
)
def test_blank_people_and_ids_that_are_none_are_refused(arguments: list[str], status: int) -> None:
    assert main.run(arguments) == status
