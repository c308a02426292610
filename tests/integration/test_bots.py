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


@pytest.mark.parametrize("program", ["node", "go"])
def test_a_bot_remembers(program: str, deployment: ServeRig, tmp_path: Path) -> None:
    if shutil.which(program) is None:
        pytest.skip(f"{program} is not there")
    bot: list[str | Path] = ["node", "bot.mjs"]
    if program == "go":
        # Once: a "go run" links anew each time.  With the user's cache: the standard library takes a minute.
        bot = [tmp_path / "bot"]
        built = ["go", "build", "-o", *bot, "bot.go"]
        subprocess.run(built, cwd=BOTS, env=os.environ | {"GOFLAGS": "-mod=mod"}, timeout=500, check=True)
    deployment.need("ingest", "memory", "recall")
    person = f"rosa-{uuid.uuid4().hex[:6]}"

    def say(text: str) -> str:
        done = subprocess.run(
            [*bot, deployment.url, person, f"{person}-1", text],
            cwd=BOTS,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    say("I never eat peanuts, they nearly killed me.")
    eventually(lambda: "peanuts" in say("What must I not eat?").split("in front)")[1], "the bot remembers")
