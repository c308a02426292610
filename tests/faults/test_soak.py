"""The long form: every fault at random, under load, for as long as one likes (``make soak``).

``SWITCHBOARD_TEST_SOAK_SECONDS`` (600) and ``SWITCHBOARD_TEST_SOAK_RATE`` (12,000 messages a second) set its
size, ``SWITCHBOARD_TEST_SEED`` repeats its faults.
"""

from __future__ import annotations

import asyncio
import os
import random
import time
from collections import Counter

import pytest
from chat_load import Shape
from harness import SHORT_SESSION
from summarizer import Summarizer
from workers import Worker, eventually, switch

pytestmark = [pytest.mark.kafka, pytest.mark.faults, pytest.mark.soak]

SECONDS = float(os.environ.get("SWITCHBOARD_TEST_SOAK_SECONDS", "600"))
RATE = float(os.environ.get("SWITCHBOARD_TEST_SOAK_RATE", "12000"))

#: Longer than a session, so that the group gives the partitions away.
FROZEN_SECONDS = 9.0

#: How long it may take, per second of load, to work off what was left behind.
DRAIN_FACTOR = 3.0


class Chaos:
    """Hurts the workers and the broker, one thing at a time; says what it does."""

    def __init__(self, stream, broker, chance: random.Random) -> None:
        self._stream = stream
        self._broker = broker
        self._chance = chance
        moods = SHORT_SESSION | {"hang_timeout_seconds": 12, "step_timeout_seconds": 10}
        self._workers = [
            stream.worker("a", **SHORT_SESSION),
            stream.worker("b", how="sync", **moods),
            stream.worker("c", how="async", **moods),
        ]
        self.done: Counter[str] = Counter()

    async def ready(self) -> None:
        for worker in self._workers:
            await worker.ready()

    async def strike(self) -> None:
        await self._restart_those_that_stopped()
        faults = [
            self._kill,
            self._kill,
            self._kill_all,
            self._stop,
            self._leave_for_a_while,
            self._freeze,
            self._hang,
            self._dependency_down,
            self._restart_broker,
            self._kill_broker,
            self._pause_broker,
        ]
        fault = self._chance.choice(faults)
        print(f"{time.strftime('%H:%M:%S')} {fault.__name__.strip('_')}", flush=True)
        self.done[fault.__name__] += 1
        await fault()

    async def settle(self) -> None:
        await self._restart_those_that_stopped()

    async def rest(self, patience: float) -> None:
        """Stop everything, with nothing left to read.

        After a quarter of an hour conversations become silent all the time, and a running worker says so in the
        log: the verdict must not read one topic before that and another after.
        """
        while True:
            for worker in self._workers:
                assert await worker.stops() == 0
            if await self._stream.behind() == {}:
                return
            for worker in self._workers:
                worker.start()
            await self._stream.drained(patience)

    async def _restart_those_that_stopped(self) -> None:
        """What a supervisor does.  Only what is known to stop a worker may have."""
        for worker in self._workers:
            if not worker.running:
                assert await worker.exits() in (69, 70), f"{worker.log.stem} ended unexpectedly"
                worker.start()

    def _any(self) -> Worker:
        return self._chance.choice([worker for worker in self._workers if worker.running])

    async def _pause(self, least: float, most: float) -> None:
        await asyncio.sleep(self._chance.uniform(least, most))

    async def _kill(self) -> None:
        worker = self._any()
        worker.kill()
        await self._pause(0, 3)
        worker.start()

    async def _kill_all(self) -> None:
        for worker in self._workers:
            worker.kill()
        for worker in self._workers:
            worker.start()

    async def _stop(self) -> None:
        worker = self._any()
        await worker.logs("state recovered")
        assert await worker.stops() in (0, 70)
        worker.start()

    async def _leave_for_a_while(self) -> None:
        worker = self._any()
        await worker.logs("state recovered")
        assert await worker.stops() in (0, 70)
        await self._pause(5, 15)
        worker.start()

    async def _freeze(self) -> None:
        worker = self._any()
        worker.freeze()
        await asyncio.sleep(FROZEN_SECONDS)
        worker.thaw()

    async def _hang(self) -> None:
        with switch(self._stream.control, "hang"):
            await self._pause(3, 20)

    async def _dependency_down(self) -> None:
        with switch(self._stream.control, "down"):
            await self._pause(2, 10)

    async def _restart_broker(self) -> None:
        await asyncio.to_thread(self._broker.restart)

    async def _kill_broker(self) -> None:
        self._broker.kill()
        await self._pause(1, 30)
        await asyncio.to_thread(self._broker.start)

    async def _pause_broker(self) -> None:
        self._broker.pause()
        await self._pause(1, 20)
        self._broker.resume()


async def test_every_fault_at_random(fragile, broker, seed):
    chance = random.Random(seed)
    chaos = Chaos(fragile, broker, chance)
    shape = Shape(conversations=int(RATE / 5) + 50, length=60)
    load = fragile.load(rate=RATE, records=fragile.messages(shape))
    async with Summarizer(fragile.servers, fragile.catalog) as summarizer:
        await chaos.ready()
        until = time.monotonic() + SECONDS
        while time.monotonic() < until:
            await chaos.strike()
            await asyncio.sleep(chance.uniform(0, 10))
        await chaos.settle()
        await load.stop()
        patience = 120 + DRAIN_FACTOR * SECONDS
        await fragile.drained(patience)

        async def settled() -> bool:
            return await summarizer.has_answered_all() and await fragile.behind() == {}

        await eventually(settled, "every request is answered and every answer is taken", patience, poll=1.0)
    print(f"faults: {dict(chaos.done)}")
    await chaos.rest(patience)
    await fragile.verdict()
