"""Reading a conversation from the topic, on a real broker, as the window does when the log has expired."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest
from test_conversation_log import turn

from deploy.local.kafka import LocalKafka
from models.turns import Turn
from streams.admin.topics import admin
from streams.clients.catalog import Catalog, catalog_for
from streams.config.settings import Settings
from streams.runtime.testing import START
from streams.stores.turn_topic import TurnTopic
from tests.topic_records import write

pytestmark = pytest.mark.kafka


@pytest.fixture
async def settings(kafka: LocalKafka, topic_prefix: str, tmp_path: Path) -> Settings:
    made = Settings(bootstrap_servers=kafka.bootstrap_servers, topic_prefix=topic_prefix, data_dir=tmp_path)
    catalog = catalog_for(made)
    await admin.apply(Catalog([catalog.get("memory.turns.v1")], catalog.prefix), made)
    return made


async def publish(settings: Settings, *turns: Turn, erased: tuple[Turn, ...] = ()) -> None:
    for each in (*turns, *erased):
        value = None if each in erased else each
        await write(settings, "memory.turns.v1", (each.turn_id, value), route=each.conversation_id)


async def test_the_latest_life_is_in_order_without_erased_messages(settings: Settings) -> None:
    name = 'a "strange" näme'
    later = START + timedelta(days=100)
    old = [turn(index, name) for index in range(3, 9)]
    new = [
        turn(index, name, message_id=f"n{index}", turn_id=f"new-{index}", began_at=later) for index in range(4)
    ]
    others = [turn(index, "other") for index in range(3)] + [turn(0, name, tenant_id="acme")]
    await publish(settings, *old, *others, *new[::-1], erased=(new[1],))
    topic = TurnTopic(settings)
    assert await topic.turns("default", name) == [new[0], *new[2:]]
    assert [each.tenant_id for each in await topic.turns("acme", name)] == ["acme"]
    assert await topic.turns("default", "unknown") == []
