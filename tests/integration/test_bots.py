"""The bots of ``examples/bots`` remember, without a client library: JavaScript and Go."""

from __future__ import annotations

import os
import shutil
import subprocess
import uuid
from pathlib import Path

import pytest
from serve_rig import ServeRig
from waiting import eventually

BOTS = Path(__file__).parents[2] / "examples" / "bots"

pytestmark = pytest.mark.kafka


@pytest.mark.parametrize(("program", "command"), [("node", ["bot.mjs"]), ("go", ["run", "bot.go"])])
def test_a_bot_remembers(program: str, command: list[str], deployment: ServeRig, tmp_path: Path) -> None:
    if shutil.which(program) is None:
        pytest.skip(f"{program} is not there")
    deployment.need("ingest", "memory", "recall")
    person = f"rosa-{uuid.uuid4().hex[:6]}"

    def say(text: str) -> str:
        done = subprocess.run(
            [program, *command, deployment.url, person, f"{person}-1", text],
            cwd=BOTS,
            env=os.environ | {"GOCACHE": str(tmp_path / "go"), "GOFLAGS": "-mod=mod"},
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    say("I never eat peanuts, they nearly killed me.")
    eventually(lambda: "peanuts" in say("What must I not eat?").split("in front)")[1], "the bot remembers")
