"""Many chats at once, beside a script that streams from the same model server directly."""

from __future__ import annotations

import asyncio
import re
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import httpx

from benchmarks.serving.deployment import PATIENCE, Deployment, percentiles
from benchmarks.serving.model import stamps
from deploy.local.model_server import KEY
from deploy.local.ports import LOOPBACK, free_ports
from streams import leash

#: Pieces of an answer of the model, and how many it sends a second.
PIECES, RATE = 100, 20

#: Nothing that has to be asked back about, for that is done without the model.
_SAID = "Please tell me a story of many sentences."

_MODEL = "/v1beta/models/gemini-2.5-flash:streamGenerateContent?alt=sse"
_TEXT = re.compile(r"\nevent: text\n")


class Chatted(NamedTuple):
    """Seconds to the first piece of each chat, and of each piece from the model to whoever reads."""

    first: list[float]
    pieces: list[float]


@contextmanager
def model_server() -> Iterator[dict[str, str]]:
    """Run the model; yield the settings with which ``serve`` asks it."""
    [port] = free_ports(1)
    given = ["--port", str(port), "--pieces", str(PIECES), "--pause", str(1 / RATE)]
    process = leash.spawn([sys.executable, "-m", "benchmarks.serving.model", *given])
    try:
        yield {
            "SWITCHBOARD_RESPONDER": "gemini",
            "SWITCHBOARD_GEMINI_URL": f"http://{LOOPBACK}:{port}",
            "GEMINI_API_KEY": KEY,
            # As many calls as there are chats: the limits are the account's, and not what is measured.
            "SWITCHBOARD_GEMINI_CALLS_IN_FLIGHT": "1000",
            "SWITCHBOARD_GEMINI_REQUESTS_PER_MINUTE": "1000000",
            "SWITCHBOARD_GEMINI_TOKENS_PER_MINUTE": "1000000000",
            "SWITCHBOARD_MODEL_BUDGET_USD": "1000000",
        }
    finally:
        leash.end(process, 0.0)


async def measure(deployment: Deployment, short: bool) -> dict[str, Any]:
    """Return what we add to the first piece and to each piece (seconds), by how many chat at once."""
    model_url = deployment.environment["SWITCHBOARD_GEMINI_URL"]
    found: dict[str, Any] = {}
    async with (
        deployment.client() as client,
        httpx.AsyncClient(
            base_url=model_url,
            headers={"x-goog-api-key": KEY},
            timeout=60.0,
            trust_env=False,
            limits=httpx.Limits(max_connections=None),
        ) as direct,
    ):
        await _chats(client, 1, "warm")
        for chats in (4,) if short else (25, 50, 100, 200):
            theirs, ours = await _directly(direct, chats), await _chats(client, chats, f"of-{chats}")
            lost = 1 - len(ours.pieces) / (chats * PIECES)
            found[str(chats)] = {
                "first": _added(ours.first, theirs.first),
                "piece": _added(ours.pieces, theirs.pieces),
                "lost": max(0.0, lost),
            }
        found["most"] = found[str(chats)]
    return found


def _added(ours: list[float], theirs: list[float]) -> dict[str, float]:
    mine, others = percentiles(ours), percentiles(theirs)
    return {name: max(0.0, mine[name] - others[name]) for name in mine}


async def _directly(client: httpx.AsyncClient, chats: int) -> Chatted:
    body = {"contents": [{"role": "user", "parts": [{"text": _SAID}]}]}
    return await _all(
        [client.build_request("POST", _MODEL, json=body) for _ in range(chats)], client, lambda _: True
    )


async def _chats(client: httpx.AsyncClient, chats: int, name: str) -> Chatted:
    requests = [
        client.build_request(
            "POST",
            f"/v1/conversations/chat-{name}-{number}/turns",
            json={"user_id": f"chatter-{name}-{number}", "content": _SAID},
        )
        for number in range(chats)
    ]
    return await _all(requests, client, lambda event: _TEXT.search("\n" + event) is not None)


async def _all(requests: list[httpx.Request], client: httpx.AsyncClient, is_text: Any) -> Chatted:
    """Send all at once, and read them side by side."""
    found = Chatted([], [])
    others: list[str] = []

    async def read(request: httpx.Request) -> None:
        began, answer = time.monotonic(), await client.send(request, stream=True)
        try:
            answer.raise_for_status()
            left, said, is_first = "", "", True
            async for part in answer.aiter_text():
                now = time.monotonic()
                *events, left = (left + part.replace("\r\n", "\n")).split("\n\n")
                said = (said + part)[-2000:]
                for at in (at for event in events if is_text(event) for at in stamps(event)):
                    if is_first:
                        found.first.append(now - began)
                        is_first = False
                    found.pieces.append(now - at)
            if is_first:
                others.append(said)
        finally:
            await answer.aclose()

    async with asyncio.timeout(PATIENCE):
        await asyncio.gather(*map(read, requests))
    if others:
        raise RuntimeError(f"{len(others)} chats were not answered in the model's words, but {others[0]}")
    return found
