"""Those who watch: what they take in memory, what they take from ingest, and how soon they are let go."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from contextlib import AsyncExitStack
from typing import Any

from benchmarks.pipeline.load import fill
from benchmarks.serving.deployment import PATIENCE, Deployment, resident_bytes
from deploy.local.ports import LOOPBACK

_MESSAGES = "chat.messages.v1"
_CONVERSATIONS = 3_000


async def measure(deployment: Deployment, short: bool) -> dict[str, Any]:
    """Return bytes of idle streams, the rate of ingest, watched and not, and what a stop takes (seconds)."""
    idle, watchers, open_at_stop = (50, 5, 20) if short else (1_000, 50, 200)
    load, rounds = (3_000, 1) if short else (40_000, 3)
    before = resident_bytes(deployment.pid("serve"))
    async with _streams(deployment, [f"idle-{n}" for n in range(idle)]):
        taken = resident_bytes(deployment.pid("serve")) - before
    unwatched, watched = [], []
    sent = 0
    for _ in range(rounds):
        unwatched.append(await _rate(deployment, sent, load))
        async with _streams(deployment, [f"conversation-{n:06d}" for n in range(watchers)]):
            watched.append(await _rate(deployment, sent + load, load))
        sent += 2 * load
    ratios = sorted(mine / theirs for mine, theirs in zip(watched, unwatched, strict=True))
    async with _streams(deployment, [f"open-{n}" for n in range(open_at_stop)]):
        stopped = await deployment.stop("serve")
    await deployment.start("serve")
    return {
        "idle_streams": idle,
        "idle_bytes": max(0, taken),
        "rate": sorted(unwatched)[len(unwatched) // 2],
        "watched": ratios[len(ratios) // 2],
        "stop_seconds": stopped,
    }


class _streams:
    """Open streams of events, each known to be live, and read whatever comes."""

    def __init__(self, deployment: Deployment, conversations: list[str]) -> None:
        self._port = int(deployment.url.rpartition(":")[2])
        self._conversations = conversations
        self._resources = AsyncExitStack()

    async def __aenter__(self) -> None:
        async with asyncio.timeout(PATIENCE):
            for at in range(0, len(self._conversations), 50):
                await asyncio.gather(*map(self._open, self._conversations[at : at + 50]))

    async def __aexit__(self, *_: object) -> None:
        await self._resources.aclose()

    async def _open(self, conversation: str) -> None:
        reader, writer = await asyncio.open_connection(LOOPBACK, self._port)
        self._resources.callback(writer.close)
        asked = (
            f"GET /v1/events?conversation_id={conversation} HTTP/1.1\r\nHost: {LOOPBACK}:{self._port}\r\n\r\n"
        )
        writer.write(asked.encode())
        head = await reader.readuntil(b"event: ready")
        if b" 200 " not in head.splitlines()[0]:
            raise RuntimeError(f"a stream was refused: {head[:200]!r}")
        drain = asyncio.create_task(self._drain(reader))
        self._resources.callback(drain.cancel)

    @staticmethod
    async def _drain(reader: asyncio.StreamReader) -> None:
        while await reader.read(1 << 16):
            pass


async def _rate(deployment: Deployment, first: int, count: int) -> float:
    """Return how many messages a second ingest takes of what has piled up."""
    before, pid = await deployment.records("ingest", _MESSAGES), deployment.pid("ingest")
    topic = deployment.catalog.name(_MESSAGES)
    os.kill(pid, signal.SIGSTOP)
    try:
        await fill(deployment.settings.bootstrap_servers, topic, count, _CONVERSATIONS, first)
    finally:
        os.kill(pid, signal.SIGCONT)
    began = time.perf_counter()
    async with asyncio.timeout(PATIENCE):
        while await deployment.records("ingest", _MESSAGES) < before + count:
            await asyncio.sleep(0.02)
    return count / (time.perf_counter() - began)
