"""Contender: this project's runtime, with the trivial stage or the whole conversations stage.

Every output and every state change is confirmed before its offset is committed.
"""

from __future__ import annotations

import asyncio
import cProfile
import pstats
import sys
import time

from benchmarks.pipeline.report import Stopwatch, print_result
from benchmarks.pipeline.workload import State, decode_message, decode_state, encode, fold
from streams.clients.catalog import catalog_for
from streams.clients.records import RecordBatch
from streams.config.settings import load_settings
from streams.runtime.effects import Effects
from streams.runtime.service import ServiceRuntime
from streams.runtime.stage import Stage, StateReader
from streams.server.process.life import tune_garbage_collection
from streams.telemetry.health import HealthState
from streams.telemetry.metrics import Metrics


def trivial_step(batch: RecordBatch, state: StateReader) -> Effects:
    """Fold a batch, conversation by conversation."""
    effects = Effects()
    folded: dict[bytes, tuple[State, int]] = {}
    for record in batch.records:
        key = record.key or b""
        known = folded.get(key)
        if known is None:
            folded_to, payload = state.read(key)
            known = folded[key] = (decode_state(payload) if payload else State(), folded_to)
        if record.offset < known[1]:
            continue
        completed = fold(known[0], decode_message(record.value or b""))
        if completed is not None:
            effects.emit("memory.windows.v1", key, encode(completed))
    for key, (after, _) in folded.items():
        effects.store(key, encode(after), batch.next_position)
    return effects


def stage(kind: str) -> Stage:
    """Return the stage of ``kind``: ``trivial`` or ``whole``."""
    settings = load_settings()
    if kind == "whole":
        from streams.agents.ingest.conversations import Conversations
        from streams.llm.tokenizer import cl100k_counter

        return Conversations(settings, cl100k_counter()).stage()
    return Stage(
        name="conversations",
        sources=("chat.messages.v1",),
        table="conversations",
        step=trivial_step,
        batch_records=settings.batch_records,
    )


async def main(kind: str, count: int) -> None:
    """Process ``count`` records (0: only recover state), then report."""
    tune_garbage_collection()
    settings = load_settings()
    metrics, health = Metrics(), HealthState(60)
    runtime = ServiceRuntime(
        "ingest",
        [stage(kind)],
        settings=settings,
        catalog=catalog_for(settings),
        metrics=metrics,
        health=health,
    )
    await runtime.start()
    records = metrics.records_total.labels("ingest", "conversations", "chat.messages.v1")
    watch, seen = Stopwatch(count), 0
    began = time.perf_counter()
    while watch.records < count and not runtime.failed.is_set():
        await asyncio.sleep(0.005)
        now = int(records._value.get())
        if now > seen:
            watch.add(now - seen)
            seen = now
    if count == 0:
        while health.why_not_ready() and not runtime.failed.is_set():
            await asyncio.sleep(0.005)
        ready = time.perf_counter() - began
        recovered = int(metrics.recovery_records_total.labels("conversations")._value.get())
        seconds = metrics.recovery_seconds.labels("conversations")._value.get()
        print_result(recovered, seconds, ready_seconds=ready)
    else:
        await runtime.drain(runtime.consumer.epoch)
        watch.report()
    await runtime.stop()
    if runtime.failure is not None:
        raise runtime.failure


if __name__ == "__main__":
    if "--profile" in sys.argv:
        profile = cProfile.Profile()
        profile.enable()
        asyncio.run(main(sys.argv[1], int(sys.argv[2])))
        profile.disable()
        pstats.Stats(profile, stream=sys.stderr).sort_stats("tottime").print_stats(25)
    else:
        asyncio.run(main(sys.argv[1], int(sys.argv[2])))
