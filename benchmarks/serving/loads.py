"""Time from a message to its turn and to its fact in search, by how many messages a second come beside it."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import httpx

from benchmarks.serving import latency, talk
from benchmarks.serving.deployment import SERVICES, Deployment, cpu_seconds, percentiles

#: Messages a second of made-up people, beside those of the probes (:data:`_PROBING`).
RATES, _RATES_SHORT = (0, 5, 10, 15, 20, 25), (0, 5)

#: Seconds for which each is measured, after those for which it has gone on.
_SECONDS, _SECONDS_SHORT = 40, 8
_AHEAD, _AHEAD_SHORT = 10, 2

#: Seconds between two messages that are waited for as turns, and two windows that are waited for as facts.
_TURN_EVERY, _FACT_EVERY = 1.0, 4.0

#: Messages a second that the probes are.
_PROBING = 1 / _TURN_EVERY + latency.WINDOW / _FACT_EVERY

#: What takes longer counts as so long (seconds).
_LONGEST = 60.0


async def measure(deployment: Deployment, short: bool) -> dict[str, Any]:
    """Return percentiles of message to turn and to fact (seconds), and busy cores, by messages a second."""
    ahead, seconds = (_AHEAD_SHORT, _SECONDS_SHORT) if short else (_AHEAD, _SECONDS)
    found: dict[str, Any] = {}
    said = 0
    await latency.probe(deployment, "loads-warm", 0)
    for rate in _RATES_SHORT if short else RATES:
        count = rate * (ahead + seconds)
        async with asyncio.TaskGroup() as group:
            group.create_task(talk.say(deployment, count, said, float(rate)))
            await asyncio.sleep(ahead)
            before, began = _cpu(deployment), time.perf_counter()
            probing = group.create_task(_probe(deployment, f"loads-{rate}", seconds))
            await asyncio.sleep(seconds)
            cores = (_cpu(deployment) - before) / (time.perf_counter() - began)
        said += count
        turns, facts = probing.result()
        figures = {"turn": percentiles(turns), "fact": percentiles(facts), "cores": cores}
        found[f"{rate + _PROBING:g}"] = {**figures, "probes": [len(turns), len(facts)]}
        await talk.quiet(deployment)
    return found


def _cpu(deployment: Deployment) -> float:
    """Return the CPU seconds of the services (the broker's are not theirs)."""
    return sum(cpu_seconds(deployment.pid(name)) for name in SERVICES)


async def _probe(deployment: Deployment, name: str, seconds: int) -> tuple[list[float], list[float]]:
    """Return how long each turn and each fact took, of those that were said in this time."""
    clock = asyncio.get_running_loop().time
    began = clock()
    async with deployment.client() as client, asyncio.TaskGroup() as group:

        async def every(pause: float, kind: Any) -> list[asyncio.Task[float]]:
            tasks = []
            for number in range(round(seconds / pause)):
                await asyncio.sleep(max(0.0, began + number * pause - clock()))
                tasks.append(group.create_task(kind(client, deployment, f"{name}-{number}", number)))
            return tasks

        turns, facts = await asyncio.gather(every(_TURN_EVERY, _turn), every(_FACT_EVERY, _fact))
    return [task.result() for task in turns], [task.result() for task in facts]


async def _turn(client: httpx.AsyncClient, deployment: Deployment, name: str, number: int) -> float:
    whose, word = f"{name}-turn", f"{number:05}x"
    said = latency.message(whose, 0, f"The parcel with the number {word} is at the neighbours.")
    began = time.perf_counter()
    await deployment.say(said)
    return await _found(client, {"q": f"parcel {word}", "user_id": whose, "search_type": "turns"}, began)


async def _fact(client: httpx.AsyncClient, deployment: Deployment, name: str, number: int) -> float:
    whose = f"{name}-fact"
    thing, said = latency.window(whose, number)
    for each in said:
        await deployment.say(each)
    began = time.perf_counter()
    return await _found(client, {"q": thing, "user_id": whose, "search_type": "facts"}, began)


async def _found(client: httpx.AsyncClient, asked: dict[str, str], began: float) -> float:
    while (took := time.perf_counter() - began) < _LONGEST:
        if (await client.get("/v1/search", params=asked)).json().get("results"):
            return time.perf_counter() - began
        # Often enough for a percentile, and not so often that those who wait long are a load themselves.
        await asyncio.sleep(max(0.005, 0.02 * took))
    return _LONGEST
