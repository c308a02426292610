"""Cost of a tenant that floods to a calm one: its latency alone, and beside a hundred times as many messages.

A window is two messages, so that every other message of the calm tenant completes one, and the flood is
twenty-five windows a second.  The language model answers after half a second to one and a half, eight questions
at once: the flood asks for three times of what it can answer, and its backlog grows as long as it lasts.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
from aiokafka import AIOKafkaConsumer, TopicPartition

from benchmarks.serving.deployment import PATIENCE, SERVICES, Deployment, percentiles
from deploy.local.model_server import KEY
from deploy.local.ports import LOOPBACK, free_ports
from models.messages import DEFAULT_TENANT, ChatMessage, Role
from streams.clients import kafka
from streams.config import child_process

#: Messages a second of the calm tenant, and of the one that floods.
_CALM, _FLOOD = 0.5, 50.0

#: Seconds for which the calm tenant speaks, alone and beside the flood, and for which the flood goes before.
_SECONDS, _SECONDS_SHORT = 100, 8
_AHEAD, _AHEAD_SHORT = 15, 2

#: People of the tenant that floods.
_PEOPLE = 500

#: Of the language model, on average.
_ANSWER_SECONDS = 1.0

#: What takes longer counts as so long (seconds).
_LONGEST = 120.0

_THINGS = ["blueberries", "chess", "sailing", "pottery", "jazz", "tulips", "marathons", "astronomy"]


@contextmanager
def _model_server() -> Iterator[dict[str, str]]:
    """Run the scripted model; yield the settings with which facts are read by it."""
    [port] = free_ports(1)
    given = ["--port", str(port), "--delay", str(_ANSWER_SECONDS)]
    process = child_process.spawn([sys.executable, "-m", "deploy.local.model_server", *given])
    try:
        yield {
            "SWITCHBOARD_EXTRACTOR": "model",
            "SWITCHBOARD_MODEL_URL": f"http://{LOOPBACK}:{port}",
            "GEMINI_API_KEY": KEY,
            # The calls open at once are what tenants share here, not the account's limits.
            "SWITCHBOARD_MODEL_REQUESTS_PER_MINUTE": "1000000",
            "SWITCHBOARD_MODEL_TOKENS_PER_MINUTE": "1000000000",
            "SWITCHBOARD_MODEL_BUDGET_USD": "1000000",
        }
    finally:
        child_process.end(process, 0.0)


@contextmanager
def _builtin() -> Iterator[dict[str, str]]:
    yield {"SWITCHBOARD_EXTRACTOR": "builtin"}


EXTRACTORS = {"builtin": _builtin, "model": _model_server}


async def measure(deployment: Deployment, short: bool) -> dict[str, Any]:
    """Return percentiles of message to turn and to fact (seconds), alone and beside the flood; and ratios.

    ``answers``: of it, from a window on its topic to the model's answer; that is where tenants queue.
    """
    seconds = _SECONDS_SHORT if short else _SECONDS
    await _calm(deployment, "warm", 4)
    turns, facts = {}, {}
    turns["alone"], facts["alone"] = await _calm(deployment, "alone", seconds)
    async with _flood(deployment):
        await asyncio.sleep(_AHEAD_SHORT if short else _AHEAD)
        turns["beside"], facts["beside"] = await _calm(deployment, "beside", seconds)
        waiting = await _backlog(deployment)
    answers = await _answers(deployment)
    asked = {where: found for where in ("alone", "beside") if (found := answers[where])}
    return {
        "turns": {where: percentiles(found) for where, found in turns.items()},
        "facts": {where: percentiles(found) for where, found in facts.items()},
        "ratio": {
            "turns": percentiles(turns["beside"])["p95"] / percentiles(turns["alone"])["p95"],
            "facts": percentiles(facts["beside"])["p95"] / percentiles(facts["alone"])["p95"],
            **(
                {"answers": percentiles(asked["beside"])["p95"] / percentiles(asked["alone"])["p95"]}
                if len(asked) == 2
                else {}
            ),
        },
        "answers": {where: percentiles(found) for where, found in asked.items()},
        "samples": {"turns": len(turns["beside"]), "facts": len(facts["beside"])},
        "waiting": waiting,
    }


# -- the calm tenant ---------------------------------------------------------------------------------------


async def _calm(deployment: Deployment, name: str, seconds: int) -> tuple[list[float], list[float]]:
    """Say something every other second; return how long each turn, and each fact, took until it was found."""
    clock = asyncio.get_running_loop().time
    began = clock()
    turns: list[asyncio.Task[float]] = []
    facts: list[asyncio.Task[float]] = []
    async with deployment.client() as client, asyncio.TaskGroup() as group:
        for number in range(round(seconds * _CALM)):
            await asyncio.sleep(max(0.0, began + number / _CALM - clock()))
            whose = f"calm-{name}-{number // 2}"
            if number % 2:
                facts.append(group.create_task(_fact(client, deployment, whose, number)))
            else:
                turns.append(group.create_task(_turn(client, deployment, whose, number)))
    return [each.result() for each in turns], [each.result() for each in facts]


async def _turn(client: httpx.AsyncClient, deployment: Deployment, whose: str, number: int) -> float:
    thing = _THINGS[number // 2 % len(_THINGS)]
    said = _message(DEFAULT_TENANT, whose, number, f"I really love {thing}.")
    return await _found(client, deployment, said, {"q": thing, "user_id": whose, "search_type": "turns"})


async def _fact(client: httpx.AsyncClient, deployment: Deployment, whose: str, number: int) -> float:
    thing = _THINGS[number // 2 % len(_THINGS)]
    said = _message(DEFAULT_TENANT, whose, number, "Let us go on with the next point.")
    return await _found(client, deployment, said, {"q": thing, "user_id": whose, "search_type": "facts"})


async def _found(
    client: httpx.AsyncClient, deployment: Deployment, said: ChatMessage, asked: dict[str, str]
) -> float:
    began = time.perf_counter()
    await deployment.say(said)
    while (took := time.perf_counter() - began) < _LONGEST:
        if (await client.get("/v1/search", params=asked)).json().get("results"):
            return time.perf_counter() - began
        # Often enough for a percentile, and not so often that those who wait long are a load themselves.
        await asyncio.sleep(max(0.005, 0.02 * took))
    return _LONGEST


def _message(tenant: str, whose: str, number: int, text: str) -> ChatMessage:
    return ChatMessage(
        message_id=f"{whose}-{number}",
        conversation_id=whose,
        user_id=whose,
        tenant_id=tenant,
        role=Role.ASSISTANT if number % 2 else Role.USER,
        content=text,
        sent_at=datetime.now(UTC),
    )


# -- the flood ---------------------------------------------------------------------------------------------


@asynccontextmanager
async def _flood(deployment: Deployment) -> AsyncIterator[None]:
    async with asyncio.TaskGroup() as group:
        flood = group.create_task(_say_on(deployment))
        yield
        flood.cancel()


async def _say_on(deployment: Deployment) -> None:
    """Say something fifty times a second, until cancelled."""
    clock = asyncio.get_running_loop().time
    began, number = clock(), 0
    while True:
        await asyncio.sleep(max(0.0, began + number / _FLOOD - clock()))
        burst = range(number, number + 10)
        await asyncio.gather(*(deployment.say(_flooding(each)) for each in burst))
        number += len(burst)


def _flooding(number: int) -> ChatMessage:
    pair = number // 2
    thing = _THINGS[pair % len(_THINGS)]
    text = "Let us go on with the next point." if number % 2 else f"I really love {thing} number {pair}."
    return _message("flood", f"flood-{pair % _PEOPLE}", number, text)


async def _backlog(deployment: Deployment) -> float:
    """Return how many windows are not read for facts yet."""
    read = await deployment.records("memory", "memory.windows.v1")  # first: more are made meanwhile
    return await deployment.outputs("ingest", "memory.windows.v1") - read


async def _answers(deployment: Deployment) -> dict[str, list[float]]:
    """Return how long after its window each answer about the calm tenant was written (seconds), by phase."""
    windows = await _arrivals(deployment, "memory.windows.v1")
    found: dict[str, list[float]] = {"alone": [], "beside": [], "warm": []}
    for whose, answered in (await _arrivals(deployment, "models.memo.v1")).items():
        if whose.startswith("calm-"):
            found[whose.split("-")[1]].append(answered - windows[whose])
    return found


async def _arrivals(deployment: Deployment, topic: str) -> dict[str, float]:
    """Return when the last record about each person came (epoch seconds)."""
    spec, settings = deployment.catalog.get(topic), deployment.settings
    consumer = AIOKafkaConsumer(bootstrap_servers=settings.bootstrap_servers, enable_auto_commit=False)
    arrived: dict[str, float] = {}
    async with asyncio.timeout(PATIENCE), kafka.connected(consumer, settings, PATIENCE):
        partitions = [TopicPartition(spec.name, number) for number in range(spec.partitions)]
        consumer.assign(partitions)
        await consumer.seek_to_beginning(*partitions)
        ends = await consumer.end_offsets(partitions)
        while any([await consumer.position(each) < ends[each] for each in partitions]):
            for records in (await consumer.getmany(timeout_ms=100)).values():
                for record in records:
                    if record.value is not None:
                        arrived[json.loads(record.value)["user_id"]] = record.timestamp / 1000
    return arrived


# -- running -----------------------------------------------------------------------------------------------


async def _run(extractor: str, folder: Path, short: bool) -> dict[str, Any]:
    with EXTRACTORS[extractor]() as chosen:
        environment = {
            **os.environ,
            **chosen,
            "SWITCHBOARD_WINDOW_SIZE": "2",
            "SWITCHBOARD_WINDOW_OVERLAP": "0",
        }
        async with Deployment(folder, environment) as deployment:
            await deployment.start(*SERVICES)
            return await measure(deployment, short)


def main() -> int:
    """Measure."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.serving.fairness", description=__doc__)
    parser.add_argument("extractor", choices=EXTRACTORS)
    parser.add_argument("--short", action="store_true")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="switchboard-fairness-") as folder:
        found = asyncio.run(_run(given.extractor, Path(folder), given.short))
    print(json.dumps(found))
    return 0


if __name__ == "__main__":
    sys.exit(main())
