"""The recall service is killed, its Redis emptied or killed, its index damaged, its embedder down.

Nothing is lost, and the views are those of a run that nothing disturbed, as the topics say.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import sys
from pathlib import Path

import pytest
from chat_load import Shape
from harness import SESSION_SECONDS, Deployment
from recall_verdict import RecallVerdict
from workers import Worker, eventually, switch, worker_command

from models.errors import DependencyUnavailable
from streams.admin.topics import reset
from streams.clients.catalog import load_catalog
from streams.clients.local_valkey import LocalValkey
from streams.config.settings import Settings
from streams.stores.conversation_log import ConversationLog
from streams.stores.index_factory import edge_folder
from streams.stores.qdrant_kinds import TURNS as KIND

pytestmark = [pytest.mark.kafka, pytest.mark.faults, pytest.mark.long]

RECALL = worker_command("recall")
SHAPE = Shape(conversations=20, length=20)


class Stream(Deployment):
    services = ("recall",)
    sources = tuple(spec.contract_name for spec in reset.sources_of(load_catalog(), "recall"))


class House:
    """One recall worker with the settings that a user has, and what it keeps."""

    def __init__(self, stream, command: list[str] = RECALL) -> None:
        # A data folder of its own; nothing else is other than by default, but for the ports of the machine, and
        # for a group that is patient with a busy one.
        self._stream = stream
        environment = {
            "bootstrap_servers": stream.servers,
            "topic_prefix": stream.prefix,
            "instance_id": "r",
            "data_dir": stream.folder / "data-r",
            "metrics_port": 0,
            "api_port": 0,
            "log_format": "json",
            "session_timeout_seconds": SESSION_SECONDS,
        }
        self.settings = Settings(**environment)
        log = stream._logs.register(stream.folder / "worker-r.log")
        self.worker = Worker(command, environment, log)
        stream.workers.append(self.worker)

    @property
    def folder(self) -> Path:
        return edge_folder(self.settings, KIND)

    def load(self, total: int | None = None, rate: float = 60):
        return self._stream.load(total, rate=rate, records=self._stream.messages(SHAPE))

    def redis(self):
        return LocalValkey(self.settings.folder, "recall").client()

    async def emptied(self) -> None:
        client = self.redis()
        try:
            await client.flushall()
        finally:
            await client.aclose()

    async def valkey(self) -> int:
        client = self.redis()
        try:
            return int((await client.info("server"))["process_id"])
        finally:
            await client.aclose()

    async def fills(self, least: int = 1) -> None:
        """Wait until Redis holds something again."""

        async def filled() -> bool:
            log = ConversationLog(self.redis(), self.settings.namespace)
            try:
                return bool(await log.conversations("default", "user of c1", least))
            except DependencyUnavailable:
                return False
            finally:
                await log.close()

        await eventually(filled, "the log of the first conversation is there")

    async def restarts_itself(self) -> None:
        """Wait until it has stopped because its view was lost, and start it, as whoever supervises it does."""
        assert await self.worker.exits() == 70
        assert self.worker.says("the worker stops")
        self.worker.start()
        await self.worker.ready()

    async def verdict(self) -> RecallVerdict:
        for _ in range(2):  # of what that leads to as well
            await self._stream.drained()
        verdict = RecallVerdict(self._stream.servers, self._stream.catalog, self.settings)
        await verdict.topics()
        await verdict.redis()
        assert await self.worker.stops() == 0
        await verdict.index()
        verdict.finish()
        return verdict


async def test_killed_at_random_times_and_restarted(stream, seed):
    chance = random.Random(seed)
    house = House(stream)
    load = house.load()
    await house.worker.ready()
    for _ in range(4):
        await load.reaches(load.sent + chance.randint(20, 120))
        house.worker.kill()
        house.worker.start()
        if chance.random() < 0.7:
            await house.worker.ready()
    await load.stop()
    await house.verdict()


async def test_redis_is_emptied_and_killed_under_load(stream):
    house = House(stream)
    load = house.load()
    await house.worker.ready()
    await house.fills()
    await house.emptied()
    await house.restarts_itself()
    await house.fills()
    os.kill(await house.valkey(), signal.SIGKILL)
    await house.restarts_itself()
    await load.stop()
    await house.verdict()


@pytest.mark.parametrize("half", ["**/segment*", "wal/*", "edge_config.json"])
async def test_a_half_written_index_is_refused_or_refilled(stream, half):
    """Either it says what to delete, and that is enough, or it makes good by itself what is missing."""
    house = House(stream)
    load = house.load(200)
    await house.worker.ready()
    await load.finish()
    await stream.drained()
    house.worker.kill()
    files = [
        path for path in house.folder.glob(half) for path in ([path] if path.is_file() else path.rglob("*"))
    ]
    largest = max((path for path in files if path.is_file()), key=lambda path: path.stat().st_size)
    os.truncate(largest, largest.stat().st_size // 2)
    await house.load(60).finish()
    house.worker.start()

    async def up_or_out() -> bool:
        return not house.worker.running or (
            bool(house.worker.says("starting")) and house.worker.get("/readyz")[0] == 200
        )

    await eventually(up_or_out, "it starts, or it does not")
    if not house.worker.running:
        assert await house.worker.exits() == 78
        assert f"rm -r '{house.folder}'" in str(house.worker.says("cannot start"))
        shutil.rmtree(house.folder)
        house.worker.start()
        await house.worker.ready()
    await house.verdict()


async def test_words_are_found_while_the_embedder_is_down(stream):
    house = House(stream, [sys.executable, str(Path(__file__).with_name("recalling.py")), str(stream.control)])
    with switch(stream.control, "down"):
        load = house.load(200)

        async def waits() -> bool:
            return await house.worker.metric("dependency_waiting", dependency="embedder") >= 1

        await eventually(waits, "the worker waits for the embedder")
        await load.finish()
        await house.fills()
    verdict = await house.verdict()
    assert len(verdict.vectors) == len(verdict.turns)
