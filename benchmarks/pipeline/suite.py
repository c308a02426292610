"""The pipeline benchmarks: who takes part, with what load, and how the figures are put together."""

from __future__ import annotations

import asyncio
import os
import statistics
import sys
import time
from collections.abc import Callable
from functools import cached_property

from benchmarks.pipeline import kafka_streams, same_windows
from benchmarks.pipeline.cores import Contender, Run, side_by_side
from benchmarks.pipeline.load import PARTITIONS, fill
from benchmarks.pipeline.partitions import COUNTS, modelled
from benchmarks.pipeline.running import Figures, Runner, last_figures

#: What :mod:`benchmarks.serving` measures on one deployment, in the order that disturbs least: the last but one
#: stops ``serve``, the last drives it to its limits.
SERVING = ("latency", "beside", "loads", "http", "mcp", "page", "live", "chats")

#: Those that only the long form measures, unless they are named.
LONG_ONLY = frozenset({"beside", "chats", "loads", "page", "partitions", "live"})

_SCALE_SHORT = "--sizes 1000 --askers 1 32 --one 2000 --searches 32"

#: Records that show that every process has partitions and is at work.
_FIRST = 6000


class Suite(Runner):
    """The parts, by name."""

    def run(self, only: list[str]) -> Figures:
        """Return the figures of the parts named in ``only`` (all if empty)."""
        parts: dict[str, Callable[[], Figures]] = {
            "trivial": self.trivial,
            "conversations": self.conversations,
            "cores": self.cores,
            "partitions": self.partitions,
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
        left_out = LONG_ONLY if self._short else frozenset()
        for name, part in parts.items():
            if name in only or not (only or name in left_out):
                print(f"measuring {name} ...", file=sys.stderr)
                began = time.monotonic()
                figures[name] = part()
                print(f"... {time.monotonic() - began:.0f} s", file=sys.stderr)
        if served := [name for name in SERVING if name in only or not (only or name in left_out)]:
            figures |= self.serving(served)
        return figures

    # -- who is faster ------------------------------------------------------------------------------------

    def trivial(self) -> Figures:
        """Return rates and ratios of all contenders on the same trivial stage, taking turns."""
        count = self._count(600_000)
        rates: dict[str, list[float]] = {}
        for _ in range(self._rounds):
            prefix = self._prepare(count, _conversations(count), "bare", "quix", "streams", "faust")
            source = f"{prefix}chat.messages.v1"
            taken = {
                "bare": self._contender("bare", source, f"{prefix}bare", str(count)),
                "switchboard": self._runtime(prefix, "trivial", str(count))["rate"],
                "quixstreams": self._contender("quix", source, f"{prefix}quix", str(count // 3)),
                **self._kafka_streams(prefix, count, same_windows.to_the_byte),
                "faust": self._contender("idiomatic_faust", source, f"{prefix}faust", str(count // 40)),
            }
            for name, rate in taken.items():
                rates.setdefault(name, []).append(rate)
        return {**_compare(rates), "left_out": self._left_out}

    def conversations(self) -> Figures:
        """Return the whole conversations stage beside the bare loop, quixstreams and Kafka Streams."""
        count = self._count(400_000)
        rates: dict[str, list[float]] = {}
        for _ in range(self._rounds):
            prefix = self._prepare(count, _conversations(count), "bare", "quix", "streams")
            source = f"{prefix}chat.messages.v1"
            taken = {
                "bare": self._contender("bare", source, f"{prefix}bare", str(count)),
                "switchboard": self._runtime(prefix, "whole", str(count))["rate"],
                "quixstreams": self._contender("quix", source, f"{prefix}quix", str(count // 3), "--whole"),
                **self._kafka_streams(prefix, count, same_windows.messages),
            }
            for name, rate in taken.items():
                rates.setdefault(name, []).append(rate)
        profile = self._profile(count // 10 if self._short else count)
        return {**_compare(rates), "left_out": self._left_out, "profile": profile}

    def cores(self) -> Figures:
        """Return the whole stage and its contenders in one process and in one per core."""
        every = os.cpu_count() or 1
        counts = {"bare": 600_000, "switchboard": 600_000, "quixstreams": 200_000}
        if self._java is not None:
            counts["kafka-streams"] = 600_000
        runs: dict[int, list[dict[str, Figures]]] = {}
        for _ in range(self._rounds):
            for processes in {every} if self._short else {1, every}:
                runs.setdefault(processes, []).append(
                    {
                        name: self._in_processes(name, processes, self._lasting(count))
                        for name, count in counts.items()
                    }
                )
        figures = {
            "all" if processes == every else "one": side_by_side(rounds) for processes, rounds in runs.items()
        }
        peak = max(of["contenders"]["switchboard"]["peak_bytes"] for of in figures.values())
        return {**figures, "peak_bytes": peak, "left_out": self._left_out}

    def partitions(self) -> Figures:
        """Return costs of a message by number of partitions, and the model of one, two and four brokers."""
        runs: dict[int, list[Figures]] = {}
        for _ in range(self._rounds):
            for count in COUNTS:
                figures = self._in_processes("switchboard", 1, self._lasting(400_000), count)
                runs.setdefault(count, []).append(figures)
        return modelled(runs, os.cpu_count() or 1)

    @cached_property
    def _java(self) -> list[str] | None:
        """The command that runs Kafka Streams, ``None`` where it cannot be compiled."""
        javac = kafka_streams.find_javac()
        if javac is None:
            print(kafka_streams.WITHOUT_JDK, file=sys.stderr)
            return None
        return kafka_streams.compile_contender(javac, self._folder / "classes")

    @property
    def _left_out(self) -> list[str]:
        return [] if self._java is not None else [kafka_streams.WITHOUT_JDK]

    def _kafka_streams(self, prefix: str, count: int, read: same_windows.Read) -> dict[str, float]:
        """Return the rate of Kafka Streams (nothing where there is no JDK).

        Raises SystemExit unless its windows are those that our stage has written of the same messages.
        """
        if self._java is None:
            return {}
        source, target = f"{prefix}chat.messages.v1", f"{prefix}streams"
        state = str(self._folder / target)
        printed, _ = self._command("", [*self._java, self._servers, source, target, str(count), state])
        asyncio.run(same_windows.check(self._servers, f"{prefix}memory.windows.v1", target, read))
        return {"kafka-streams": last_figures(printed)["rate"]}

    def _in_processes(self, name: str, processes: int, count: int, partitions: int = PARTITIONS) -> Figures:
        prefix = self._prepare(0, 1, name, partitions=partitions)
        source, target = f"{prefix}chat.messages.v1", f"{prefix}{name}"
        python, forever = [sys.executable, "-m"], str(10**12)
        package, topics = "benchmarks.pipeline", [self._servers, source, target, forever]
        contender = {
            "bare": Contender([*python, f"{package}.bare", *topics], f"{target}-group"),
            "quixstreams": Contender([*python, f"{package}.quix", *topics, "--whole"], f"{target}-quix"),
            "kafka-streams": Contender(
                [*(self._java or []), *topics, str(self._folder / target)], f"{target}-streams"
            ),
            "switchboard": Contender(
                [*python, f"{package}.switchboard_runtime", "whole", forever], f"{prefix}switchboard-ingest"
            ),
        }[name]
        # They may be frozen while the topic is filled.
        environment = {**self._environment(prefix, partitions), "SWITCHBOARD_SESSION_TIMEOUT_SECONDS": "60"}
        run = Run(contender, processes, self._servers, self._folder, environment)
        try:
            run.join()
            asyncio.run(fill(self._servers, source, _FIRST, 3000, 0, partitions))
            run.hold()
            asyncio.run(fill(self._servers, source, count, 3000, _FIRST, partitions))
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


def _conversations(count: int) -> int:
    """Return over how many conversations to spread ``count`` messages, so that each has windows."""
    return min(3000, count // 50)


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
