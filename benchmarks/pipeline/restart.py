"""How long after ``kill -9`` the restarted worker processes again: takeover, seen from the topics."""

from __future__ import annotations

import asyncio
import json
import statistics
import subprocess
import sys
import time

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer

from benchmarks.pipeline.workload import chat_message
from streams.clients.catalog import catalog_for
from streams.config.settings import load_settings

_CONVERSATIONS = 50
_PATIENCE = 60.0


async def main(rounds: int) -> None:
    """Kill and restart a worker under a steady trickle; print the median until the next window."""
    settings = load_settings()
    catalog = catalog_for(settings)
    producer = AIOKafkaProducer(bootstrap_servers=settings.bootstrap_servers, acks="all")
    windows = AIOKafkaConsumer(
        catalog.name("memory.windows.v1"),
        bootstrap_servers=settings.bootstrap_servers,
        auto_offset_reset="earliest",
    )
    await producer.start()
    await windows.start()
    trickle = asyncio.create_task(_trickle(producer, catalog.name("chat.messages.v1")))
    worker = _start()
    seconds = []
    try:
        await _next_window(windows)
        for _ in range(rounds):
            worker.kill()
            worker.wait()
            while await windows.getmany(timeout_ms=200):
                pass
            began = time.perf_counter()
            worker = _start()
            await _next_window(windows)
            seconds.append(time.perf_counter() - began)
    finally:
        trickle.cancel()
        worker.kill()
        worker.wait()
        await windows.stop()
        await producer.stop()
    print(json.dumps({"seconds": statistics.median(seconds), "worst": max(seconds), "rounds": rounds}))


def _start() -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "streams.cli", "worker", "ingest"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


async def _trickle(producer: AIOKafkaProducer, topic: str) -> None:
    n = 0
    while True:
        key, value = chat_message(n, _CONVERSATIONS)
        await producer.send(topic, value, key=key)
        n += 1
        await asyncio.sleep(0.001)


async def _next_window(windows: AIOKafkaConsumer) -> None:
    async with asyncio.timeout(_PATIENCE):
        await windows.getone()


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1])))
