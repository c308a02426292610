"""Logs that a replay begins with: a single record, and one that retention shortens while it is read."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import uuid
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import pytest
from aiokafka import AIOKafkaProducer, TopicPartition
from aiokafka.admin import RecordsToDelete

from deploy.local.kafka import LocalKafka
from streams.admin.topics import admin
from streams.cli.replay_shown import print_plan
from streams.clients.catalog import catalog_for
from streams.clients.kafka import broker
from streams.clients.topics import COMMANDS, MESSAGES
from streams.config.exits import EXIT_FAILED
from streams.config.settings import Settings, load_settings
from streams.server.replays import plan, record, starting
from streams.server.replays.log import look
from streams.server.replays.record import Replay
from tests import samples

pytestmark = pytest.mark.kafka


@pytest.fixture
def live(kafka: LocalKafka, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    """The live settings; a replay takes its addresses from the environment."""
    own = {
        "BOOTSTRAP_SERVERS": kafka.bootstrap_servers,
        "TOPIC_PREFIX": f"test-{uuid.uuid4().hex[:8]}-",
        "DATA_DIR": str(tmp_path),
        "METRICS_PORT": "0",
    }
    for name, value in own.items():
        monkeypatch.setenv(f"SWITCHBOARD_{name}", value)
    settings = load_settings()
    assert not asyncio.run(admin.apply(catalog_for(settings), settings)).remaining
    return settings


async def send(live: Settings, messages: int) -> None:
    async with AIOKafkaProducer(bootstrap_servers=live.bootstrap_servers) as producer:
        for number in range(messages):
            said = samples.message(number, f"number {number}", at=datetime.now(UTC))
            value = msgspec.json.encode(said)
            await producer.send_and_wait(
                catalog_for(live).name(MESSAGES), value, said.conversation_id.encode(), partition=0
            )


def test_a_log_of_one_record_is_planned(live: Settings, capsys: pytest.CaptureFixture[str]) -> None:
    asyncio.run(send(live, 1))
    replayed = record.generation_settings(live, "b")
    made = asyncio.run(plan.make(live, replayed))
    assert (made.messages, made.conversations, made.commands, bool(made.gone)) == (1, 1, 0, False)
    assert made.bytes > 0 and made.since is not None and made.minutes > 0
    plan.refuse_loss(made.gone)
    print_plan(made)
    assert "1 conversation" in capsys.readouterr().out


def test_a_log_without_a_record_is_planned(live: Settings) -> None:
    made = asyncio.run(plan.make(live, record.generation_settings(live, "b")))
    assert (made.messages, made.since, made.minutes) == (0, None, 0.0)


def test_a_log_that_shrinks_unread_stops_the_replay(live: Settings) -> None:
    """Its groups begin where the log was seen to begin: what is gone by then is missed, and named."""
    asyncio.run(send(live, 30))
    replayed = record.generation_settings(live, "b")
    held = asyncio.run(look(live))
    replay = Replay(name="b", started_at=datetime.now(UTC), beginnings=held.beginnings)

    async def begin_and_shrink() -> None:
        await starting.prepare(live, replay)
        read_by = {"ingest": (MESSAGES, COMMANDS), "memory": (COMMANDS,), "recall": (MESSAGES,)}
        for service, topics in read_by.items():
            known = await broker.committed(live, replayed.group(service))
            expected = {catalog_for(live).name(topic) for topic in topics}
            assert {place.topic for place in known} == expected and set(known.values()) == {0}
        async with broker.administering(live) as client:
            first = TopicPartition(catalog_for(live).name(MESSAGES), 0)
            await client.delete_records({first: RecordsToDelete(before_offset=12)})

    asyncio.run(begin_and_shrink())
    done = subprocess.run(
        [sys.executable, "-m", "streams.cli", "worker", "ingest"],
        env=os.environ | {"SWITCHBOARD_GENERATION": "b"},
        capture_output=True,
        text=True,
        timeout=90,
        check=False,
    )
    assert done.returncode == EXIT_FAILED, done.stderr[-3000:]
    assert "retention removed offsets 0 to 11 before they were read" in done.stderr
    assert "replay drop b" in done.stderr and "state reset" not in done.stderr
