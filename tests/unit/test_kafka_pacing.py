"""How often a consumer asks: pieces that come close together are fetched together, and who comes alone waits
for nothing; on the real broker, and the moments with a clock of the test's.
"""

from __future__ import annotations

from typing import Any

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewTopic

from deploy.local.kafka import LocalKafka
from streams.clients.aiokafka_internals import FetchRequest
from streams.clients.kafka import pacing


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
