"""Services inside a program's own event loop, as a library: what workers do, without a process around it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from harness import SHORT_SESSION
from workers import eventually

from streams.agents.ingest.conversations import Conversations
from streams.config.settings import load_settings
from streams.llm.tokenizer import cl100k_counter
from streams.runtime.service import ServiceRuntime
from streams.telemetry.health import HealthState
from streams.telemetry.metrics import Metrics

pytestmark = [pytest.mark.kafka, pytest.mark.faults, pytest.mark.long]


@asynccontextmanager
async def serving(stream, instance: str, **changes: object) -> AsyncIterator[ServiceRuntime]:
    """Run the ingest service until the block ends; a failure of its own fails the test."""
    settings = load_settings(**stream.settings(instance, **changes))
    runtime = ServiceRuntime(
        "ingest",
        [Conversations(settings, cl100k_counter()).stage()],
        settings=settings,
        catalog=stream.catalog,
        metrics=Metrics(),
        health=HealthState(60),
    )
    await runtime.start()
    try:
        await eventually(lambda: not runtime.health.why_not_ready(), f"{instance} is ready")
        yield runtime
    finally:
        await runtime.stop()
    assert runtime.failure is None


async def has_processed(runtime: ServiceRuntime, count: int) -> None:
    """Wait until the service has processed ``count`` records more."""
    metric = runtime.metrics.registry.get_sample_value
    labels = {"service": "ingest", "stage": "conversations", "topic": "chat.messages.v1"}

    def processed() -> float:
        return metric("switchboard_records_total", labels) or 0.0

    wanted = processed() + count
    await eventually(lambda: processed() >= wanted, f"{count} records are processed")


@pytest.mark.short
async def test_services_come_and_go_and_hand_over_what_they_hold(stream):
    load = stream.load(rate=2000)
    async with serving(stream, "a", **SHORT_SESSION) as first:
        await has_processed(first, 2000)
        async with serving(stream, "b", **SHORT_SESSION) as second:
            await has_processed(second, 1000)
            await has_processed(first, 1000)
        await has_processed(first, 1000)
    async with serving(stream, "c", **SHORT_SESSION) as third:
        await has_processed(third, 1000)
        await load.stop()
        await stream.verdict()
