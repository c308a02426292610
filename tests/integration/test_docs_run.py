"""The code that the documentation shows runs as it stands, against a serve with its services."""

from __future__ import annotations

import contextlib
import io
import re
import shlex
import uuid
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from serve_rig import ServeRig
from typer.testing import CliRunner
from waiting import eventually

from streams.cli.main import app

pytestmark = [pytest.mark.kafka, pytest.mark.long]

ROOT = Path(__file__).parents[2]
TUTORIAL = ROOT / "docs" / "tutorial.md"

_PYTHON = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
_SHELL = re.compile(r"^```sh\n(.*?)^```", re.MULTILINE | re.DOTALL)


def shown() -> list[Any]:
    """Each block that uses the client, but for the tutorial's, and those that ``make test-frameworks`` runs."""
    pages = [
        *sorted((ROOT / "docs" / "how-to").glob("*.md")),
        ROOT / "client" / "README.md",
        ROOT / "README.md",
    ]
    return [
        pytest.param(code, id=f"{page.relative_to(ROOT)}-{number}")
        for page in pages
        for number, code in enumerate(_PYTHON.findall(page.read_text()), 1)
        if "switchboard_client" in code and page.name != "frameworks.md"
    ]


def run(code: str, rig: ServeRig, person: str) -> str:
    """Run a block as this person, at this serve; return what it printed."""
    for theirs, ours in (
        (r'"ada"', f'"{person}"'),
        (r'"(c-1|first)"', rf'"{person}-\1"'),
        (r', token="sb_\.\.\."', ""),
        (r'"http://127\.0\.0\.1:8371"', f'"{rig.url}"'),
        (r"Switchboard\(user_id=", f'Switchboard("{rig.url}", user_id='),
    ):
        code = re.sub(theirs, ours, code)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(code, "a block of the documentation", "exec"), {})
    return printed.getvalue()


@pytest.fixture
def rig(deployment: ServeRig) -> ServeRig:
    deployment.need("ingest", "memory", "recall", "respond")
    return deployment


@pytest.fixture
def person() -> str:
    return f"ada-{uuid.uuid4().hex[:8]}"


@pytest.mark.parametrize("code", shown())
def test_each_block_runs_as_it_stands(rig: ServeRig, person: str, code: str) -> None:
    run(code, rig, person)


Shell = Callable[..., str]


@pytest.fixture
def shell(rig: ServeRig, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Shell:
    """Runs a line as it stands but for these words; returns what it printed."""
    for name, value in rig.values.items():
        monkeypatch.setenv(f"SWITCHBOARD_{name.upper()}", value)
    monkeypatch.chdir(tmp_path)

    def switchboard(line: str, instead: Mapping[str, str]) -> str:
        name, *words = shlex.split(line)
        assert name == "switchboard", line
        done = CliRunner().invoke(app, [instead.get(word, word) for word in words])
        assert done.exit_code == 0, f"{line}: {done.output}"
        return done.output

    return switchboard


def lines_of(page: str) -> list[str]:
    return "".join(_SHELL.findall((ROOT / "docs" / page).read_text())).splitlines()


def test_the_tutorial_does_what_it_says(rig: ServeRig, person: str, shell: Shell) -> None:
    def switchboard(line: str) -> str:
        return shell(line, {"ada": person, "first": f"{person}-first"})

    say, ask, *_ = _PYTHON.findall(TUTORIAL.read_text())
    lines = lines_of("tutorial.md")
    close, facts, explain, erase = (line for line in lines if line.startswith("switchboard "))
    assert re.fullmatch(r"\d+:\d+\n", run(say, rig, person))
    switchboard(close)
    eventually(lambda: "peanuts" in run(ask, rig, person), "what was said is found")
    # What was said is found before it is understood.
    eventually(lambda: "peanuts" in switchboard(facts), "a fact came of it")
    fact = re.search(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", switchboard(facts))
    assert fact is not None
    switchboard(explain.replace("FACT_ID", fact[0]))
    switchboard(erase)
    eventually(lambda: "peanuts" not in run(ask, rig, person), "it is forgotten")
