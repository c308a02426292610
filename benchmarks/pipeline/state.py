"""State of many conversations in a real worker: memory, CPU a message, and how soon it is back.

The same messages are read twice: by a worker that moves state beyond ``SWITCHBOARD_STATE_MEMORY_MB`` to files,
and by one that keeps all of it in memory.  Then each starts on what compaction leaves of the changelog.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition

from benchmarks.pipeline.load import PARTITIONS, send
from streams.admin.topics import admin
from streams.clients.catalog import catalog_for
from streams.config.settings import Settings, load_settings

#: Messages of a conversation, and conversations that go on at the same time.
TURNS = 10
LIVE = 20_000

MESSAGES = "chat.messages.v1"
CHANGELOG = "switchboard-ingest-conversations-changelog"

#: Generations: their state is their own, the messages are everybody's.  The last one starts anew.
_MODES = {"moved": 1024, "in-memory": 1_000_000}
_STILL_SECONDS = 120.0


def numbers(conversations: int) -> Iterator[int]:
    """Yield the messages in the order in which they are said."""
    for first in range(0, conversations, LIVE):
        for turn in range(TURNS):
            for number in range(first, min(first + LIVE, conversations)):
                yield turn * conversations + number


class Worker:
    """``switchboard worker ingest`` of a generation."""

    def __init__(self, generation: str, megabytes: int) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self._port = free.getsockname()[1]
        environment = os.environ | {
            "SWITCHBOARD_GENERATION": generation,
            "SWITCHBOARD_STATE_MEMORY_MB": str(megabytes),
            "SWITCHBOARD_METRICS_PORT": str(self._port),
            "SWITCHBOARD_INSTANCE_ID": generation,
        }
        with Path(f"{generation}.log").open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "streams.cli", "worker", "ingest"],
                env=environment,
                stdout=log,
                stderr=log,
            )

    def metric(self, name: str, label: str = "") -> float:
        """Return the sum of a metric's samples that bear ``label``; 0 while the worker does not answer."""
        if self._process.poll() is not None:
            raise SystemExit(f"the worker ended with {self._process.returncode}")
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self._port}/metrics", timeout=30) as answer:
                lines = answer.read().decode().splitlines()
        except OSError:
            return 0.0
        found = [line for line in lines if line.startswith(f"switchboard_{name}") and label in line]
        return sum(float(line.rpartition(" ")[2]) for line in found)

    def done(self) -> float:
        """Return how many messages were taken in."""
        return self.metric("records_total{", f'topic="{MESSAGES}"')

    def cpu_seconds(self) -> float:
        """Return the CPU time so far."""
        fields = Path(f"/proc/{self._process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def peak_bytes(self) -> int:
        """Return the most memory that was resident."""
        status = Path(f"/proc/{self._process.pid}/status").read_text()
        return int(status.partition("VmHWM:")[2].split()[0]) * 1024

    def wait_for(self, messages: float) -> None:
        """Wait until so many messages are taken in."""
        latest, moved_at = -1.0, time.monotonic()
        while (done := self.done()) < messages:
            if done > latest:
                latest, moved_at = done, time.monotonic()
            if time.monotonic() - moved_at > _STILL_SECONDS:
                raise SystemExit(f"the worker stands still at {done:g} of {messages:g}")
            time.sleep(0.05 if messages == 1 else 1.0)

    def kill(self) -> None:
        """End it at once."""
        self._process.send_signal(signal.SIGKILL)
        self._process.wait()


@contextmanager
def running(generation: str, megabytes: int) -> Iterator[Worker]:
    """Run a worker until the block ends."""
    worker = Worker(generation, megabytes)
    try:
        yield worker
    finally:
        worker.kill()


def settings_of(generation: str) -> Settings:
    """Return the settings of a generation."""
    return load_settings(generation=generation)


async def compact(source: str, target: str) -> int:
    """Write the latest value of each key of a generation's changelog to that of another; return how many."""
    settings = settings_of(source)
    names = catalog_for(settings).name(CHANGELOG), catalog_for(settings_of(target)).name(CHANGELOG)
    written = 0
    for partition in range(PARTITIONS):
        latest = await _latest(settings.bootstrap_servers, TopicPartition(names[0], partition))
        async with AIOKafkaProducer(bootstrap_servers=settings.bootstrap_servers, acks="all") as producer:
            builder = producer.create_batch()
            for key, value in latest.items():
                if builder.append(timestamp=None, key=key, value=value) is None:
                    await producer.send_batch(builder, names[1], partition=partition)
                    builder = producer.create_batch()
                    builder.append(timestamp=None, key=key, value=value)
            await (await producer.send_batch(builder, names[1], partition=partition))
        written += len(latest)
    return written


async def _latest(servers: str, tp: TopicPartition) -> dict[bytes, bytes]:
    latest: dict[bytes, bytes] = {}
    consumer = AIOKafkaConsumer(bootstrap_servers=servers, max_partition_fetch_bytes=8 << 20)
    await consumer.start()
    try:
        consumer.assign([tp])
        await consumer.seek_to_beginning(tp)
        end = (await consumer.end_offsets([tp]))[tp]
        while await consumer.position(tp) < end:
            for records in (await consumer.getmany(timeout_ms=1000)).values():
                latest |= {record.key: record.value for record in records}
    finally:
        await consumer.stop()
    return latest


def main(conversations: int) -> None:
    """Measure and print."""
    servers, count = load_settings().bootstrap_servers, conversations * TURNS
    for generation in (*_MODES, "again"):
        settings = settings_of(generation)
        asyncio.run(admin.apply(catalog_for(settings), settings, timeout_seconds=120))
    topic = catalog_for(load_settings()).name(MESSAGES)
    asyncio.run(send(servers, topic, numbers(conversations), conversations))
    figures: dict[str, Any] = {"conversations": conversations, "messages": count}
    for mode, megabytes in _MODES.items():
        with running(mode, megabytes) as worker:
            worker.wait_for(1)
            before, at, cpu = worker.done(), time.monotonic(), worker.cpu_seconds()
            worker.wait_for(count)
            messages = count - before
            figures[mode] = {
                "microseconds": (worker.cpu_seconds() - cpu) / messages * 1e6,
                "rate": messages / (time.monotonic() - at),
                "peak_bytes": worker.peak_bytes(),
                "file_bytes": worker.metric("state_bytes{", 'place="file"'),
            }
        print(json.dumps(figures), file=sys.stderr, flush=True)
    figures["states"] = asyncio.run(compact(next(iter(_MODES)), "again"))
    for mode, megabytes in _MODES.items():
        began = time.monotonic()
        with running("again", megabytes) as worker:
            worker.wait_for(1)
            figures[mode] |= {
                "restart_seconds": time.monotonic() - began,
                "restart_cpu_seconds": worker.cpu_seconds(),
                "recovery_seconds": worker.metric("recovery_seconds{"),
                "restart_peak_bytes": worker.peak_bytes(),
            }
    figures["ratio"] = figures["moved"]["microseconds"] / figures["in-memory"]["microseconds"]
    print(json.dumps(figures))


if __name__ == "__main__":
    main(int(sys.argv[1]))
