"""A whole deployment, as one would run it: the services and ``serve``, each a process, on a real broker."""

from __future__ import annotations

import asyncio
import os
import random
import sys
import time
from collections.abc import Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import httpx
import msgspec
from aiokafka import AIOKafkaProducer

from benchmarks.quality.recall.scale import fill
from deploy.local.ports import LOOPBACK, free_ports
from models.index import VectorSpace
from models.messages import ChatMessage
from streams.clients import kafka
from streams.clients.catalog import catalog_for
from streams.clients.partitioner import partition_of
from streams.config import child_process
from streams.config.settings import load_settings
from streams.llm.embedders import open_embedder
from streams.stores.index_factory import open_index
from streams.stores.qdrant_kinds import TURNS, facts_kind
from streams.telemetry.metrics import process_metrics

SERVICES = ("ingest", "memory", "recall", "respond", "serve")
PATIENCE = 180.0


def resident_bytes(pid: int) -> int:
    """Return the resident memory of a process."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) * 1024
    raise OSError(f"/proc/{pid}/status names no VmRSS")


def cpu_seconds(pid: int) -> float:
    """Return the CPU time of a process (seconds)."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def percentiles(seconds: Sequence[float]) -> dict[str, float]:
    """Return the median, the 95th and the 99th percentile."""
    ordered = sorted(seconds)
    return {f"p{p}": ordered[min(len(ordered) - 1, len(ordered) * p // 100)] for p in (50, 95, 99)}


class Deployment:
    """Runs until it is left.  The broker, the prefix and the data folder are those of the environment."""

    def __init__(self, folder: Path, environment: dict[str, str]) -> None:
        self.settings = load_settings()
        self.catalog = catalog_for(self.settings)
        self.people: list[str] = []
        self._folder = folder
        self.environment = environment
        self._port, *ports = free_ports(1 + len(SERVICES))
        self._health = dict(zip(SERVICES, ports, strict=True))
        self._running: dict[str, Any] = {}
        self._resources = AsyncExitStack()
        self._producer: AIOKafkaProducer

    async def __aenter__(self) -> Self:
        producer = kafka.make_producer(self.settings, "bench")
        connected = kafka.connected(producer, self.settings, PATIENCE)
        self._producer = await self._resources.enter_async_context(connected)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is not None:
            self._tell()
        for process in self._running.values():
            child_process.end(process, 0.0)
        await self._resources.aclose()

    @property
    def url(self) -> str:
        """Where ``serve`` answers."""
        return f"http://{LOOPBACK}:{self._port}"

    def client(self) -> httpx.AsyncClient:
        """Return a client that keeps its connections."""
        # Let go of sooner than serve does: a request that meets one just being closed fails.
        limits = httpx.Limits(max_connections=None, max_keepalive_connections=None, keepalive_expiry=2.0)
        return httpx.AsyncClient(base_url=self.url, timeout=60.0, trust_env=False, limits=limits)

    async def fill(self, size: int) -> None:
        """Store facts and turns with vectors before anything runs: half of each."""
        async with AsyncExitStack() as resources:
            embedder = await open_embedder(self.settings, resources, process_metrics())
            space = VectorSpace(embedder.model, embedder.dimensions)
            facts = open_index(self.settings, facts_kind(self.settings.decay_rates), space)
            resources.push_async_callback(facts.close)
            turns = open_index(self.settings, TURNS, space)
            resources.push_async_callback(turns.close)
            self.people = await fill(facts, turns, size, one=False, chance=random.Random(size))

    async def start(self, *names: str) -> None:
        """Start services side by side, and wait until all of them are ready."""
        for name in names:
            command = [name] if name == "serve" else ["worker", name]
            own = {"SWITCHBOARD_METRICS_PORT": str(self._health[name]), "SWITCHBOARD_API_PORT": str(self._port)}
            with (self._folder / f"{name}.log").open("ab") as log:
                self._running[name] = child_process.spawn(
                    [sys.executable, "-m", "streams.cli", *command], output=log, env=self.environment | own
                )
        async with httpx.AsyncClient(trust_env=False, timeout=10.0) as client, asyncio.timeout(PATIENCE):
            for name in names:
                while not await self._is_ready(client, name):
                    await asyncio.sleep(0.1)

    async def _is_ready(self, client: httpx.AsyncClient, name: str) -> bool:
        if self._running[name].poll() is not None:
            raise RuntimeError(f"{name} ended with {self._running[name].returncode}")
        try:
            return (await client.get(f"http://{LOOPBACK}:{self._health[name]}/readyz")).is_success
        except httpx.TransportError:
            return False

    def pid(self, name: str) -> int:
        """Return the process of a service."""
        pid: int = self._running[name].pid
        return pid

    async def stop(self, name: str) -> float:
        """Stop a service as an operator does; return how long that took (seconds)."""
        process = self._running.pop(name)
        began = time.perf_counter()
        process.terminate()
        await asyncio.to_thread(process.wait, 60)
        return time.perf_counter() - began

    async def records(self, service: str, topic: str) -> float:
        """Return how many records of a topic a service has been given."""
        return await self._counted(service, "records", topic)

    async def outputs(self, service: str, topic: str) -> float:
        """Return how many records a service has written to a topic."""
        return await self._counted(service, "outputs", topic)

    async def _counted(self, service: str, what: str, topic: str) -> float:
        async with httpx.AsyncClient(trust_env=False, timeout=10.0) as client:
            told = (await client.get(f"http://{LOOPBACK}:{self._health[service]}/metrics")).text
        lines = (line for line in told.splitlines() if line.startswith(f"switchboard_{what}_total{{"))
        return sum(float(line.rpartition(" ")[2]) for line in lines if f'topic="{topic}"' in line)

    async def say(self, message: ChatMessage) -> None:
        """Publish a message; it is confirmed when this returns."""
        spec, key = self.catalog.get("chat.messages.v1"), message.conversation_id.encode()
        await self._producer.send_and_wait(
            spec.name, msgspec.json.encode(message), key=key, partition=partition_of(key, spec.partitions)
        )

    def _tell(self) -> None:
        """Print how the services are, and the ends of their logs."""
        for name, process in self._running.items():
            ended = process.poll()
            lines = (self._folder / f"{name}.log").read_text(errors="replace").splitlines()[-20:]
            state = "still runs" if ended is None else f"ended with {ended}"
            print(f"{name} {state}; the end of its log:", *lines, "", sep="\n", file=sys.stderr)
