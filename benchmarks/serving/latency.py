"""From the message that completes a window to its fact being found by a search over HTTP, and from a message to
its turn being found by its words.
"""

from __future__ import annotations

import asyncio
import time
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx

from benchmarks.serving.deployment import PATIENCE, Deployment, percentiles
from models.messages import ChatMessage, Role

#: Built-in extraction; nothing waits for idleness, since ten messages complete the window.
WINDOW = 10

#: Things that no other probe mentions, so that a search finds the fact of its own probe.
_THINGS = ["blueberries", "chess", "sailing", "pottery", "jazz", "tulips", "marathons", "astronomy"]


async def measure(deployment: Deployment, short: bool) -> dict[str, Any]:
    """Send one conversation per probe and poll the search until its fact is there (seconds)."""
    probes = 10 if short else 200
    await probe(deployment, "warm-up", 0)
    found = [await probe(deployment, f"probe-{n}", n) for n in range(probes)]
    facts, turns = zip(*found, strict=True)
    return {**percentiles(facts), "turn": percentiles(turns), "probes": probes}


async def probe(deployment: Deployment, name: str, n: int) -> tuple[float, float]:
    """Return how long a message takes to its fact, and another to its turn (seconds)."""
    async with deployment.client() as client:
        return await _fact(client, deployment, name, n), await _turn(client, deployment, name, n)


def message(name: str, number: int, text: str) -> ChatMessage:
    """Return a message of a conversation and a person of the same name."""
    return ChatMessage(
        message_id=f"{name}-{number}",
        conversation_id=name,
        user_id=name,
        role=Role.ASSISTANT if number % 2 else Role.USER,
        content=text,
        sent_at=datetime.now(UTC) + timedelta(milliseconds=number),
    )


async def _fact(client: httpx.AsyncClient, deployment: Deployment, name: str, n: int) -> float:
    thing, said = window(name, n)
    for each in said:
        await deployment.say(each)
    began = time.perf_counter()
    asked = {"q": thing, "user_id": name, "search_type": "facts"}
    async with asyncio.timeout(PATIENCE):
        while not (await client.get("/v1/search", params=asked)).json().get("results"):
            await asyncio.sleep(0.002)
    return time.perf_counter() - began


def window(name: str, n: int) -> tuple[str, list[ChatMessage]]:
    """Return the messages of a window that holds a fact, and the word by which that is found."""
    thing = _THINGS[n % len(_THINGS)]
    lines = [f"I really love {thing}.", *(f"Let us go on with point {turn}." for turn in range(1, WINDOW))]
    return thing, [message(name, number, text) for number, text in enumerate(lines)]


async def _turn(client: httpx.AsyncClient, deployment: Deployment, name: str, n: int) -> float:
    """Return how long it takes until one more message of the conversation is found by a word of its own."""
    said = message(name, WINDOW, f"The parcel with the number {n:05}x is at the neighbours.")
    began = time.perf_counter()
    await deployment.say(said)
    asked = {"q": f"parcel {n:05}x", "user_id": name, "search_type": "turns"}
    async with asyncio.timeout(PATIENCE):
        while True:
            results = (await client.get("/v1/search", params=asked)).json().get("results", ())
            if any(said.message_id in result["message_ids"] for result in results):
                return time.perf_counter() - began
            await asyncio.sleep(0.002)
