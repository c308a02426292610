"""Reading a conversation from the topic, on a real broker, as the window does when the log has expired."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import msgspec
import pytest
from aiokafka import AIOKafkaProducer
from test_conversation_log import turn
from typer.testing import CliRunner

from deploy.local.kafka import LocalKafka
from models.errors import DependencyUnavailable
from models.turns import Turn
from streams.adapters.turn_topic import TurnTopic
from streams.cli.main import app
from streams.runtime.partitioner import partition_of
from streams.runtime.testing import START
from streams.settings import Settings
from streams.topics import admin
from streams.topics.catalog import Catalog, catalog_for

pytestmark = pytest.mark.kafka


@pytest.fixture
async def settings(kafka: LocalKafka, topic_prefix: str, tmp_path: Path) -> Settings:
    made = Settings(bootstrap_servers=kafka.bootstrap_servers, topic_prefix=topic_prefix, data_dir=tmp_path)
    catalog = catalog_for(made)
    await admin.apply(Catalog([catalog.get("memory.turns.v1")], catalog.prefix), made)
    return made


async def publish(settings: Settings, *turns: Turn, erased: tuple[Turn, ...] = ()) -> None:
    spec = catalog_for(settings).get("memory.turns.v1")
    async with AIOKafkaProducer(bootstrap_servers=settings.bootstrap_servers, acks="all") as producer:
        for each in (*turns, *erased):
            value = None if each in erased else msgspec.json.encode(each)
            partition = partition_of(each.conversation_id.encode(), spec.partitions)
            await producer.send_and_wait(spec.name, value, key=each.turn_id.encode(), partition=partition)


async def test_the_latest_life_of_a_conversation_in_order_without_what_was_erased(settings: Settings) -> None:
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


async def test_a_broker_that_is_not_there() -> None:
    with pytest.raises(DependencyUnavailable):
        await TurnTopic(Settings(bootstrap_servers="127.0.0.1:9")).turns("default", "c")


def test_the_command_shows_a_window(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    import asyncio

    asyncio.run(
        publish(settings, *[turn(index, speaker="Ada" if index % 2 == 0 else "") for index in range(20)])
    )
    for name, value in (
        ("BOOTSTRAP_SERVERS", settings.bootstrap_servers),
        ("TOPIC_PREFIX", settings.topic_prefix),
        ("DATA_DIR", str(settings.data_dir)),
        ("API_PORT", "9"),
    ):
        monkeypatch.setenv(f"SWITCHBOARD_{name}", value)
    shown = CliRunner().invoke(app, ["window", "c", "10", "11", "--user", "ada", "--turns", "1"])
    assert shown.exit_code == 0, shown.output
    lines = shown.output.splitlines()
    assert [line.split()[-1] for line in lines] == ["8", "9", "10", "11", "12", "13"]
    assert [line[0] for line in lines] == [" ", " ", ">", ">", " ", " "]
    assert "Ada: message 10" in lines[2]
    assert "assistant: message 11" in lines[3]
    behind = CliRunner().invoke(app, ["window", "c", "90", "91", "--user", "ada"])
    assert "has 20, numbered 0 to 19. Ask for one of these." in behind.output, behind.output
