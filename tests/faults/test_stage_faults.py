"""A stage hangs, raises, or cannot reach what it depends on: nothing is lost, reordered or invented."""

from __future__ import annotations

import pytest
from harness import SHORT_SESSION
from workers import eventually, switch

pytestmark = [pytest.mark.kafka, pytest.mark.faults, pytest.mark.long]


async def hangs(stream) -> None:
    """Wait until a step hangs now; it says so again and again."""
    (stream.control / "hanging").unlink(missing_ok=True)
    await eventually((stream.control / "hanging").exists, "a step hangs")


async def test_a_hanging_step_ends_the_process_and_others_continue(stream):
    # Longer than a busy machine keeps a loop from going on that does not hang.
    hanging = stream.worker("a", how="sync", hang_timeout_seconds=6, step_timeout_seconds=5, **SHORT_SESSION)
    other = stream.worker("b", **SHORT_SESSION)
    load = stream.load(rate=2000)
    await hanging.ready()
    await other.ready()
    await load.reaches(load.sent + 2000)
    with switch(stream.control, "hang"):
        await hangs(stream)
        assert await hanging.exits() == 70
        assert hanging.says("its event loop hangs for 6 s")
        await load.stop()
        # With the hang still there: what the process held is done by the other one.
        await stream.verdict()


async def test_a_step_that_hangs_through_a_rebalance_writes_nothing_late(stream):
    """The group goes on without it; when the step returns, its partitions are in other hands."""
    hanging = stream.worker("a", how="sync", hang_timeout_seconds=100, **SHORT_SESSION)
    load = stream.load(rate=2000)
    await hanging.ready()
    await load.reaches(load.sent + 2000)
    with switch(stream.control, "hang"):
        await hangs(stream)
        other = stream.worker("b", **SHORT_SESSION)
        await other.ready()
        await load.reaches(load.sent + 2000)
    await eventually(
        lambda: not hanging.running or len(hanging.says("partitions assigned")) > 1,
        "the worker has joined again, or has stopped because of what it could no longer write",
    )
    if not hanging.running:
        assert await hanging.exits() == 70
        hanging.start()
        await hanging.ready()
    await load.stop()
    expected = await stream.verdict()
    assert expected.stale_writes == 0


async def test_sigterm_ends_a_worker_whose_step_hangs(stream):
    worker = stream.worker("a", how="sync", shutdown_timeout_seconds=3, commit_interval_seconds=0.5)
    load = stream.load(rate=3000)
    await worker.ready()
    with switch(stream.control, "hang"):
        await hangs(stream)
        assert await worker.stops() == 70, "it could not drain"
        assert worker.says("it did not stop in time")
    worker.start()
    await load.stop()
    await stream.verdict()


async def test_a_call_that_hangs_is_given_up_and_made_again(stream):
    worker = stream.worker("a", how="async", step_timeout_seconds=0.5, **SHORT_SESSION)
    load = stream.load(rate=3000)
    await worker.ready()
    with switch(stream.control, "hang"):
        await hangs(stream)

        async def given_up() -> bool:
            return await worker.metric("retries_total", stage="conversations") >= 2

        await eventually(given_up, "the call was given up twice")
        assert (await worker.health())[0] == 200, "waiting is no reason to restart"
        assert await worker.stops() == 0
        worker.start()
        await hangs(stream)
    await load.stop()
    expected = await stream.verdict()
    assert not expected.dead_letters


async def test_a_stopping_worker_ignores_threads_of_libraries(stream):
    """A call that hangs in a thread cannot be cancelled; Python would wait for it at exit."""
    worker = stream.worker("a", how="async")
    await stream.load(2000, rate=20_000).finish()
    with switch(stream.control, "stuck"):
        await hangs(stream)
        with switch(stream.control, "defect"):
            await stream.load(6000, rate=20_000, records=stream.messages(name="more")).finish()
            assert await worker.exits() == 70
    assert "defect of the stage" in worker.says("the worker stops")[0]["error"]
