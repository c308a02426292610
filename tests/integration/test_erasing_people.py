"""Forgetting a person on a real broker: all of their conversations, or an error and nothing."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from datetime import timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from waiting import eventually

from deploy.local.kafka import LocalKafka
from models.errors import DependencyUnavailable, InvalidRecord
from models.messages import ChatMessage
from models.turns import Turn
from streams.admin.topics import admin
from streams.agents.ingest.conversations import FACTS, Conversations
from streams.clients.catalog import TURNS, catalog_for
from streams.clients.erasure_ledger import LEDGER, note, open_ledger
from streams.clients.kafka import broker
from streams.clients.topics import COMMANDS
from streams.config.settings import Settings
from streams.llm.tokenizer import cl100k_counter
from streams.queries.conversations.states import CHANGELOG
from streams.queries.erasure.again import put_back, returned
from streams.queries.erasure.erasing import erase_person
from streams.runtime.testing import START, StageHarness
from tests.samples import fact, turn
from tests.topic_records import records_of, write

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
    await write(made, CHANGELOG, *((key.decode(), value) for key, value in harness.changelog))
    return made


async def written(settings: Settings, topic: str) -> list[Any]:
    spec = catalog_for(settings).get(topic)
    return (await records_of(settings.bootstrap_servers, {spec.name: spec.partitions}))[spec.name]


async def test_a_silent_broker_is_an_error_and_erases_nothing(
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


async def test_erased_people_who_are_known_again_are_found(
    kafka: LocalKafka, topic_prefix: str, tmp_path: Path
) -> None:
    """As after a restored backup: what was known of them before is in the topics again."""
    made = Settings(bootstrap_servers=kafka.bootstrap_servers, topic_prefix=topic_prefix, data_dir=tmp_path)
    await admin.apply(catalog_for(made), made)
    until, later = START + timedelta(hours=1), START + timedelta(hours=2)
    assert await returned(made) == []
    for name in ("ada", "bea", "cem", "dan"):
        await note(made, "default", name, until)
    known = [
        turn(0, user_id="ada"),
        fact("Sings", user_id="bea", fact_id="f-1"),
        fact("Paints", user_id="bea", fact_id="f-2", last_evidence_at=later),
        turn(1, user_id="cem", arrived_at=later),
        turn(2, user_id="eve"),  # never erased
    ]
    gone = turn(3, user_id="dan")
    async with AIOKafkaProducer(bootstrap_servers=made.bootstrap_servers) as producer:
        for each in (*known, gone):
            topic, key = (TURNS, each.turn_id) if isinstance(each, Turn) else (FACTS, each.fact_id)
            spec, value = catalog_for(made).get(topic), msgspec.json.encode(each)
            await producer.send_and_wait(spec.name, value, key.encode(), partition=0)
        turns = catalog_for(made).get(TURNS)
        await producer.send_and_wait(turns.name, None, gone.turn_id.encode(), partition=0)
    found = [(each.user_id, each.erased_at, each.since) for each in await returned(made)]
    assert found == [("ada", until, False), ("bea", until, True)]


async def test_the_ledger_is_completed_from_a_copied_folder(
    kafka: LocalKafka, topic_prefix: str, tmp_path: Path
) -> None:
    made = Settings(bootstrap_servers=kafka.bootstrap_servers, topic_prefix=topic_prefix, data_dir=tmp_path)
    await admin.apply(catalog_for(made), made)
    await note(made, "default", "ada", START)
    async with AsyncExitStack() as resources:
        await (await open_ledger(made, resources)).ready()
        copy = made.folder / "erasures.json"
        await asyncio.to_thread(eventually, copy.exists, "the ledger is kept")
    [(person_id, entry)] = (await LEDGER.read_all(made)).items()
    await LEDGER.put(made, person_id, None)
    assert (await put_back(made, copy), await put_back(made, copy)) == (1, 0)
    assert await LEDGER.read_all(made) == {person_id: entry}
    copy.write_text('{"ada": {}}')
    with pytest.raises(InvalidRecord, match=r"erasures\.json, in the data folder"):
        await put_back(made, copy)
