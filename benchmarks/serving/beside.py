"""Cost of a replay to the living system beside it: the latency of messages, with it and without."""

from __future__ import annotations

import asyncio
import itertools
import sys
from collections import defaultdict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, nullcontext
from datetime import UTC, datetime, timedelta
from typing import Any

import orjson

from benchmarks.notebook.labels import HERE, people
from benchmarks.serving import latency
from benchmarks.serving.deployment import PATIENCE, Deployment, percentiles
from models.messages import ChatMessage, Role

#: Messages that the replay reads, and how many a second at most, so that it lasts longer than the probes.
_BACKLOG, _BACKLOG_SHORT = 6_000, 600
_RATE = 20

#: Probes of a round, and rounds: alone and beside the replay in turns.
_PROBES, _PROBES_SHORT = 50, 5
_ROUNDS = 3

_NAME = "bench"
_QUIET_SECONDS = 5.0


async def measure(deployment: Deployment, short: bool) -> dict[str, Any]:
    """Return percentiles of message to fact and to turn (seconds), alone and beside a replay; and ratios."""
    await _say(deployment, _BACKLOG_SHORT if short else _BACKLOG)
    await _quiet(deployment)
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
            await _quiet(deployment)
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


async def _say(deployment: Deployment, count: int) -> None:
    """Publish what made-up people said, over and over under other names."""
    said = [
        (person["person"], session["conversation_id"], message)
        for person in people(HERE / "people")
        for session in person["sessions"]
        for message in session["messages"]
    ]
    start = datetime.now(UTC) - timedelta(days=1)
    for number, (person, conversation, message) in enumerate(itertools.islice(itertools.cycle(said), count)):
        time_round = number // len(said)
        await deployment.say(
            ChatMessage(
                message_id=f"{message['id']}-{time_round}",
                conversation_id=f"{conversation}-{time_round}",
                user_id=f"{person}-{time_round}",
                role=Role(message["role"]),
                content=message["text"],
                sent_at=start + timedelta(seconds=number),
            )
        )


async def _quiet(deployment: Deployment) -> None:
    """Wait until the services have nothing more to do."""
    before, since = -1.0, asyncio.get_running_loop().time()
    async with asyncio.timeout(10 * PATIENCE):
        while True:
            now = await deployment.records("recall", "memory.embeddings.v1")
            now += await deployment.records("memory", "memory.windows.v1")
            if now != before:
                before, since = now, asyncio.get_running_loop().time()
            elif asyncio.get_running_loop().time() - since > _QUIET_SECONDS:
                return
            await asyncio.sleep(0.5)


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
