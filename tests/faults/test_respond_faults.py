"""The respond service is killed, told to stop, joined: responses are what the filter gives without Kafka."""

from __future__ import annotations

import random
import sys
from pathlib import Path

import pytest
from chat_load import Load
from harness import SHORT_SESSION, Deployment
from kills import dies, dying_command, has_processed, kill_and_restart
from patient import LONGEST_HOLD_MS
from respond_verdict import RespondVerdict
from response_load import Shape, response_chunks
from workers import Worker

from streams.agents.respond.routing import CHUNKS, ROUTED

pytestmark = [pytest.mark.kafka, pytest.mark.faults, pytest.mark.long]


class Stream(Deployment):
    """The respond service, and chunks for it.  ``memory``: of a response, or of its conversation."""

    services = ("respond",)
    memory = "response"

    @property
    def sources(self) -> tuple[str, ...]:  # type: ignore[override]  # they depend on what is remembered
        return (CHUNKS, ROUTED) if self.memory == "conversation" else (CHUNKS,)

    @property
    def topic(self) -> str:
        return self.catalog.name(CHUNKS)

    def settings(self, instance: str, **changes: object) -> dict[str, object]:
        own = {
            # No hold time ends (see patient.py), no response falls silent: the chunks alone decide.
            "max_hold_ms": LONGEST_HOLD_MS,
            "max_repeat_hold_ms": LONGEST_HOLD_MS,
            "response_idle_seconds": 3600,
            "response_memory": self.memory,
        }
        return super().settings(instance) | own | changes

    def worker(  # type: ignore[override]  # it misbehaves in another way
        self, instance: str = "a", *, dying: bool = False, **changes: object
    ) -> Worker:
        """Start a worker: ``switchboard worker respond``, or one that can be told to die (see dying.py)."""
        command = [sys.executable, str(Path(__file__).with_name("patient.py")), "worker", "respond"]
        if dying:
            command = dying_command("respond", self.control)
        return self.start(command, instance, host="", **changes)

    def chunks(self, *, rate: float, shape: Shape | None = None) -> Load:
        return self.load(rate=rate, records=response_chunks(self.seed, shape or Shape()))

    async def verdict(  # type: ignore[override]  # on another service
        self, *, clock: bool = False
    ) -> RespondVerdict:
        await self.drained()
        spans = self.memory == "conversation"
        verdict = RespondVerdict(self.servers, self.catalog, spans_conversation=spans, clock=clock)
        await verdict.check()
        assert verdict.duplicates
        assert verdict.dead_letters
        return verdict


async def test_killed_at_random_times_and_restarted(stream, seed):
    """Also while it starts, and while it recovers what it was killed in the middle of."""
    load = stream.chunks(rate=3000)
    await kill_and_restart(stream.worker("a"), random.Random(seed), times=2)
    await load.stop()
    await stream.verdict()


async def test_sigterm_hands_over_and_another_joins_under_load(stream):
    first = stream.worker("a", **SHORT_SESSION)
    load = stream.chunks(rate=4000)
    await has_processed(first, 2000)
    second = stream.worker("b", **SHORT_SESSION)
    await has_processed(second, 2000)
    assert await first.stops() == 0
    await load.reaches(load.sent + 3000)
    await load.stop()
    await stream.verdict()
    assert await second.stops() == 0


async def test_respond_needs_no_folder_that_it_can_write(stream):
    stream.folder.joinpath("file").touch()
    worker = stream.worker("a", data_dir=stream.folder / "file" / "data")
    load = stream.chunks(rate=2000)
    await has_processed(worker, 2000)
    await load.stop()
    await stream.verdict()
    assert await worker.stops() == 0


@pytest.mark.short
async def test_killed_between_outputs_and_state(stream):
    """What is processed again gives what it gave before, and what the clock has decided stays decided."""
    load = stream.chunks(rate=2000)
    worker = stream.worker("a", dying=True, max_hold_ms=60, max_repeat_hold_ms=60)
    for moment in ("batch", "timer"):
        await has_processed(worker, 1000)
        await dies(worker, stream.control, moment)
        worker.start()
    await has_processed(worker, 1000)
    await load.stop()
    verdict = await stream.verdict(clock=True)
    assert verdict.copies
    assert verdict.released


async def test_killed_with_a_memory_that_spans_conversations(stream, seed):
    stream.memory = "conversation"
    load = stream.chunks(rate=2000)
    worker = stream.worker("a", dying=True)
    await has_processed(worker, random.Random(seed).randint(200, 4000))
    await dies(worker, stream.control, "batch")
    worker.start()
    await has_processed(worker, 1000)
    await load.stop()
    verdict = await stream.verdict()
    assert verdict.copies


@pytest.mark.soak
@pytest.mark.parametrize("memory", ["response", "conversation"])
@pytest.mark.parametrize("hold_ms", [60, LONGEST_HOLD_MS])
async def test_killed_again_and_again(stream, seed, memory, hold_ms):
    stream.memory = memory
    load = stream.chunks(rate=2500, shape=Shape(responses=250))
    worker = stream.worker("a", dying=True, max_hold_ms=hold_ms, max_repeat_hold_ms=hold_ms)
    chance = random.Random(seed)
    for _ in range(10):
        await kill_and_restart(worker, chance, times=1)
        await worker.ready()
        await dies(worker, stream.control, chance.choice(("batch", "timer")) if hold_ms == 60 else "batch")
        worker.start()
    await load.stop()
    await stream.verdict(clock=hold_ms == 60)
