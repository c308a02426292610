"""The consumer's thread: what a commit's answer means."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
import structlog
from aiokafka.errors import CommitFailedError, IllegalStateError, KafkaTimeoutError, NodeNotReadyError
from aiokafka.util import commit_structure_validate

from streams.runtime.consumer_thread import BatchConsumerThread
from streams.runtime.faust_internals import TP

TP0 = TP("messages", 0)


@pytest.mark.parametrize(
    "answer",
    [CommitFailedError("rebalanced"), IllegalStateError("gone"), NodeNotReadyError(), KafkaTimeoutError()],
)
async def test_a_commit_that_failed_is_not_taken_as_done(answer: Exception) -> None:
    async def commit(offsets: Any) -> None:
        commit_structure_validate(offsets)
        raise answer

    thread = BatchConsumerThread.__new__(BatchConsumerThread)
    thread.app = SimpleNamespace(runtime=SimpleNamespace(name="ingest", log=structlog.get_logger()))
    thread._consumer = SimpleNamespace(commit=commit)
    thread.assignment = lambda: {TP0}  # type: ignore[method-assign]
    assert not await thread._commit({TP0: 5})
