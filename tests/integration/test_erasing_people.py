"""Forgetting a person on a real broker: all of their conversations, or an error and nothing."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition

from deploy.local.kafka import LocalKafka
from models.errors import DependencyUnavailable
from models.messages import ChatMessage
from streams.admin.topics import admin
from streams.agents.ingest.conversations import FACTS, Conversations
from streams.clients.catalog import catalog_for
from streams.clients.kafka import broker
from streams.clients.partitioner import partition_of
from streams.clients.topics import COMMANDS
from streams.config.settings import Settings
from streams.llm.tokenizer import cl100k_counter
from streams.queries.conversations.states import CHANGELOG
from streams.queries.erasure.erasing import erase_person
from streams.runtime.testing import START, StageHarness
from tests.topic_records import records_of

pytestmark = pytest.mark.kafka

NAMES = [f"chat {number}" for number in range(24)]


@pytest.fixture
async def settings(kafka: LocalKafka, topic_prefix: str, tmp_path: Path) -> Settings:
    """A deployment in which Ada began some conversations."""
    made = Settings(bootstrap_servers=kafka.bootstrap_servers, topic_prefix=topic_prefix, data_dir=tmp_path)
    await admin.apply(catalog_for(made), made)
    harness = StageHarness(Conversations(made, cl100k_counter()).stage())
    for name in NAMES:
        sent_at = START + timedelta(seconds=1)
        message = ChatMessage(
            message_id="m", conversation_id=name, user_id="ada", role="user", content="Hello.", sent_at=sent_at
        )
        harness.feed(harness.record(message))
    spec = catalog_for(made).get(CHANGELOG)
    async with AIOKafkaProducer(bootstrap_servers=made.bootstrap_servers) as producer:
        for key, value in harness.changelog:
            await producer.send_and_wait(spec.name, value, key, partition=partition_of(key, spec.partitions))
    return made


async def written(settings: Settings, topic: str) -> list[Any]:
    spec = catalog_for(settings).get(topic)
    return (await records_of(settings.bootstrap_servers, {spec.name: spec.partitions}))[spec.name]


async def test_a_broker_that_falls_silent_is_an_error_and_nothing_is_erased(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    fetch = AIOKafkaConsumer.getmany
    silent = catalog_for(settings).name(CHANGELOG)

    async def stalls(consumer: AIOKafkaConsumer, *places: TopicPartition, **how: Any) -> Any:
        left = [place for place in places if place.topic != silent or place.partition % 2]
        return await fetch(consumer, *left, **how) if left else {}

    monkeypatch.setattr(AIOKafkaConsumer, "getmany", stalls)
    monkeypatch.setattr(broker, "ANSWER_SECONDS", 3.0)
    with pytest.raises(DependencyUnavailable, match="nothing came for 3 s"):
        await erase_person(settings, "default", "ada")
    monkeypatch.undo()
    assert (await written(settings, COMMANDS), await written(settings, FACTS)) == ([], [])
