"""The consumer's thread: what its aiokafka consumer is told, and what a commit's answer means."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
import structlog
from aiokafka.errors import (
    CommitFailedError,
    IllegalStateError,
    KafkaTimeoutError,
    NodeNotReadyError,
)
from aiokafka.structs import TopicPartition
from aiokafka.util import commit_structure_validate

from streams.config.settings import Settings
from streams.runtime.consumer_thread import BatchConsumerThread
from streams.runtime.faust_internals import TP

TP0, TP1 = TP("messages", 0), TP("messages", 1)
SETTINGS = Settings(
    instance_id="one", session_timeout_seconds=7, heartbeat_seconds=2, auto_offset_reset="latest"
)


class Lease:
    def __init__(self) -> None:
        self.renewed: list[float] = []

    def renew(self, at: float) -> None:
        self.renewed.append(at)


class Client:
    """aiokafka's consumer, as far as the thread asks for it."""

    def __init__(self) -> None:
        self.commits: list[Any] = []
        self.answer: Exception | None = None
        self.paused: set[TopicPartition] = set()
        self.sought: list[tuple[TopicPartition, int]] = []
        self.asked: list[str] = []
        self._coordinator = SimpleNamespace(check_errors=self._check_errors)
        self.coordination: Exception | None = None

    def _check_errors(self) -> None:
        if self.coordination:
            raise self.coordination

    async def commit(self, offsets: Any) -> None:
        commit_structure_validate(offsets)
        self.commits.append({(tp.topic, tp.partition): told.offset for tp, told in offsets.items()})
        if self.answer:
            raise self.answer

    def pause(self, *tps: TopicPartition) -> None:
        self.paused.update(tps)

    def seek(self, tp: TopicPartition, offset: int) -> None:
        self.sought.append((tp, offset))

    async def committed(self, tp: TopicPartition) -> int | None:
        self.asked.append("committed")
        return {0: 5}.get(tp.partition)

    async def beginning_offsets(self, tps: list[TopicPartition]) -> dict[TopicPartition, int]:
        return dict.fromkeys(tps, 1)

    async def end_offsets(self, tps: list[TopicPartition]) -> dict[TopicPartition, int]:
        self.asked.append("ends")
        return dict.fromkeys(tps, 9)


@pytest.fixture
async def thread() -> BatchConsumerThread:
    thread = BatchConsumerThread.__new__(BatchConsumerThread)
    runtime = SimpleNamespace(name="ingest", settings=SETTINGS, log=structlog.get_logger(), lease=Lease())
    thread.app = SimpleNamespace(
        runtime=runtime,
        assignor="the assignor",
        conf=SimpleNamespace(
            id="the group", consumer_max_fetch_size=1234, consumer_group_instance_id="ingest-here-0"
        ),
        tables=SimpleNamespace(changelog_topics={"changelog"}),
    )
    thread._consumer = Client()
    thread.assignment = lambda: {TP0}  # type: ignore[method-assign]
    return thread


class TestCommits:
    @pytest.mark.parametrize(
        "answer",
        [
            CommitFailedError("rebalanced"),
            IllegalStateError("gone"),
            NodeNotReadyError(),
            KafkaTimeoutError(),
        ],
    )
    async def test_a_commit_that_failed_is_not_taken_as_done(
        self, thread: BatchConsumerThread, answer: Exception
    ) -> None:
        thread._consumer.answer = answer
        assert not await thread._commit({TP0: 5})
