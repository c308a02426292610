"""Search and writing over one kept connection."""

from __future__ import annotations

import asyncio
import random
import time
from typing import Any

from benchmarks.quality.recall.scale import sentence
from benchmarks.serving.deployment import Deployment, percentiles
from streams.stores.remembered.recall_rpc import ask_recall, recall_socket
from streams.stores.search import Wanted

_BATCH, _AT_ONCE = 1_000, 2


async def measure(deployment: Deployment, short: bool) -> dict[str, Any]:
    """Return the latency of an uncached search, its HTTP share, and the latency of a write (seconds)."""
    searches, posts, batches = (30, 20, 2) if short else (300, 300, 20)
    return {
        **await _searching(deployment, searches),
        "post": await _posting(deployment, posts),
        "batch_rate": await _batches(deployment, batches),
    }


async def _searching(deployment: Deployment, count: int) -> dict[str, Any]:
    chance = random.Random(1)
    asked = [
        {"q": f"what about {sentence(chance, 4)}?", "user_id": chance.choice(deployment.people)}
        for _ in range(count)
    ]
    seconds, over_http, over_socket = [], [], []
    remembered, remote = ask_recall(recall_socket(deployment.settings))
    try:
        async with deployment.client() as client:

            async def search(question: dict[str, str]) -> float:
                began = time.perf_counter()
                answer = await client.get("/v1/search", params=question)
                took = time.perf_counter() - began
                answer.raise_for_status()
                return took

            await search(asked[0])
            for question in asked:
                seconds.append(await search(question))
            # The vectors are known now: the same question once more, and past HTTP where serve asks it.
            for question in asked[: count // 2]:
                over_http.append(await search(question))
                began = time.perf_counter()
                await remembered.search.search(Wanted(query=question["q"], user_id=question["user_id"]))
                over_socket.append(time.perf_counter() - began)
    finally:
        await remote.close()
    http = percentiles(over_http)["p50"] - percentiles(over_socket)["p50"]
    return {"search": percentiles(seconds), "http": max(0.0, http)}


async def _posting(deployment: Deployment, count: int) -> dict[str, float]:
    async with deployment.client() as client:
        seconds = []
        for number in range(count + 5):
            said = {"conversation_id": f"posted-{number % 10}", "role": "user", "content": f"Line {number}."}
            began = time.perf_counter()
            (
                await client.post("/v1/messages", json={"messages": [said], "user_id": "poster"})
            ).raise_for_status()
            seconds.append(time.perf_counter() - began)
    return percentiles(seconds[5:])


async def _batches(deployment: Deployment, count: int) -> float:
    """Return how many messages a second are confirmed in full batches, of which two are on their way."""
    bodies = [
        {
            "user_id": "importer",
            "messages": [
                {
                    "conversation_id": f"batch-{n}-{at % 50}",
                    "role": "assistant" if at % 2 else "user",
                    "content": f"Message {at} of the import: we talked about the garden and the weather.",
                }
                for at in range(_BATCH)
            ],
        }
        for n in range(count)
    ]
    async with deployment.client() as client:

        async def send(mine: list[dict[str, Any]]) -> None:
            for body in mine:
                (await client.post("/v1/messages", json=body)).raise_for_status()

        began = time.perf_counter()
        await asyncio.gather(*(send(bodies[at::_AT_ONCE]) for at in range(_AT_ONCE)))
        return count * _BATCH / (time.perf_counter() - began)
