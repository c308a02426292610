"""A worker is killed, told to stop, joined by others, frozen: nothing is lost and nothing invented."""

from __future__ import annotations

import random

import pytest

pytestmark = [pytest.mark.kafka, pytest.mark.faults]


async def test_killed_at_random_times_and_restarted(stream, seed):
    chance = random.Random(seed)
    worker = stream.worker("a")
    load = stream.load(24_000, rate=3000)
    await worker.ready()
    for _ in range(3):
        await load.reaches(load.sent + chance.randint(1000, 6000))
        worker.kill()
        worker.start()
    await load.finish()
    expected = await stream.verdict()
    assert expected.windows
