"""Latency that a tool call adds to its search."""

from __future__ import annotations

import random
import time
from typing import Any

from mcp import Client

from benchmarks.quality.recall.scale import sentence
from benchmarks.serving.deployment import Deployment, percentiles


async def measure(deployment: Deployment, short: bool) -> dict[str, Any]:
    """Return the latency of ``search_memory`` and of ``/v1/search``, and the difference (s).

    Each question is asked once before, so that its vector is known to both.
    """
    count, chance, person = 20 if short else 150, random.Random(2), deployment.people[0]
    called, searched = [], []
    async with deployment.client() as client, Client(f"{deployment.url}/mcp?user_id={person}") as assistant:
        for _ in range(count):
            query = f"what about {sentence(chance, 4)}?"
            asked = {"q": query, "user_id": person}
            (await client.get("/v1/search", params=asked)).raise_for_status()
            began = time.perf_counter()
            answer = await assistant.call_tool("search_memory", {"query": query})
            called.append(time.perf_counter() - began)
            if answer.is_error:
                raise RuntimeError(f"search_memory failed: {answer.content}")
            began = time.perf_counter()
            await client.get("/v1/search", params=asked)
            searched.append(time.perf_counter() - began)
    added = [max(0.0, mine - theirs) for mine, theirs in zip(called, searched, strict=True)]
    return {"call": percentiles(called), "search": percentiles(searched), "added": percentiles(added)}
