"""The pipeline benchmarks: who takes part, with what load, and how the figures are put together."""

from __future__ import annotations

import asyncio
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from aiokafka.admin import NewTopic

from benchmarks.pipeline.cores import Contender, Run, side_by_side
from benchmarks.pipeline.load import PARTITIONS, fill
from benchmarks.serving.capacity import BROKER_FOLDER, BROKER_PID
from deploy.local.kafka import LocalKafka
from streams.admin.topics import admin, cluster
from streams.clients.catalog import load_catalog
from streams.config.settings import Settings

Figures = dict[str, Any]

_TIMEOUT = 1800
_TOPICS_TIMEOUT = 120

#: What :mod:`benchmarks.serving` measures on one deployment, in the order that disturbs least: the last but one
#: stops ``serve``, the last drives it to its limits.
SERVING = ("latency", "beside", "http", "mcp", "page", "live", "chats")

#: Those that only the long form measures, unless they are named.
LONG_ONLY = frozenset({"beside", "chats", "page", "live"})

_SCALE_SHORT = "--sizes 1000 --askers 1 32 --one 2000 --searches 32"

#: Records that show that every process has partitions and is at work.
_FIRST = 6000


class Suite:
    """Runs the parts on one broker.  ``short`` divides the loads by fifty, or by ten."""

    def __init__(self, kafka: LocalKafka, folder: Path, *, short: bool, rounds: int) -> None:
        self._servers = kafka.bootstrap_servers
        self._broker_pid = kafka.pid
        os.environ |= {BROKER_PID: str(kafka.pid), BROKER_FOLDER: str(kafka.data_dir)}
        self._folder = folder
        self._short = short
        self._scale = 0.02 if short else 1.0
        self._rounds = 1 if short else rounds
        self._turn = 0

    def run(self, only: list[str]) -> Figures:
        """Return the figures of the parts named in ``only`` (all if empty)."""
        parts: dict[str, Callable[[], Figures]] = {
            "trivial": self.trivial,
            "conversations": self.conversations,
            "cores": self.cores,
            "recovery": self.recovery,
            "restart": self.restart,
            "memory": self.memory,
            "state": self.state,
            "footprint": self.footprint,
            "consolidation": self.consolidation,
            "responses": self.responses,
            "summaries": self.summaries,
            "scale": self.scale,
            "costs": self.costs,
            "capacity": self.capacity,
            "fairness": self.fairness,
        }
        unknown = set(only) - {*parts, *SERVING}
        if unknown:
            raise SystemExit(
                f"no part is called {', '.join(unknown)}: choose from {', '.join((*parts, *SERVING))}"
            )
        figures: Figures = {"machine": {"cores": os.cpu_count()}}
        for name, part in parts.items():
            if not only or name in only:
                print(f"measuring {name} ...", file=sys.stderr)
                began = time.monotonic()
                figures[name] = part()
                print(f"... {time.monotonic() - began:.0f} s", file=sys.stderr)
        left_out = LONG_ONLY if self._short else frozenset()
        if served := [name for name in SERVING if name in only or not (only or name in left_out)]:
            figures |= self.serving(served)
        return figures

    # -- who is faster ------------------------------------------------------------------------------------

    def trivial(self) -> Figures:
        """Return rates and ratios of all contenders on the same trivial stage, taking turns."""
        count = self._count(600_000)
        rates: dict[str, list[float]] = {"bare": [], "switchboard": [], "quixstreams": [], "faust": []}
        for _ in range(self._rounds):
            prefix = self._prepare(count, 3000, "bare", "quix", "faust")
            source = f"{prefix}chat.messages.v1"
            rates["bare"].append(self._contender("bare", source, f"{prefix}bare", str(count)))
            rates["switchboard"].append(self._runtime(prefix, "trivial", str(count))["rate"])
            rates["quixstreams"].append(self._contender("quix", source, f"{prefix}quix", str(count // 3)))
            rates["faust"].append(
                self._contender("idiomatic_faust", source, f"{prefix}faust", str(count // 40))
            )
        return _compare(rates)

    def conversations(self) -> Figures:
        """Return the whole conversations stage beside the bare loop and quixstreams doing the same."""
        count = self._count(400_000)
        rates: dict[str, list[float]] = {"bare": [], "switchboard": [], "quixstreams": []}
        for _ in range(self._rounds):
            prefix = self._prepare(count, 3000, "bare", "quix")
            source = f"{prefix}chat.messages.v1"
            rates["bare"].append(self._contender("bare", source, f"{prefix}bare", str(count)))
            rates["switchboard"].append(self._runtime(prefix, "whole", str(count))["rate"])
            rates["quixstreams"].append(
                self._contender("quix", source, f"{prefix}quix", str(count // 3), "--whole")
            )
        profile = self._profile(count // 10 if self._short else count)
        return {**_compare(rates), "profile": profile}

    def cores(self) -> Figures:
        """Return the whole stage, the bare loop and quixstreams in one process and in one per core."""
        every = os.cpu_count() or 1
        runs: dict[int, list[dict[str, Figures]]] = {}
        for _ in range(self._rounds):
            for processes in {every} if self._short else {1, every}:
                runs.setdefault(processes, []).append(
                    {
                        "bare": self._in_processes("bare", processes, self._lasting(600_000)),
                        "switchboard": self._in_processes("switchboard", processes, self._lasting(600_000)),
                        "quixstreams": self._in_processes("quixstreams", processes, self._lasting(200_000)),
                    }
                )
        figures = {
            "all" if processes == every else "one": side_by_side(rounds) for processes, rounds in runs.items()
        }
        peak = max(of["contenders"]["switchboard"]["peak_bytes"] for of in figures.values())
        return {**figures, "peak_bytes": peak}

    def _in_processes(self, name: str, processes: int, count: int) -> Figures:
        prefix = self._prepare(0, 1, name)
        source, target = f"{prefix}chat.messages.v1", f"{prefix}{name}"
        package, forever = "benchmarks.pipeline", str(10**12)
        contender = {
            "bare": Contender([f"{package}.bare", self._servers, source, target, forever], f"{target}-group"),
            "quixstreams": Contender(
                [f"{package}.quix", self._servers, source, target, forever, "--whole"], f"{target}-quix"
            ),
            "switchboard": Contender(
                [f"{package}.switchboard_runtime", "whole", forever], f"{prefix}switchboard-ingest"
            ),
        }[name]
        # They may be frozen while the topic is filled.
        environment = {**self._environment(prefix), "SWITCHBOARD_SESSION_TIMEOUT_SECONDS": "60"}
        run = Run(contender, processes, self._servers, self._folder, environment)
        try:
            run.join()
            asyncio.run(fill(self._servers, source, _FIRST, 3000))
            run.hold()
            asyncio.run(fill(self._servers, source, count, 3000, first=_FIRST))
            return run.measure(_FIRST + count, self._broker_pid)
        finally:
            run.end()

    def _profile(self, count: int) -> str:
        prefix = self._prepare(count, 3000)
        return self._module(
            prefix, "benchmarks.pipeline.switchboard_runtime", "whole", str(count), "--profile"
        )[1]

    # -- what a restart costs -----------------------------------------------------------------------------

    def recovery(self) -> Figures:
        """Return how fast state comes back from the changelog (records per second, median)."""
        count = self._count(600_000)
        prefix = self._prepare(count, 3000)
        self._runtime(prefix, "trivial", str(count))
        runs = [self._runtime(prefix, "trivial", "0") for _ in range(self._rounds)]
        return {
            "records": runs[0]["records"],
            "rate": statistics.median(run["rate"] for run in runs),
            "ready_seconds": statistics.median(run["ready_seconds"] for run in runs),
        }

    def restart(self) -> Figures:
        """Return how long after ``kill -9`` the restarted worker processes again (seconds)."""
        prefix = self._prepare(0, 1)
        return self._json(prefix, "benchmarks.pipeline.restart", str(self._rounds))

    def memory(self) -> Figures:
        """Return the memory of 100,000 conversations (bytes)."""
        return self._json(self._prefix(), "benchmarks.pipeline.memory", str(self._count(100_000)))

    def state(self) -> Figures:
        """Return memory, CPU and recovery of a million conversations, with and without files of state."""
        conversations = 1000 if self._short else 1_000_000
        return self._json(self._prefix(), "benchmarks.pipeline.state", str(conversations))

    def footprint(self) -> Figures:
        """Return the storage of a turn and a fact in state, Redis and Qdrant (bytes)."""
        return self._json(self._prefix(), "benchmarks.pipeline.footprint", str(self._count(30_000)))

    def consolidation(self) -> Figures:
        """Return how long 300 new facts of one person take, how many people a second a day's changes, and which
        share of its rate ingest keeps meanwhile.
        """
        return self._json(self._prefix(), "benchmarks.pipeline.consolidation", str(self._count(10_000)))

    # -- the other two rivers -------------------------------------------------------------------------------

    def responses(self) -> Figures:
        """Return the filter's CPU cost and holdback, and chunks a second through the service."""
        module, count = "benchmarks.pipeline.responses", self._count(200_000)
        prefix = self._prepare(0, 1)
        figures = self._json(prefix, module, "filter")
        self._json(prefix, module, "fill", str(count))
        return {**figures, "service": self._json(prefix, module, "service", str(count))}

    def summaries(self) -> Figures:
        """Return the time from the message that crosses the threshold to its accepted summary (seconds)."""
        prefix = self._prepare(0, 1)
        return self._json(prefix, "benchmarks.pipeline.summaries", "5" if self._short else "100")

    # -- what people and programs touch --------------------------------------------------------------------

    def scale(self) -> Figures:
        """Return the latency of a search by size and number of askers, and that of one more statement."""
        given = _SCALE_SHORT.split() if self._short else []
        found = self._json(self._prefix(), "benchmarks.quality.recall.scale", *given)
        sizes = [name for name in found if name.isdecimal()]
        return {**found, "largest": found[max(sizes, key=int)]}

    def costs(self) -> Figures:
        """Return the cost of a person's week with Gemini (US$), and the number of calls."""
        given = ["--people", "2", "--messages", "40", "--chats", "1"] if self._short else []
        return self._json(self._prefix(), "benchmarks.quality.costs", "--json", *given)

    def capacity(self) -> Figures:
        """Return the resources of a deployment after some messages, and after four times as many."""
        sizes = ["100", "400"] if self._short else ["1000", "4000"]
        return self._json(self._prepare(0, 1), "benchmarks.serving.capacity", *sizes)

    def fairness(self) -> Figures:
        """Return a calm tenant's latency beside a flood and alone, with the built-in extractor and a model."""
        given = ["--short"] if self._short else []
        return {
            name: self._json(self._prepare(0, 1), "benchmarks.serving.fairness", name, *given)
            for name in ("builtin", "model")
        }

    def serving(self, parts: list[str]) -> Figures:
        """Return the figures of these parts of :mod:`benchmarks.serving`, of one deployment."""
        return self._json(
            self._prepare(0, 1), "benchmarks.serving", *parts, *(["--short"] if self._short else [])
        )

    # -- running ------------------------------------------------------------------------------------------

    def _count(self, count: int) -> int:
        return max(200, int(count * self._scale))

    def _lasting(self, count: int) -> int:
        """Enough to find all processes at work at once: of less, one is done before another begins."""
        return max(self._count(count), count // 10)

    def _prepare(self, count: int, conversations: int, *targets: str) -> str:
        """Make topics under a prefix of their own, fill the source, and return the prefix."""
        prefix = self._prefix()
        settings = Settings(bootstrap_servers=self._servers)
        asyncio.run(admin.apply(load_catalog(prefix), settings, timeout_seconds=_TOPICS_TIMEOUT))
        if targets:
            asyncio.run(_make_topics(self._servers, [prefix + target for target in targets]))
        if count:
            asyncio.run(fill(self._servers, f"{prefix}chat.messages.v1", count, conversations))
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
        out, _ = self._module(prefix, module, *arguments)
        result: Figures = json.loads([line for line in out.splitlines() if line.startswith("{")][-1])
        return result

    def _module(self, prefix: str, module: str, *arguments: str) -> tuple[str, str]:
        done = subprocess.run(
            [sys.executable, "-m", module, *arguments],
            env=self._environment(prefix),
            cwd=self._folder,  # Faust leaves a folder where it runs
            capture_output=True,
            text=True,
            timeout=_TIMEOUT,
            check=False,
        )
        if done.returncode:
            raise SystemExit(
                f"{module} failed ({done.returncode}):\n{done.stdout[-2000:]}\n{done.stderr[-12000:]}"
            )
        return done.stdout, done.stderr

    def _environment(self, prefix: str) -> dict[str, str]:
        return {
            **{name: value for name, value in os.environ.items() if not name.startswith("SWITCHBOARD_")},
            "SWITCHBOARD_BOOTSTRAP_SERVERS": self._servers,
            "SWITCHBOARD_TOPIC_PREFIX": prefix,
            "SWITCHBOARD_DATA_DIR": str(self._folder / "data" / (prefix or "none")),
            "SWITCHBOARD_METRICS_PORT": "0",
            "SWITCHBOARD_API_PORT": "0",
            "SWITCHBOARD_INSTANCE_ID": "bench",
            "PYTHONPATH": str(Path.cwd()),
        }


def _compare(rates: dict[str, list[float]]) -> Figures:
    """Return medians, and the median of the ratios round by round: the machine's speed drifts."""
    ours = rates["switchboard"]
    ratios = {
        f"switchboard / {name}": statistics.median(
            mine / theirs for mine, theirs in zip(ours, others, strict=True)
        )
        for name, others in rates.items()
        if name != "switchboard"
    }
    return {"rates": {name: statistics.median(values) for name, values in rates.items()}, "ratios": ratios}


async def _make_topics(servers: str, names: list[str]) -> None:
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
