"""From the message that completes a window to its fact being found by a search over HTTP, and from a message to
its turn being found by its words.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx
import msgspec
from aiokafka import AIOKafkaProducer

from deploy.local.ports import LOOPBACK, free_ports
from models.messages import ChatMessage, Role
from streams.settings import load_settings
from streams.topics.catalog import catalog_for

#: Built-in extraction; nothing waits for idleness, since ten messages complete the window.
_WINDOW = 10
_PATIENCE = 180.0

#: Things that no other probe mentions, so that a search finds the fact of its own probe.
_THINGS = ["blueberries", "chess", "sailing", "pottery", "jazz", "tulips", "marathons", "astronomy"]


async def main(probes: int) -> None:
    """Send one conversation per probe and poll the search until its fact is there; print percentiles."""
    settings = load_settings()
    topic = catalog_for(settings).name("chat.messages.v1")
    port = free_ports(1)[0]
    logs = Path(tempfile.mkdtemp(prefix="switchboard-latency-"))
    workers = {name: _start(name, port, logs) for name in ("ingest", "memory", "recall", "serve")}
    producer = AIOKafkaProducer(bootstrap_servers=settings.bootstrap_servers, acks="all")
    await producer.start()
    seconds, turns = [], []
    try:
        async with httpx.AsyncClient(base_url=f"http://{LOOPBACK}:{port}", timeout=10) as client:
            await _ready(client)
            await _probe(client, producer, topic, "warm-up", 0)
            for n in range(probes):
                seconds.append(await _probe(client, producer, topic, f"probe-{n}", n))
                turns.append(await _turn(client, producer, topic, f"probe-{n}", n))
    except BaseException:
        _tell(workers, logs)
        raise
    finally:
        for worker in workers.values():
            worker.terminate()
        for worker in workers.values():
            worker.wait(timeout=40)
        shutil.rmtree(logs)
        await producer.stop()
    print(json.dumps({**_percentiles(seconds), "turn": _percentiles(turns), "probes": probes}))


def _percentiles(seconds: list[float]) -> dict[str, float]:
    ordered = sorted(seconds)
    return {f"p{p}": ordered[min(len(ordered) - 1, len(ordered) * p // 100)] for p in (50, 95, 99)}


def _start(service: str, port: int, logs: Path) -> subprocess.Popen[bytes]:
    command = ["serve"] if service == "serve" else ["worker", service]
    with (logs / service).open("wb") as log:
        return subprocess.Popen(
            [sys.executable, "-m", "streams.cli", *command],
            env={**os.environ, "SWITCHBOARD_API_PORT": str(port)},
            stdout=log,
            stderr=log,
        )


def _tell(workers: dict[str, subprocess.Popen[bytes]], logs: Path) -> None:
    """Print how the workers are and the ends of their logs."""
    for name, worker in workers.items():
        ended = worker.poll()
        tail = "\n".join((logs / name).read_text(errors="replace").splitlines()[-20:])
        state = "still runs" if ended is None else f"ended with {ended}"
        print(f"{name} {state}; the end of its log:\n{tail}\n", file=sys.stderr)


async def _ready(client: httpx.AsyncClient) -> None:
    async with asyncio.timeout(_PATIENCE):
        while True:
            try:
                answer = await client.get("/v1/search", params={"q": "x", "user_id": "nobody"})
                if answer.status_code == httpx.codes.OK:
                    return
            except httpx.TransportError:
                pass
            await asyncio.sleep(0.1)


async def _probe(client: httpx.AsyncClient, producer: AIOKafkaProducer, topic: str, name: str, n: int) -> float:
    thing = _THINGS[n % len(_THINGS)]
    now = datetime.now(UTC)
    for turn in range(_WINDOW):
        said = f"I really love {thing}." if turn == 0 else f"Let us go on with point {turn}."
        message = ChatMessage(
            message_id=f"{name}-{turn}",
            conversation_id=name,
            user_id=name,
            role=Role.ASSISTANT if turn % 2 else Role.USER,
            content=said,
            sent_at=now + timedelta(milliseconds=turn),
        )
        await producer.send(topic, msgspec.json.encode(message), key=name.encode())
    await producer.flush()
    began = time.perf_counter()
    async with asyncio.timeout(_PATIENCE):
        while True:
            answer = await client.get(
                "/v1/search", params={"q": thing, "user_id": name, "search_type": "facts"}
            )
            if answer.json().get("results"):
                return time.perf_counter() - began
            await asyncio.sleep(0.002)


async def _turn(client: httpx.AsyncClient, producer: AIOKafkaProducer, topic: str, name: str, n: int) -> float:
    """Return how long it takes until one more message of the conversation is found by a word of its own."""
    message = ChatMessage(
        message_id=f"{name}-turn",
        conversation_id=name,
        user_id=name,
        role=Role.USER,
        content=f"The parcel with the number {n:05}x is at the neighbours.",
        sent_at=datetime.now(UTC),
    )
    began = time.perf_counter()
    await producer.send_and_wait(topic, msgspec.json.encode(message), key=name.encode())
    asked = {"q": f"parcel {n:05}x", "user_id": name, "search_type": "turns"}
    async with asyncio.timeout(_PATIENCE):
        while True:
            results = (await client.get("/v1/search", params=asked)).json().get("results", ())
            if any(message.message_id in result["message_ids"] for result in results):
                return time.perf_counter() - began
            await asyncio.sleep(0.002)


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1])))
