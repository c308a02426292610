"""How a Kafka node is: whether it answers a client, and what its log says of why it does not."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from aiokafka.errors import KafkaError

from streams.clients.kafka import make_admin
from streams.config.settings import Settings

_ADVICE = [
    (r"No space left on device", "the disk is full: free some space, or give another folder"),
    (r"Address already in use", "a port is taken by another process: choose another"),
    (r"Failed to acquire lock on file", "another Kafka runs on this folder: stop it, or give another folder"),
    (r"Could not reserve enough space|insufficient memory|OutOfMemoryError", "there is too little free memory"),
    (r"UnsupportedClassVersionError", "this Java is too old for Kafka: run `make install`, which brings one"),
    (
        r"Invalid cluster\.id|meta\.properties",
        "this folder is damaged or belongs to another Kafka: give an empty one",
    ),
]


def advice(log: str) -> str:
    """Return advice for the error at the end of a broker's log."""
    return next((advice for pattern, advice in _ADVICE if re.search(pattern, log)), "see the log")


def tail(files: Iterable[Path], lines: int) -> str:
    """Return the last lines of each file that there is, without stack frames."""
    parts = []
    for path in files:
        if path.exists():
            text = path.read_text(errors="replace")
            parts.extend([line for line in text.splitlines() if not line.startswith("\tat ")][-lines:])
    return "\n".join(parts)


def answers(settings: Settings) -> bool:
    """Say whether a client gets metadata that names a broker: in a thread, as the caller may have a loop."""

    async def ask() -> bool:
        client = make_admin(settings, "switchboard-local", request_timeout_ms=5000)
        try:
            async with asyncio.timeout(5):
                await client.start()
                cluster = await client.describe_cluster()
            return bool(cluster["brokers"])
        except (KafkaError, OSError, TimeoutError):
            return False
        finally:
            await client.close()

    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, ask()).result()
