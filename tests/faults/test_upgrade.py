"""Another version takes over from the one before, worker by worker under load, and the other way round.

``make test-upgrade BEFORE=COMMIT`` runs it; without the folder of another version there is nothing to test.
"""

from __future__ import annotations

import os
import sys

import pytest
from harness import SHORT_SESSION

BEFORE = os.environ.get("SWITCHBOARD_TEST_BEFORE", "")

pytestmark = [
    pytest.mark.kafka,
    pytest.mark.faults,
    pytest.mark.long,
    pytest.mark.skipif(not BEFORE, reason="make test-upgrade names the version before"),
]

RUN = "from streams.cli.main import main; main()"


def of_before() -> list[str]:
    """The ingest service of the version before.  Its code comes first, wherever it is started."""
    return ["env", f"PYTHONPATH={BEFORE}", sys.executable, "-P", "-c", RUN, "worker", "ingest"]


async def test_workers_are_replaced_one_by_one_and_back(stream):
    old = {name: stream.start(of_before(), name, **SHORT_SESSION) for name in "ab"}
    load = stream.load(rate=2000)
    for worker in old.values():
        await worker.ready()
    await load.reaches(load.sent + 3000)
    new = {}
    for name, worker in old.items():
        assert await worker.stops() == 0
        new[name] = stream.worker(name, **SHORT_SESSION)
        await new[name].ready()
        await load.reaches(load.sent + 3000)
    assert not {*map(code_of, old.values())} & {*map(code_of, new.values())}, "two versions"
    for name, worker in new.items():
        assert await worker.stops() == 0
        old[name].start()
        await old[name].ready()
        await load.reaches(load.sent + 3000)
    await load.stop()
    await stream.verdict()


def code_of(worker) -> str:
    """The version that a worker says it is."""
    return str(worker.says("stage")[-1]["code"])
