"""Two supervised processes under load: killed, replaced, stopped; nothing is lost, no process is left."""

from __future__ import annotations

import os
import signal

import pytest
from workers import Worker, eventually, process_is_alive, worker_command

pytestmark = [pytest.mark.kafka, pytest.mark.faults, pytest.mark.long]

PROCESSES = [*worker_command("ingest"), "--processes", "2"]


async def pids(worker: Worker) -> dict[str, int]:
    """The pid of the latest life of each process, by the name of its instance."""

    def starting() -> dict[str, int]:
        return {line["instance"]: line["pid"] for line in worker.says("starting")}

    await eventually(lambda: len(starting()) == 2, "both processes have started")
    return starting()


async def all_ready(worker: Worker) -> None:
    """Wait until the latest life of both processes is ready, each with partitions of its own."""

    def ready() -> bool:
        ports = {line["instance"]: line["metrics_port"] for line in worker.says("starting")}
        return len(ports) == 2 and all(worker.get("/readyz", port)[0] == 200 for port in ports.values())

    await eventually(ready, "both processes are ready")


async def test_a_killed_process_returns_under_its_name_without_loss(stream):
    worker = stream.start(PROCESSES, "a")
    load = stream.load(rate=3000)
    await all_ready(worker)
    for victim in ("a-0", "a-1"):
        before = await pids(worker)
        await load.reaches(load.sent + 3000)
        os.kill(before[victim], signal.SIGKILL)

        def lives(name: str = victim) -> int:
            return sum(line["instance"] == name for line in worker.says("starting"))

        await eventually(lambda lives=lives: lives() == 2, f"{victim} is started again")
        await all_ready(worker)
        after = await pids(worker)
        assert {name for name in after if after[name] != before[name]} == {victim}
    await load.reaches(load.sent + 3000)
    await load.stop()
    await stream.verdict()
    # One signal ends both, in order: what they held is committed.
    last = await pids(worker)
    assert await worker.stops() == 0
    assert not any(map(process_is_alive, last.values()))
    assert sum(line["event"] == "stopped" for line in worker.events()) == 2
    assert await stream.behind() == {}
