"""All cores at work: the same contender in several processes that share one group, measured from outside.

The processes join their group, show with a few records that they are at work, and are frozen (SIGSTOP) while
the topic is filled, so that all of them begin at once and with partitions of their own.  What is measured is
the time in which all of them were at work: from when each has done a tenth of its share to when the first has
no more to do.
"""

from __future__ import annotations

import asyncio
import math
import mmap
import os
import signal
import statistics
import struct
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.errors import KafkaError

_COUNT = struct.Struct("d")
_POLL_SECONDS = 0.02
_JOIN_SECONDS = 60.0
#: Nothing has moved for so long: they are done, whatever was counted.
_STILL_SECONDS = 5.0
_TICKS = os.sysconf("SC_CLK_TCK")


class Progress:
    """How many records a process has done, in a file that the one who measures has mapped as well."""

    def __init__(self, path: str | Path) -> None:
        with Path(path).open("a+b") as file:
            file.truncate(_COUNT.size)
            self._memory = mmap.mmap(file.fileno(), _COUNT.size)

    def write(self, records: int) -> None:
        """Say that ``records`` are done."""
        _COUNT.pack_into(self._memory, 0, records)

    def read(self) -> float:
        """Return how many are done."""
        count: float = _COUNT.unpack_from(self._memory)[0]
        return count


class Sample(NamedTuple):
    """One process at one moment: seconds, records done, CPU seconds used."""

    at: float
    records: float
    cpu: float


class Contender(NamedTuple):
    """How to start it, and the consumer group that its processes share."""

    command: Sequence[str]
    group: str


class Run:
    """``processes`` processes of a contender: join, hold, go, measure, end."""

    def __init__(
        self, contender: Contender, processes: int, servers: str, folder: Path, environment: Mapping[str, str]
    ) -> None:
        self._contender = contender
        self._servers = servers
        self._progress: list[Progress] = []
        self._processes: list[subprocess.Popen[bytes]] = []
        self._log = folder / f"{contender.group}.log"
        for index in range(processes):
            file = folder / f"{contender.group}-{index}.progress"
            self._progress.append(Progress(file))
            own = {"SWITCHBOARD_INSTANCE_ID": f"bench-{index}", "BENCHMARK_PROGRESS": str(file)}
            with self._log.open("ab") as log:
                self._processes.append(
                    subprocess.Popen(
                        contender.command,
                        env={**environment, **own},
                        cwd=folder,
                        stdout=log,
                        stderr=log,
                    )
                )

    def join(self) -> None:
        """Wait until the group has taken all in."""
        asyncio.run(self._joined())

    def hold(self) -> None:
        """Wait until all have done some of the first records, and freeze them."""
        self._wait(lambda: all(progress.read() for progress in self._progress), "all are at work")
        self._signal(signal.SIGSTOP)

    def measure(self, count: int, broker_pid: int) -> dict[str, float]:
        """Let them go until ``count`` records are done; return rate, CPU per record and peak memory."""
        self._signal(signal.SIGCONT)
        samples: list[list[Sample]] = [[] for _ in self._processes]
        broker: list[Sample] = []
        done, moved_at = 0.0, time.monotonic()
        while done < count and time.monotonic() - moved_at < _STILL_SECONDS:
            time.sleep(_POLL_SECONDS)
            self._check()
            now = time.monotonic()
            for taken, process, progress in zip(samples, self._processes, self._progress, strict=True):
                taken.append(Sample(now, progress.read(), _cpu_seconds(process.pid)))
            broker.append(Sample(now, 0, _cpu_seconds(broker_pid)))
            latest = sum(taken[-1].records for taken in samples)
            if latest > done:
                done, moved_at = latest, now
        peak = max(_peak_bytes(process.pid) for process in self._processes)
        return {**together(samples, broker, count), "peak_bytes": peak}

    def end(self) -> None:
        """Kill what runs: the topics are thrown away as well."""
        for process in self._processes:
            process.kill()
        for process in self._processes:
            process.wait()

    def _signal(self, number: signal.Signals) -> None:
        for process in self._processes:
            process.send_signal(number)

    def _wait(self, condition: Callable[[], bool], what: str) -> None:
        deadline = time.monotonic() + _JOIN_SECONDS
        while not condition():
            self._check()
            if time.monotonic() > deadline:
                raise SystemExit(f"{self._contender.group}: not within {_JOIN_SECONDS:g} s: {what}")
            time.sleep(_POLL_SECONDS)

    def _check(self) -> None:
        if any(process.poll() is not None for process in self._processes):
            raise SystemExit(
                f"a process of {self._contender.group} has ended:\n{self._log.read_text()[-4000:]}"
            )

    async def _joined(self) -> None:
        client = AIOKafkaAdminClient(bootstrap_servers=self._servers)
        await client.start()
        try:
            deadline, seen = time.monotonic() + _JOIN_SECONDS, 0
            while seen < 5:  # a group that has just formed may form again for one that comes late
                self._check()
                if time.monotonic() > deadline:
                    raise SystemExit(f"the group {self._contender.group} has not formed")
                seen = seen + 1 if await self._is_whole(client) else 0
                await asyncio.sleep(0.3)
        finally:
            await client.close()

    async def _is_whole(self, client: AIOKafkaAdminClient) -> bool:
        try:
            [response] = await client.describe_consumer_groups([self._contender.group])
        except KafkaError:  # the broker is about to make its topic for groups
            return False
        [(_error, _name, state, _type, _protocol, members, *_rest)] = response.groups
        return state == "Stable" and len(members) == len(self._processes)


def side_by_side(rounds: Sequence[Mapping[str, Mapping[str, float]]]) -> dict[str, dict[str, Any]]:
    """Return medians per contender, and medians of the ratios round by round: the machine's speed drifts.

    A ratio of rates says who is faster; one of CPU times is less disturbed by what else runs on the machine.
    """
    names = rounds[0].keys()
    contenders = {
        name: {figure: statistics.median(of[name][figure] for of in rounds) for figure in rounds[0][name]}
        for name in names
    }
    ratios: dict[str, float] = {}
    for other in names - {"switchboard"}:
        pairs = [(of["switchboard"], of[other]) for of in rounds]
        ratios[f"switchboard / {other}"] = statistics.median(a["rate"] / b["rate"] for a, b in pairs)
        ratios[f"switchboard / {other}, by CPU"] = statistics.median(
            b["cpu_microseconds"] / a["cpu_microseconds"] for a, b in pairs
        )
    return {"contenders": contenders, "ratios": ratios}


def together(samples: Sequence[Sequence[Sample]], broker: Sequence[Sample], count: int) -> dict[str, float]:
    """Return the figures of the time in which all processes were at work on ``count`` records.

    ``samples`` and ``broker`` are taken at the same moments.
    """
    share = count / len(samples)
    begins = [next((s.at for s in taken if s.records >= share / 10), math.inf) for taken in samples]
    ends = [next(s.at for s in taken if s.records == taken[-1].records) for taken in samples]
    begin, end = max(begins), min(ends)
    if end <= begin:
        raise SystemExit(f"the processes were never at work together: began at {begins}, ended at {ends}")

    def grown(figure: Callable[[Sample], float], taken: Sequence[Sample]) -> float:
        return figure(next(s for s in taken if s.at >= end)) - figure(next(s for s in taken if s.at >= begin))

    records = sum(grown(lambda s: s.records, taken) for taken in samples)
    return {
        "rate": records / (end - begin),
        "cpu_microseconds": sum(grown(lambda s: s.cpu, taken) for taken in samples) / records * 1e6,
        "broker_cpu_microseconds": grown(lambda s: s.cpu, broker) / records * 1e6,
        "share_measured": records / count,
    }


def _cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS


def _peak_bytes(pid: int) -> int:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    raise OSError(f"/proc/{pid}/status names no VmHWM")
