"""Cost of a replay to the living system beside it: the latency of messages, with it and without."""

from __future__ import annotations

import asyncio
import sys
from collections import defaultdict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, nullcontext
from typing import Any

import orjson

from benchmarks.serving import latency, talk
from benchmarks.serving.deployment import PATIENCE, Deployment, percentiles

#: Messages that the replay reads, and how many a second at most, so that it lasts longer than the probes.
_BACKLOG, _BACKLOG_SHORT = 6_000, 600
_RATE = 20

#: Probes of a round, and rounds: alone and beside the replay in turns.
_PROBES, _PROBES_SHORT = 50, 5
_ROUNDS = 3

_NAME = "bench"


async def measure(deployment: Deployment, short: bool) -> dict[str, Any]:
    """Return percentiles of message to fact and to turn (seconds), alone and beside a replay; and ratios."""
    await talk.say(deployment, _BACKLOG_SHORT if short else _BACKLOG)
    await talk.quiet(deployment)
    facts: dict[str, list[float]] = defaultdict(list)
    turns: dict[str, list[float]] = defaultdict(list)
    rounds = 1 if short else _ROUNDS
    for number in range(rounds):
        for where in ("alone", "beside"):
            async with _replaying(deployment, number) if where == "beside" else nullcontext():
                for probe in range(_PROBES_SHORT if short else _PROBES):
                    fact, turn = await latency.probe(deployment, f"{where}-{number}-{probe}", probe)
                    facts[where].append(fact)
                    turns[where].append(turn)
            await talk.quiet(deployment)
    return {
        "facts": {where: percentiles(found) for where, found in facts.items()},
        "turns": {where: percentiles(found) for where, found in turns.items()},
        "ratio": {
            "facts": percentiles(facts["beside"])["p95"] / percentiles(facts["alone"])["p95"],
            "turns": percentiles(turns["beside"])["p95"] / percentiles(turns["alone"])["p95"],
        },
        "rate": _RATE,
        "probes": rounds * (_PROBES_SHORT if short else _PROBES),
    }


@asynccontextmanager
async def _replaying(deployment: Deployment, number: int) -> AsyncIterator[None]:
    """Start the replay, or go on with it, and pause it at the end; the body runs while it reads."""
    how = ("resume", _NAME) if number else ("start", _NAME, "--max-rate", str(_RATE))
    replay = await _run(deployment, "replay", *how)
    try:
        await _reads(deployment, replay)
        yield
        assert replay.returncode is None, "the replay ended before the probes: see its messages above"
    finally:
        if replay.returncode is None:
            replay.terminate()
        await replay.wait()


async def _reads(deployment: Deployment, replay: asyncio.subprocess.Process) -> None:
    """Wait until the replay reads."""
    read = -1
    async with asyncio.timeout(PATIENCE):
        while True:
            assert replay.returncode is None, "the replay ended: see its messages above"
            # Of what is not there yet it says so, with another status.
            status = await _run(deployment, "replay", "status", _NAME, "--json", output=asyncio.subprocess.PIPE)
            told, _ = await status.communicate()
            now = orjson.loads(told)[0]["messages"] if status.returncode == 0 else -1
            if 0 <= read < now:
                return
            read = now
            await asyncio.sleep(1.0)


async def _run(deployment: Deployment, *command: str, output: int | None = None) -> asyncio.subprocess.Process:
    arguments = (sys.executable, "-m", "streams.cli", *command)
    return await asyncio.create_subprocess_exec(
        *arguments, env=deployment.environment, stdout=output or sys.stderr.fileno()
    )
