"""The broker restarts, is gone, stands still: workers wait for it, and lose nothing."""

from __future__ import annotations

import asyncio
import contextlib
import os

import pytest
from harness import SHORT_SESSION
from workers import eventually

pytestmark = [pytest.mark.kafka, pytest.mark.faults, pytest.mark.long]

#: How long the broker is away; the long form is what an operator may well take.
GONE_SECONDS = float(os.environ.get("SWITCHBOARD_TEST_GONE_SECONDS", "10"))


async def test_broker_restarts_and_is_then_gone_for_a_while(fragile, broker):
    worker = fragile.worker("a", **SHORT_SESSION)
    load = fragile.load(rate=2000)
    await worker.ready()
    await load.reaches(load.sent + 3000)
    await asyncio.to_thread(broker.restart)
    await load.reaches(load.sent + 3000)
    broker.kill()
    await asyncio.sleep(GONE_SECONDS)
    assert worker.running, "a broker that is away is waited for"
    assert any("the broker has not answered for" in reason for reason in worker.why_not_ready())
    assert (await worker.health())[0] == 200, "waiting is no reason to restart"
    await asyncio.to_thread(broker.start)
    await load.reaches(load.sent + 3000)
    await worker.ready()
    await load.stop()
    await fragile.verdict()
    assert len(worker.says("starting")) == 1 and worker.running


async def restarted(worker) -> None:
    """Start a worker that gave up again, until cancelled."""
    while True:
        await eventually(lambda: not worker.running, "the worker gives up", timeout=float("inf"))
        assert await worker.exits() == 70
        worker.start()


async def test_broker_stands_still(fragile, broker):
    """Connections stay open and nothing answers; afterwards the group may have forgotten its members."""
    worker = fragile.worker("a", **SHORT_SESSION)
    load = fragile.load(rate=2000)
    await worker.ready()
    await load.reaches(load.sent + 3000)
    broker.pause()
    await asyncio.sleep(GONE_SECONDS)
    broker.resume()
    await load.reaches(load.sent + 3000)
    await load.stop()
    # If the group has forgotten it the worker stops, in its own time; a supervisor starts it again.
    supervising = asyncio.create_task(restarted(worker))
    await fragile.verdict()
    supervising.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await supervising
