"""Runs of the pipeline benchmarks: topics and processes of their own, figures as JSON."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from aiokafka.admin import NewTopic

from benchmarks.pipeline.load import PARTITIONS, fill
from benchmarks.serving.capacity import BROKER_FOLDER, BROKER_PID
from deploy.local.kafka import LocalKafka
from streams.admin.topics import admin, cluster
from streams.clients.catalog import load_catalog
from streams.config.settings import Settings

Figures = dict[str, Any]

_TIMEOUT = 1800
_TOPICS_TIMEOUT = 120


class Runner:
    """Runs benchmarks on one broker.  ``short`` divides the loads by fifty, or by ten."""

    def __init__(self, kafka: LocalKafka, folder: Path, *, short: bool, rounds: int) -> None:
        self._servers = kafka.bootstrap_servers
        self._broker_pid = kafka.pid
        os.environ |= {BROKER_PID: str(kafka.pid), BROKER_FOLDER: str(kafka.data_dir)}
        self._folder = folder
        self._short = short
        self._scale = 0.02 if short else 1.0
        self._rounds = 1 if short else rounds
        self._turn = 0

    def _count(self, count: int) -> int:
        return max(200, int(count * self._scale))

    def _lasting(self, count: int) -> int:
        """Enough to find all processes at work at once: of less, one is done before another begins."""
        return max(self._count(count), count // 10)

    def _prepare(self, count: int, conversations: int, *targets: str, partitions: int = PARTITIONS) -> str:
        """Make topics under a prefix of their own, fill the source, and return the prefix."""
        prefix = self._prefix()
        settings = Settings(bootstrap_servers=self._servers)
        asyncio.run(
            admin.apply(load_catalog(prefix, _counts(partitions)), settings, timeout_seconds=_TOPICS_TIMEOUT)
        )
        if targets:
            asyncio.run(make_topics(self._servers, [prefix + target for target in targets]))
        if count:
            asyncio.run(fill(self._servers, f"{prefix}chat.messages.v1", count, conversations, 0, partitions))
        return prefix

    def _prefix(self) -> str:
        """Return a new prefix, which is all that those need who ask nothing of Kafka."""
        self._turn += 1
        return f"bench{self._turn}."

    def _contender(self, module: str, source: str, target: str, *arguments: str) -> float:
        result = self._json("", f"benchmarks.pipeline.{module}", self._servers, source, target, *arguments)
        return float(result["rate"])

    def _runtime(self, prefix: str, *arguments: str) -> Figures:
        return self._json(prefix, "benchmarks.pipeline.switchboard_runtime", *arguments)

    def _json(self, prefix: str, module: str, *arguments: str) -> Figures:
        return last_figures(self._module(prefix, module, *arguments)[0])

    def _module(self, prefix: str, module: str, *arguments: str) -> tuple[str, str]:
        return self._command(prefix, [sys.executable, "-m", module, *arguments])

    def _command(self, prefix: str, command: list[str]) -> tuple[str, str]:
        done = subprocess.run(
            command,
            env=self._environment(prefix),
            cwd=self._folder,  # Faust leaves a folder where it runs
            capture_output=True,
            text=True,
            timeout=_TIMEOUT,
            check=False,
        )
        if done.returncode:
            raise SystemExit(
                f"{' '.join(command)[:200]} failed ({done.returncode}):\n"
                f"{done.stdout[-2000:]}\n{done.stderr[-12000:]}"
            )
        return done.stdout, done.stderr

    def _environment(self, prefix: str, partitions: int = PARTITIONS) -> dict[str, str]:
        return {
            **{name: value for name, value in os.environ.items() if not name.startswith("SWITCHBOARD_")},
            "SWITCHBOARD_BOOTSTRAP_SERVERS": self._servers,
            "SWITCHBOARD_TOPIC_PREFIX": prefix,
            "SWITCHBOARD_PARTITIONS": _counts(partitions),
            "SWITCHBOARD_DATA_DIR": str(self._folder / "data" / (prefix or "none")),
            "SWITCHBOARD_METRICS_PORT": "0",
            "SWITCHBOARD_API_PORT": "0",
            "SWITCHBOARD_INSTANCE_ID": "bench",
            "PYTHONPATH": str(Path.cwd()),
        }


def _counts(partitions: int) -> str:
    return f"chat.messages.v1={partitions}"


def last_figures(printed: str) -> Figures:
    """Return the last line of figures that a process printed."""
    figures: Figures = json.loads([line for line in printed.splitlines() if line.startswith("{")][-1])
    return figures


async def make_topics(servers: str, names: list[str]) -> None:
    """Make topics; return when each of their partitions has a leader: contenders look for them at once."""
    async with cluster.connected(Settings(bootstrap_servers=servers), _TOPICS_TIMEOUT) as client:
        answer = await client.create_topics([NewTopic(name, PARTITIONS, 1) for name in names])
        if refused := [error for error in answer.topic_errors if error[1]]:
            raise SystemExit(f"topics were not made: {refused}")
        ready: set[str] = set()
        while not ready.issuperset(names):
            found = await cluster.describe(client, names)
            ready = {name for name, topic in found.items() if topic.ready}
            await asyncio.sleep(0.1)
