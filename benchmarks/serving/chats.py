"""Many chats at once, beside a script that streams from the same model server directly.

So many are in flight at once: people do not all begin in the same instant, so turns begin evenly over the time
that an answer takes, and so do those of the script.  What a turn costs each process tells how many a machine
carries.
"""

from __future__ import annotations

import asyncio
import re
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import httpx

from benchmarks.serving.deployment import PATIENCE, SERVICES, Deployment, cpu_seconds, percentiles
from benchmarks.serving.model import stamps
from deploy.local.model_server import KEY
from deploy.local.ports import LOOPBACK, free_ports
from streams.config import child_process

#: Pieces of an answer of the model, and how many it sends a second.
PIECES, RATE = 100, 20

#: Nothing that has to be asked back about, for that is done without the model; each chat says its own.
_SAID = "Please tell me story number {} of many sentences."

_MODEL = "/v1beta/models/gemini-2.5-flash:streamGenerateContent?alt=sse"
_NAME = re.compile(r"^event: (\w+)$", re.M)

#: What a turn does until its first piece is read, each step with the event that ends it.  The model sends none:
#: its piece tells when it was sent.
STEPS = {"confirmed": "turn", "remembered": "understanding", "laid": "prompt", "asked": "", "read": "text"}


class Chatted(NamedTuple):
    """Seconds to the first piece of each chat, of each piece from the model to whoever reads, and of each step
    on the way to the first piece; and what was said in chats that the model's words did not reach."""

    first: list[float]
    pieces: list[float]
    steps: dict[str, list[float]]
    unanswered: list[str]


@contextmanager
def model_server() -> Iterator[dict[str, str]]:
    """Run the model; yield the settings with which ``serve`` asks it."""
    [port] = free_ports(1)
    given = ["--port", str(port), "--pieces", str(PIECES), "--pause", str(1 / RATE)]
    process = child_process.spawn([sys.executable, "-m", "benchmarks.serving.model", *given])
    try:
        yield {
            "SWITCHBOARD_RESPONDER": "model",
            "SWITCHBOARD_MODEL_URL": f"http://{LOOPBACK}:{port}",
            "GEMINI_API_KEY": KEY,
            # As many calls as there are chats: the limits are the account's, and not what is measured.
            "SWITCHBOARD_MODEL_CALLS_IN_FLIGHT": "1000",
            "SWITCHBOARD_MODEL_REQUESTS_PER_MINUTE": "1000000",
            "SWITCHBOARD_MODEL_TOKENS_PER_MINUTE": "1000000000",
            "SWITCHBOARD_MODEL_BUDGET_USD": "1000000",
            "SWITCHBOARD_CHAT_TURNS_AT_ONCE": "1000",
        }
    finally:
        child_process.end(process, 0.0)


async def measure(deployment: Deployment, short: bool) -> dict[str, Any]:
    """Return the latency added to the first piece and to each piece (seconds), by number of parallel chats."""
    model_url = deployment.environment["SWITCHBOARD_MODEL_URL"]
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
        await _chats(client, 1, "warm", _nothing())
        for chats, rounds in ((4, 3),) if short else ((1, 5), (10, 1), (25, 1), (50, 1), (100, 1), (200, 1)):
            theirs, ours, cpu = _nothing(), _nothing(), dict.fromkeys(SERVICES, 0.0)
            for number in range(rounds):
                await _directly(direct, chats, theirs)
                before = {name: cpu_seconds(deployment.pid(name)) for name in SERVICES}
                await _chats(client, chats, f"{number}-of-{chats}", ours)
                for name in SERVICES:
                    cpu[name] += cpu_seconds(deployment.pid(name)) - before[name]
            lost = 1 - len(ours.pieces) / (chats * rounds * PIECES)
            found[str(chats)] = {
                "first": _added(ours.first, theirs.first),
                "piece": _added(ours.pieces, theirs.pieces),
                "lost": max(0.0, lost),
                "unanswered": len(ours.unanswered) / (chats * rounds),
                "steps": {step: percentiles(took) for step, took in ours.steps.items()},
                "cpu_seconds_per_turn": {name: spent / (chats * rounds) for name, spent in cpu.items()},
            }
        found["most"] = found[str(chats)]
    return found


def _added(ours: list[float], theirs: list[float]) -> dict[str, float]:
    mine, others = percentiles(ours), percentiles(theirs)
    return {name: max(0.0, mine[name] - others[name]) for name in mine}


def _nothing() -> Chatted:
    return Chatted([], [], {step: [] for step in STEPS}, [])


async def _directly(client: httpx.AsyncClient, chats: int, found: Chatted) -> None:
    body = {"contents": [{"role": "user", "parts": [{"text": _SAID}]}]}
    await _all([client.build_request("POST", _MODEL, json=body) for _ in range(chats)], client, found)


async def _chats(client: httpx.AsyncClient, chats: int, name: str, found: Chatted) -> None:
    requests = [
        client.build_request(
            "POST",
            f"/v1/conversations/chat-{name}-{number}/turns",
            json={"user_id": f"chatter-{name}-{number}", "content": _SAID.format(f"{name}-{number}")},
        )
        for number in range(chats)
    ]
    await _all(requests, client, found)


async def _all(requests: list[httpx.Request], client: httpx.AsyncClient, found: Chatted) -> None:
    """Send them evenly over the time of an answer, and read side by side; ``found`` grows by what they took."""

    async def read(number: int, request: httpx.Request) -> None:
        await asyncio.sleep(PIECES / RATE * number / len(requests))
        began, answer = time.monotonic(), await client.send(request, stream=True)
        try:
            answer.raise_for_status()
            left, said = "", ""
            reached: dict[str, float] = {}
            async for part in answer.aiter_text():
                now = time.monotonic()
                *events, left = (left + part.replace("\r\n", "\n")).split("\n\n")
                said = (said + part)[-2000:]
                for name, event in ((_name_of(event), event) for event in events):
                    sent = stamps(event) if name == "text" else []
                    if sent and "text" not in reached:
                        found.first.append(now - began)
                        reached[""] = sent[0]
                    if sent or name != "text":
                        reached.setdefault(name, now)
                    found.pieces.extend(now - at for at in sent)
            if "text" not in reached:
                found.unanswered.append(said)
                return
            for step, took in _steps(began, reached).items():
                found.steps[step].append(took)
        finally:
            await answer.aclose()

    async with asyncio.timeout(PATIENCE):
        await asyncio.gather(*(read(number, request) for number, request in enumerate(requests)))
    if len(found.unanswered) == len(requests):
        raise RuntimeError(f"no chat was answered in the model's words, but {found.unanswered[0]}")


def _name_of(event: str) -> str:
    """Return the name of an event; ``""`` for the model's own, which are plain text."""
    named = _NAME.search(event)
    return named[1] if named is not None else "text"


def _steps(began: float, reached: dict[str, float]) -> dict[str, float]:
    """Return how long each step took (seconds); one that was not reached took none."""
    found, before = {}, began
    for step, name in STEPS.items():
        at = reached.get(name, before)
        found[step] = at - before
        before = at
    return found
