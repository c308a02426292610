"""A switch that is asked for while workers are starting: it waits until they have joined their groups."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import msgspec
import pytest
from aiokafka import AIOKafkaConsumer
from waiting import eventually

from deploy.local.kafka import LocalKafka
from models.errors import ConfigurationError
from streams.admin.topics import admin
from streams.clients.catalog import catalog_for
from streams.clients.topics import MESSAGES
from streams.config import child_process
from streams.config.service_registry import ServiceAddress, register
from streams.config.settings import Settings, load_settings
from streams.config.settings.services import REPLAYED
from streams.server.replays import record, switching

pytestmark = pytest.mark.kafka


@pytest.fixture
async def live(kafka: LocalKafka, tmp_path: Path, topic_prefix: str) -> Settings:
    """The live generation, with one named b beside it: their topics, and nobody who reads them."""
    names = [spec.contract_name for spec in catalog_for(load_settings()).all()]
    settings = load_settings(
        bootstrap_servers=kafka.bootstrap_servers,
        topic_prefix=topic_prefix,
        data_dir=str(tmp_path),
        partitions=",".join(f"{name}=1" for name in names),
    )
    for each in (settings, record.generation_settings(settings, "b")):
        assert not (await admin.apply(catalog_for(each), each)).remaining
    return settings


@asynccontextmanager
async def members_of(settings: Settings) -> AsyncIterator[None]:
    """A member in each group of a generation, and the note of a worker that runs as live ones do."""
    topic = catalog_for(settings).name(MESSAGES)
    async with AsyncExitStack() as stack:
        for service in REPLAYED:
            here = ServiceAddress(service, f"b-{service}", os.getpid(), "127.0.0.1", 1)
            stack.callback(register(settings, here))
            consumer = AIOKafkaConsumer(
                topic, group_id=settings.group(service), bootstrap_servers=settings.bootstrap_servers
            )
            await consumer.start()
            stack.push_async_callback(consumer.stop)
        yield


async def test_a_switch_waits_for_workers_that_are_starting(live: Settings) -> None:
    generation = record.generation_settings(live, "b")
    lock = await record.take(generation)  # as `switchboard replay start` holds it while its workers start again
    asking = asyncio.create_task(switching.switch(live, "b", {}))
    try:
        done, _ = await asyncio.wait([asking], timeout=2)
        assert not done, await asking
        async with members_of(generation):
            known = await asking
            assert known is not None and known.serves.name == "b"
    finally:
        lock.release()


async def test_a_switch_waits_for_workers_that_are_about_to_start_again(live: Settings) -> None:
    generation = record.generation_settings(live, "b")
    lock = await record.take(generation)
    worker = child_process.spawn([sys.executable, "-c", "import signal; signal.pause()"], nice=19)
    replays = ServiceAddress("recall", "b-recall", worker.pid, "127.0.0.1", 1)
    try:
        eventually(lambda: os.getpriority(os.PRIO_PROCESS, worker.pid) == 19, "it replays at a low priority")
        async with members_of(generation):
            register(generation, replays)
            asking = asyncio.create_task(switching.switch(live, "b", {}))
            done, _ = await asyncio.wait([asking], timeout=3)
            assert not done, await asking
            child_process.end(worker, 10)  # its group still has it as a member
            done, _ = await asyncio.wait([asking], timeout=2)
            assert not done, await asking
            register(generation, msgspec.structs.replace(replays, pid=os.getpid()))
            known = await asking
            assert known is not None and known.serves.name == "b"
    finally:
        child_process.end(worker, 10)
        lock.release()


async def test_a_generation_that_nobody_runs_is_refused(
    live: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(switching, "_PATIENCE_SECONDS", 0.5)
    with pytest.raises(ConfigurationError, match="ingest, memory, recall of generation b does not run"):
        await switching.switch(live, "b", {})
