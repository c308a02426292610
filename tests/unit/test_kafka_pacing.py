"""How often a consumer asks: pieces that come close together are fetched together, and who comes alone waits
for nothing; on the real broker, and the moments with a clock of the test's.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewTopic

from deploy.local.kafka import LocalKafka
from streams.kafka import pacing
from streams.runtime.aiokafka_internals import FetchRequest

HERE, THERE = 1, 2
USUAL_MS, TIMEOUT, PAUSE = 50, 0.2, 0.01


class Rig:
    """A fetcher that wants to ask both brokers, and a client that answers what it is told to."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *, rests: bool = True) -> None:
        self.now = 100.0
        self.answer: list[tuple[str, list[tuple[Any, ...]]]] = []
        self.wanted = [HERE, THERE]
        self.fetcher = SimpleNamespace(
            _records={}, _fetch_max_wait_ms=USUAL_MS, _get_actions_per_node=self._decide
        )
        self.client = SimpleNamespace(send=self._send)
        monkeypatch.setattr(pacing.time, "monotonic", lambda: self.now)
        self.assigned = "assigned"
        consumer: Any = SimpleNamespace(_fetcher=self.fetcher, _client=self.client)
        pacing.pace(consumer, PAUSE, rests=rests)

    async def _send(self, node: int, request: Any, **options: Any) -> Any:
        return SimpleNamespace(topics=self.answer)

    def _decide(self, assignment: Any) -> Any:
        assert assignment is self.assigned
        waits = self.fetcher._fetch_max_wait_ms
        return [(node, waits) for node in self.wanted], {HERE: ["a reset"]}, TIMEOUT, False, ["a pause"]

    def decide(self) -> tuple[list[int], float]:
        """Return who is asked now, and after what time (seconds) that is looked at again."""
        requests, resets, timeout, *others = self.fetcher._get_actions_per_node(self.assigned)
        assert (resets, others) == ({HERE: ["a reset"]}, [False, ["a pause"]])
        return [node for node, _ in requests], timeout

    def waits(self) -> int:
        """Return how long a fetch of this moment may wait at the broker (ms)."""
        requests = self.fetcher._get_actions_per_node(self.assigned)[0]
        return int(requests[0][1])

    async def hear(self, records: bytes, request: Any = None) -> None:
        self.answer = [("t", [(0, 0, 5, b""), (1, 0, 5, records)])]
        await self.client.send(HERE, request or FetchRequest(USUAL_MS, 1, 1, 0, []))


@pytest.fixture
def rig(monkeypatch: pytest.MonkeyPatch) -> Rig:
    return Rig(monkeypatch)


async def test_a_fetch_waits_longer_where_nothing_happens(rig: Rig) -> None:
    assert rig.waits() == USUAL_MS
    rig.now += 2.5
    assert rig.waits() == 500
    rig.fetcher._records = {"a partition": "that is not asked for"}
    assert rig.waits() == USUAL_MS
    rig.fetcher._records = {}
    await rig.hear(b"records")
    rig.now += 1.0
    assert rig.waits() == USUAL_MS
    rig.now += 1.5
    assert rig.waits() == 500
    rig.assigned = "otherwise"
    assert rig.waits() == USUAL_MS
    rig.now += 2.5
    assert rig.waits() == 500


@pytest.mark.kafka
async def test_what_comes_during_the_pause_is_one_fetch(kafka: LocalKafka, topic_prefix: str) -> None:
    place, fetches = TopicPartition(f"{topic_prefix}pieces", 0), []
    admin = AIOKafkaAdminClient(bootstrap_servers=kafka.bootstrap_servers)
    await admin.start()
    try:
        await admin.create_topics([NewTopic(place.topic, 1, 1)])
    finally:
        await admin.close()
    producer = AIOKafkaProducer(bootstrap_servers=kafka.bootstrap_servers)
    consumer = AIOKafkaConsumer(bootstrap_servers=kafka.bootstrap_servers, auto_offset_reset="earliest")
    async with producer, consumer:
        await producer.send_and_wait(place.topic, b"0", partition=0)
        send = consumer._client.send

        async def counted(node: int, request: Any, **options: Any) -> Any:
            response = await send(node, request, **options)
            if isinstance(request, FetchRequest):
                fetches.append(any(entry[-1] for _, partitions in response.topics for entry in partitions))
            return response

        consumer._client.send = counted
        pacing.pace(consumer, pause=5.0)
        consumer.assign([place])
        assert [each.value for each in (await consumer.getmany(timeout_ms=60_000))[place]] == [b"0"]
        for number in range(1, 6):
            await producer.send_and_wait(place.topic, b"%d" % number, partition=0)
        found: list[bytes] = []
        while len(found) < 5:
            found += [each.value for each in (await consumer.getmany(timeout_ms=60_000)).get(place, [])]
    assert found == [b"1", b"2", b"3", b"4", b"5"]
    assert sum(fetches) == 2
