"""What nobody waits for fails aloud, and leaves nothing for the garbage collector to tell."""

from __future__ import annotations

import asyncio
import gc
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from deploy.local.ports import free_ports
from streams.clients.kafka.clients import close, connect
from streams.config import background
from streams.config.background import cancel_and_wait, in_background, in_own_loop
from streams.config.backoff import backoff
from streams.config.exits import EXIT_FAILED
from streams.config.settings import Settings
from streams.queries.live.reader import Live
from streams.server.serve import process


@pytest.fixture
async def left() -> list[dict[str, Any]]:
    """What asyncio has to say of tasks and futures when they are collected."""
    told: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: told.append(context))
    return told


async def fail() -> None:
    raise ValueError("no")


async def test_a_failure_is_reported_at_once(left: list[dict[str, Any]]) -> None:
    with capture_logs() as lines:
        task = in_background(fail(), "failing")
        await asyncio.wait([task])
    [line] = lines
    assert (line["log_level"], line["task"], str(line["exc_info"])) == ("error", "failing", "no")
    del task, lines, line
    gc.collect()
    assert left == []


def cannot_follow(topic: object, settings: Settings) -> None:
    raise ValueError("no")


async def cannot_live(live: Live) -> None:
    raise ValueError("no")


@pytest.mark.parametrize(
    ("broken", "fails"),
    [
        ("streams.clients.kafka.keyed_topic.KeyedTopic.follow", cannot_follow),
        ("streams.queries.live.reader.Live._read", cannot_live),
        ("streams.queries.live.reader.Live._look", cannot_live),
    ],
)
def test_serve_ends_without_readers_of_tokens_or_events(
    broken: str, fails: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A token that was revoked would let people in for as long as it runs."""
    (port,) = free_ports(1)
    settings = Settings(data_dir=tmp_path, api_port=0, metrics_port=0, bootstrap_servers=f"127.0.0.1:{port}")
    monkeypatch.setattr(process, "_TOPICS_SECONDS", 0.0)
    # It is for a process that ends: after any later signal this one would end within half a minute.
    monkeypatch.setattr(process, "watch_signals", lambda *_: None)
    monkeypatch.setattr(broken, fails)
    assert asyncio.run(process._main(settings)) == EXIT_FAILED


class TestInOwnLoop:
    async def test_work_is_cancelled_with_its_caller(self) -> None:
        began, cancelled = threading.Event(), threading.Event()

        async def waits() -> None:
            began.set()
            try:
                await asyncio.sleep(3600)
            except asyncio.CancelledError:
                cancelled.set()
                raise

        caller = asyncio.create_task(in_own_loop(waits))
        assert await asyncio.to_thread(began.wait, 60)
        caller.cancel()
        with pytest.raises(asyncio.CancelledError):
            await caller
        assert await asyncio.to_thread(cancelled.wait, 60)


class LosesCancellation:
    """Waits as aiokafka does: with Python 3.11, its end and its cancellation at one moment are an end alone."""

    def __init__(self) -> None:
        self.refused = asyncio.get_running_loop().create_future()

    async def start(self) -> None:
        await asyncio.wait_for(self.refused, 60)

    def cancel_with_its_end(self, task: asyncio.Task[Any]) -> None:
        self.refused.set_exception(ConnectionRefusedError("refused"))
        task.cancel()


async def test_connecting_to_kafka_keeps_a_cancellation(tmp_path: Path) -> None:
    client: Any = LosesCancellation()
    task = asyncio.create_task(connect(client, Settings(data_dir=tmp_path), 60))
    await asyncio.sleep(0)
    client.cancel_with_its_end(task)
    with pytest.raises(asyncio.CancelledError):
        await task


class EndsItsTask:
    """Has a task of its own, as aiokafka's consumers without a group do."""

    async def start(self) -> None:
        self._own = asyncio.create_task(self._run())

    async def _run(self) -> None:
        with suppress(asyncio.CancelledError):
            await asyncio.Event().wait()

    async def stop(self) -> None:
        self._own.cancel()
        await self._own


async def test_a_kafka_client_is_closed_once_connected(tmp_path: Path) -> None:
    client: Any = EndsItsTask()
    await connect(client, Settings(data_dir=tmp_path), 60)
    await close(client)


async def test_a_task_that_lost_its_cancellation_is_cancelled_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(background, "_CLEANING_SECONDS", 0.01)
    client = LosesCancellation()

    async def tries_for_ever() -> None:
        while True:
            with suppress(ConnectionRefusedError):
                await client.start()
            await asyncio.Event().wait()

    task = asyncio.create_task(tries_for_ever())
    await asyncio.sleep(0)
    client.refused.set_exception(ConnectionRefusedError("refused"))
    async with asyncio.timeout(30):
        await cancel_and_wait(task)
    assert task.cancelled()


async def test_a_reader_cancelled_while_it_closes_still_closes_its_client(tmp_path: Path) -> None:
    client: Any = EndsItsTask()
    await connect(client, Settings(data_dir=tmp_path), 60)
    closing = asyncio.create_task(close(client))
    await asyncio.sleep(0)
    closing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await closing
    assert client._own.done()


def test_the_wait_grows_to_its_limit_and_is_jittered() -> None:
    for attempt, ceiling in [(1, 0.4), (2, 0.8), (7, 25.6), (8, 30.0), (9, 30.0), (10_000, 30.0)]:
        waits = [backoff(attempt, 0.2, 30.0) for _ in range(100)]
        assert ceiling / 2 <= min(waits) < max(waits) <= ceiling
