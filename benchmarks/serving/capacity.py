"""Resources that a deployment takes, at two points: CPU a message, memory, bytes on every disk.

    python -m benchmarks --only capacity

Chat is that of the Notebook's made-up people, who say something worth keeping in every second message: denser
than most.  The figures in :mod:`streams.admin.sizing` come from here.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import tempfile
from collections import defaultdict
from pathlib import Path
from typing import Any

from aiokafka import TopicPartition

from benchmarks.serving import talk
from benchmarks.serving.deployment import SERVICES, Deployment, cpu_seconds, resident_bytes
from streams.clients.kafka import broker
from streams.clients.local_valkey import LocalValkey
from streams.clients.redis_client import open_socket

#: Messages a second.  Of what comes faster than it is answered, only the latest turn of a conversation has a
#: context made, which would count too little.
_RATE = 12.0

#: Process and folder of the broker, which the suite has started.
BROKER_PID, BROKER_FOLDER = "BENCH_BROKER_PID", "BENCH_BROKER_FOLDER"


async def main(sizes: list[int]) -> None:
    """Send so many messages in all, one size after the other, and print what is there after each."""
    with tempfile.TemporaryDirectory(prefix="switchboard-capacity-") as folder:
        async with Deployment(Path(folder), dict(os.environ)) as deployment:
            await deployment.start(*SERVICES)
            before, found, sent = {"messages": 0, **await _look(deployment)}, [], 0
            for size in sizes:
                await talk.say(deployment, size - sent, sent, _RATE)
                await talk.quiet(deployment)
                found.append({"messages": size, **await _look(deployment)})
                sent = size
    print(json.dumps({"before": before, "points": found}))


async def _look(deployment: Deployment) -> dict[str, Any]:
    pids = {name: deployment.pid(name) for name in SERVICES} | {"kafka": int(os.environ[BROKER_PID])}
    disks, kept = _on_disk(deployment), await _kept(deployment)
    return {
        "cpu_seconds": {name: cpu_seconds(pid) for name, pid in pids.items()},
        "resident_bytes": {name: resident_bytes(pid) for name, pid in pids.items()},
        "topics": {name: {"bytes": disks[name], **kept[name]} for name in sorted(disks) if disks[name]},
        "redis_bytes": await _redis(deployment),
        "index_bytes": _bytes(deployment.settings.folder / "qdrant"),
    }


def _on_disk(deployment: Deployment) -> dict[str, int]:
    """Return the bytes of each topic in the broker's log, by contract name."""
    folder = Path(os.environ[BROKER_FOLDER]) / "log"
    found: dict[str, int] = defaultdict(int)
    for spec in deployment.catalog.all():
        for partition in range(spec.partitions):
            found[spec.contract_name] += _bytes(folder / f"{spec.name}-{partition}", "*.log")
    return found


def _bytes(folder: Path, pattern: str = "*") -> int:
    return sum(each.stat().st_blocks * 512 for each in folder.rglob(pattern) if each.is_file())


async def _kept(deployment: Deployment) -> dict[str, dict[str, float]]:
    """Return of each topic its records, and the share of its bytes that compaction would leave."""
    found = {}
    async with broker.reading(deployment.settings) as consumer:
        for spec in deployment.catalog.all():
            places = [TopicPartition(spec.name, number) for number in range(spec.partitions)]
            consumer.assign(places)
            records, size, last = 0, 0, dict[bytes | None, int]()
            async for record in broker.until(consumer, await broker.ends_of(consumer, places)):
                bytes_of = len(record.key or b"") + len(record.value or b"")
                records, size = records + 1, size + bytes_of
                last[record.key] = bytes_of if record.value is not None else 0
            left = sum(last.values()) / size if size else 0.0
            found[spec.contract_name] = {"records": records, "left": left if spec.is_compacted else 1.0}
    return found


async def _redis(deployment: Deployment) -> int:
    client = open_socket(LocalValkey(deployment.settings.folder, "recall").socket)
    try:
        return int((await client.info("memory"))["used_memory"])
    finally:
        await client.aclose()


if __name__ == "__main__":
    asyncio.run(main([int(size) for size in sys.argv[1:]]))
