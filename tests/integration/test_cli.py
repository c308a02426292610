"""The command line against a real broker."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest
import samples
from aiokafka import AIOKafkaConsumer, TopicPartition

from deploy.local.kafka import LocalKafka
from processors.conversations.state import ConversationState
from streams.agents.ingest.conversations import STATE
from streams.cli import main
from streams.clients.partitioner import partition_of
from streams.config.settings import load_settings
from streams.queries.conversations import states as conversation_states
from streams.runtime.marks import Layout
from streams.telemetry.health import HealthState
from streams.telemetry.health_server import HealthServer
from streams.telemetry.metrics import Metrics
from tests.topic_records import write

pytestmark = pytest.mark.kafka

PARTITIONS = 8
PATIENCE = 60


@pytest.fixture
def environment(
    kafka: LocalKafka, topic_prefix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> dict[str, str]:
    settings = {
        "SWITCHBOARD_BOOTSTRAP_SERVERS": kafka.bootstrap_servers,
        "SWITCHBOARD_TOPIC_PREFIX": topic_prefix,
        "SWITCHBOARD_DATA_DIR": str(tmp_path),
        "SWITCHBOARD_METRICS_PORT": "1",
        "SWITCHBOARD_API_PORT": "1",
    }
    for name, value in settings.items():
        monkeypatch.setenv(name, value)
    return settings


@pytest.fixture
def topics(environment: dict[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main.run(["topics", "apply"]) == 0
    capsys.readouterr()


def send(topic: str, pairs: Sequence[tuple[bytes, bytes]]) -> None:
    asyncio.run(write(load_settings(), topic, *((key.decode(), value) for key, value in pairs)))


def message(conversation: str, number: int) -> tuple[bytes, bytes]:
    names = {"message_id": f"{conversation}-{number}", "conversation_id": conversation, "user_id": "amara"}
    return conversation.encode(), msgspec.json.encode(samples.message(number, **names))


def test_topics_apply_then_check_then_list(
    environment: dict[str, str], capsys: pytest.CaptureFixture[str], topic_prefix: str
) -> None:
    assert main.run(["topics", "check"]) == 1
    assert f"{topic_prefix}chat.messages.v1 is missing" in capsys.readouterr().out
    assert main.run(["topics", "apply"]) == 0
    assert f"created  {topic_prefix}chat.messages.v1" in capsys.readouterr().out
    assert main.run(["topics", "apply", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"created": [], "altered": [], "remaining": []}
    assert main.run(["topics", "check"]) == 0
    assert main.run(["topics", "check", "--json"]) == 0
    capsys.readouterr()
    assert main.run(["topics", "list", "--json"]) == 0
    listed = {row["name"]: row for row in json.loads(capsys.readouterr().out)}
    assert listed[f"{topic_prefix}chat.messages.v1"]["partitions"] == PARTITIONS
    assert main.run(["topics", "list"]) == 0
    assert "missing" not in capsys.readouterr().out


def test_tail_shows_records_in_order_and_stops(topics: None, capsys: pytest.CaptureFixture[str]) -> None:
    send("chat.messages.v1", [message("c-1", n) for n in range(3)] + [message("c-2", 0)])
    assert main.run(["tail", "chat.messages.v1", "--from-beginning", "--no-follow"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 4
    said = [line.rpartition("amara: ")[2] for line in lines if "  c-1  " in line]
    assert said == ["message 0", "message 1", "message 2"]
    assert main.run(["tail", "chat.messages.v1", "-b", "--no-follow", "-c", "c-2", "--json"]) == 0
    (only,) = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert only["value"]["message_id"] == "c-2-0"
    assert only["partition"] == partition_of(b"c-2", PARTITIONS)
    assert main.run(["tail", "chat.messages.v1", "-b", "-n", "2"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 2


def test_status_follows_commits_and_is_0_when_ready(
    topics: None, capsys: pytest.CaptureFixture[str], kafka: LocalKafka, topic_prefix: str
) -> None:
    send("chat.messages.v1", [message("c-1", n) for n in range(3)])
    place = TopicPartition(f"{topic_prefix}chat.messages.v1", partition_of(b"c-1", PARTITIONS))

    async def commit() -> None:
        group = f"{topic_prefix}switchboard-ingest"
        # Its own commits at the end, of wherever it had read to by then, would be what is seen.
        async with AIOKafkaConsumer(
            bootstrap_servers=kafka.bootstrap_servers, group_id=group, enable_auto_commit=False
        ) as consumer:
            consumer.assign([place])
            await consumer.commit({place: 2})

    asyncio.run(commit())
    state = HealthState(10 * PATIENCE)
    state.clear("starting")
    with HealthServer(0, Metrics().registry, state) as server:
        assert main.run(["status", "--json", "--port", f"ingest={server.port}"]) == 0
        answer = json.loads(capsys.readouterr().out)
        state.block("recovering", "recovering state")
        assert main.run(["status", "--port", f"ingest={server.port}"]) == 1
        assert "recovering state" in capsys.readouterr().out
    lag = next(row for row in answer["groups"] if row["topic"] == place.topic)
    assert (lag["committed"], lag["end"], lag["lag"]) == (2, 3, 1)


def test_conversations_show_ignores_a_late_write(topics: None, capsys: pytest.CaptureFixture[str]) -> None:
    def stored(messages: int, mark: int) -> bytes:
        state = ConversationState("default", "amara", next_index=messages, end_mark=f"c-1-{messages}")
        layout = Layout(conversation_states.SOURCES)
        value = layout.seal(None, STATE.encode(state), 0, mark)
        return layout.seal(value, STATE.encode(state), 1, 1)

    changes = [(b"c-1", stored(5, 50)), (b"c-2", stored(9, 99))]
    changes += [(b"c-1", stored(12, 120)), (b"c-1", stored(7, 70))]
    send(conversation_states.CHANGELOG, changes)
    assert main.run(["conversations", "show", "c-1", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert (shown["messages"], shown["end_mark"]) == (12, "c-1-12")
    offsets = {"chat.messages.v1": 120, "memory.summaries.v1": 1, "memory.commands.v1": 0}
    assert shown["next_offsets"] == offsets
    assert main.run(["conversations", "show", "c-1"]) == 0
    assert "chat.messages.v1" in capsys.readouterr().out
    assert main.run(["conversations", "show", "c-3"]) == 66
    assert "no conversation 'c-3'" in capsys.readouterr().err
