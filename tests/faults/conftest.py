"""Fixtures of the fault tests: a deployment on the shared broker, or on a broker that may be hurt."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Iterator

import pytest
from harness import Deployment


@pytest.fixture
async def stream(request, kafka, topic_prefix, tmp_path, worker_logs, seed) -> AsyncIterator[Deployment]:
    """Topics of their own on the broker that all tests share, of the kind that the file calls ``Stream``."""
    kind = getattr(request.module, "Stream", Deployment)
    async with kind(kafka.bootstrap_servers, topic_prefix, tmp_path, worker_logs, seed) as deployment:
        yield deployment


@pytest.fixture
async def fragile(broker, topic_prefix, tmp_path, worker_logs, seed) -> AsyncIterator[Deployment]:
    """Topics on a broker of their own, which the test may stop, freeze and kill."""
    async with Deployment(broker.bootstrap_servers, topic_prefix, tmp_path, worker_logs, seed) as deployment:
        yield deployment


@pytest.fixture(autouse=True)
def _quiet_clients() -> Iterator[None]:
    """What the clients of the tests say while brokers come and go is no news."""
    clients = logging.getLogger("aiokafka")
    level = clients.level
    clients.setLevel(logging.CRITICAL)
    yield
    clients.setLevel(level)
