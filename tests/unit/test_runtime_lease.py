"""The lease: what may be written after the group has not heard of us for a while."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any
from unittest.mock import AsyncMock

import pytest
from aiokafka.errors import KafkaError
from samples import Clock

from models.errors import ConsistencyError
from streams.clients.aiokafka_internals import JoinGroupRequest, ProduceRequest
from streams.runtime.consumer_thread import BatchConsumerThread
from streams.runtime.lease import FencedInstanceIdError, Lease

SESSION = 10.0


@pytest.fixture
def clock() -> Clock:
    return Clock(100.0)


@pytest.fixture
def lease(clock: Clock) -> Lease:
    return Lease(SESSION, "ingest-a", clock)


class TestLease:
    async def test_is_held_for_a_session_after_an_answered_request(self, lease: Lease, clock: Clock) -> None:
        lease.renew(clock.now)
        clock.now += SESSION - 0.1
        await lease.held()

    async def test_after_a_silent_session_it_waits_for_the_group(self, lease: Lease, clock: Clock) -> None:
        lease.renew(clock.now)
        clock.now += SESSION
        asked = asyncio.create_task(lease.held())
        await asyncio.sleep(0.06)
        assert not asked.done(), "a broker that is away takes nothing from us"
        lease.renew(clock.now)
        await asked

    async def test_who_stood_still_and_was_forgotten_writes_nothing(self, lease: Lease, clock: Clock) -> None:
        lease.renew(clock.now)
        clock.now += 2 * SESSION
        lease.lose(forgotten=True)
        with pytest.raises(ConsistencyError, match="given our partitions away"):
            await lease.held()
        lease.check_name()

    @pytest.mark.parametrize(
        ("silent", "fenced"), [(0, True), (SESSION / 2 - 1, True), (SESSION / 2, False), (SESSION, False)]
    )
    async def test_the_name_is_lost_within_half_a_session(
        self, lease: Lease, clock: Clock, silent: float, fenced: bool
    ) -> None:
        assert lease.fenced is False
        lease.renew(clock.now)
        clock.now += silent
        lease.lose(forgotten=True)
        assert lease.fenced is fenced

    async def test_who_took_the_name_may_be_another_deployment(self, lease: Lease, clock: Clock) -> None:
        """Two namespaces of Kubernetes with one prefix: their pods have the same names."""
        lease.renew(clock.now)
        lease.lose(forgotten=True)
        with pytest.raises(FencedInstanceIdError, match=r"INSTANCE_ID.*another namespace.*TOPIC_PREFIX"):
            lease.check_name()


class Client:
    def __init__(self) -> None:
        self.sent: list[Any] = []

    async def send(self, node_id: int, request: Any, **options: Any) -> str:
        self.sent.append((node_id, request, options))
        return "answer"


@pytest.mark.parametrize("forgotten", [True, False])
async def test_records_behind_a_refused_one_are_late_too(lease: Lease, clock: Clock, forgotten: bool) -> None:
    """The worker is about to stop; until then its consumer may come back, and its producer would go on."""
    client, refusals = Client(), []
    lease.guard(client, refusals.append)
    produce = ProduceRequest.__new__(ProduceRequest)
    lease.renew(clock.now)
    assert await client.send(2, produce, group=3) == "answer"
    lease.lose(forgotten=forgotten)
    with pytest.raises(KafkaError):
        await client.send(2, produce)
    lease.renew(clock.now)
    with pytest.raises(KafkaError):
        await client.send(2, produce)
    assert client.sent == [(2, produce, {"group": 3})]


class Coordinator:
    """As much of aiokafka's as the lease watches; answers with the error codes it is given."""

    def __init__(self) -> None:
        self._closing = asyncio.get_running_loop().create_future()
        self.answer: Any = SimpleNamespace(error_code=0)
        self.reset = 0
        self.asked: list[Any] = []

    async def _send_req(self, request: Any) -> Any:
        self.asked.append(request)
        return self.answer

    def reset_generation(self) -> None:
        self.reset += 1


class TestWatchingTheCoordinator:
    @pytest.fixture
    async def coordinator(self, lease: Lease) -> Coordinator:
        coordinator = Coordinator()
        BatchConsumerThread.watch(coordinator, lease)
        return coordinator

    @pytest.mark.parametrize(
        "answer",
        [
            SimpleNamespace(error_code=25),
            SimpleNamespace(error_code=82),
            SimpleNamespace(topics=[("messages", [(0, 25), (1, 25)])]),
            SimpleNamespace(topics=[("messages", [(0, 5, "metadata", 25)])]),
        ],
    )
    async def test_an_unknown_member_has_lost_it(
        self, coordinator: Coordinator, lease: Lease, clock: Clock, answer: Any
    ) -> None:
        lease.renew(clock.now)
        coordinator.answer = answer
        await coordinator._send_req("commit")
        assert coordinator.asked == ["commit"]
        assert lease.fenced

    async def test_who_was_refused_does_not_join_again_but_leaves(
        self, coordinator: Coordinator, lease: Lease, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """It is about to stop: partitions it were given now would have nobody until its session ends."""
        join = JoinGroupRequest("group", 10_000, 20_000, "", "a", "consumer", [])
        await coordinator._send_req(join)
        with pytest.raises(ConsistencyError):
            await lease.held()
        monkeypatch.setattr(asyncio, "sleep", AsyncMock())
        with pytest.raises(KafkaError):
            await coordinator._send_req(join)
        await coordinator._send_req("leave")
        assert coordinator.asked == [join, "leave"]
