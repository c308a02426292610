"""Sizing: what is reckoned for a load agrees with what was measured, and grows as it should."""

from __future__ import annotations

import math
import re
from pathlib import Path

import msgspec
import pytest
from typer.testing import CliRunner

from models.errors import ConfigurationError
from streams.admin.pricing import Prices, monthly
from streams.admin.sizing import FULL, Load, Point, Size, grown, measured, size
from streams.cli.main import app
from streams.config.settings import Settings

DOCS = Path(__file__).parents[2] / "docs"
PAGE, FIGURES = (DOCS / "how-to/size.md").read_text(), (DOCS / "reference/benchmarks.md").read_text()
MEDIUM = Load(messages_a_day=100_000)


@pytest.mark.parametrize("figure", ["memory", "recall", "kafka", "redis_bytes", "index_bytes", "topics"])
def test_the_smaller_measured_point_is_what_the_larger_one_says(figure: str) -> None:
    before, small, large = measured().before, *measured().points

    def a_message(point: Point) -> float:
        if figure == "topics":
            return sum(topic.bytes for topic in point.topics.values()) / point.messages
        return grown(before, point, *([figure] if "bytes" in figure else ["cpu_seconds", figure]))

    assert a_message(small) == pytest.approx(a_message(large), rel=0.35)


def test_twice_the_messages_take_twice_the_cores_and_disks() -> None:
    one, two = (
        size(MEDIUM, Settings()),
        size(msgspec.structs.replace(MEDIUM, messages_a_day=200_000), Settings()),
    )
    assert two.kafka_disk_bytes == pytest.approx(2 * one.kafka_disk_bytes, rel=0.01)
    assert sum(two.cores.values()) == pytest.approx(2 * sum(one.cores.values()))


def test_expiring_items_are_counted_while_kept() -> None:
    def topic(found: Size, name: str) -> float:
        return found.kafka_topic_bytes[name]

    one, ten = size(MEDIUM, Settings()), size(msgspec.structs.replace(MEDIUM, days=3650), Settings())
    assert topic(ten, "chat.messages.v1") == topic(one, "chat.messages.v1"), "30 days"
    assert topic(ten, "memory.facts.v1") == pytest.approx(10 * topic(one, "memory.facts.v1"))
    assert size(MEDIUM, Settings(turn_log_days=0)).redis_bytes > one.redis_bytes


def test_state_beyond_its_memory_is_on_disk() -> None:
    load = Load(messages_a_day=1e6)
    least, most = (size(load, Settings(state_memory_mb=megabytes)) for megabytes in (1024, 1_000_000))
    assert max(least.process_bytes.values()) < 5e9
    assert 30e9 < least.process_disk_bytes["memory"] < 50e9
    assert set(most.process_disk_bytes.values()) == {0}
    assert most.process_bytes["memory"] > 10 * least.process_bytes["memory"]
    assert least.process_disk_bytes["serve"] == 0


def test_a_load_of_nothing_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="messages_a_day is 0"):
        size(Load(messages_a_day=0), Settings())


def test_a_million_conversations_take_what_was_measured() -> None:
    """A second load, on another benchmark: ten messages of each within a day, in one worker."""
    row = re.search(r"1,000,000 conversations, 10,000,000 messages.* ([\d.]+) GB, ([\d.]+) GB without", FIGURES)
    files = re.search(r"^\| files \| ([\d.]+) GB \|", PAGE, re.MULTILINE)
    assert row and files
    load = Load(messages_a_day=10e6, days=1, peak=1)
    spilled, whole = (size(load, Settings(state_memory_mb=megabytes)) for megabytes in (1024, 1_000_000))
    assert FULL * spilled.process_bytes["ingest"] == pytest.approx(1e9 * float(row[1]), rel=0.3)
    assert FULL * spilled.process_disk_bytes["ingest"] == pytest.approx(1e9 * float(files[1]), rel=0.3)
    assert FULL * whole.process_bytes["ingest"] == pytest.approx(1e9 * float(row[2]), rel=0.3)


def test_brokers_follow_from_replicas_disks_and_cores() -> None:
    def brokers(**changes: float) -> int:
        return size(msgspec.structs.replace(MEDIUM, **changes), Settings()).brokers

    assert brokers() == 3
    assert brokers(replicas=1) == 1
    assert brokers(broker_disk_bytes=1e11) == math.ceil(size(MEDIUM, Settings()).kafka_disk_bytes / 1e11) > 3
    assert brokers(messages_a_day=100e6, days=1) > 10, "cores"


def test_size_reckons_a_persons_share_and_the_price() -> None:
    found = size(msgspec.structs.replace(MEDIUM, people=5000.0), Settings())
    assert found.person_bytes["redis"] * 5000 == pytest.approx(found.redis_bytes)
    assert size(MEDIUM, Settings()).person_bytes == {}
    costs = monthly(found, Prices(memory_gb=2.0))
    memory = sum(found.processes[name] * found.process_bytes[name] for name in found.processes)
    memory += found.brokers * found.broker_bytes + found.redis_bytes + found.qdrant_bytes
    assert costs["total"] == pytest.approx(2 * memory / 1e9)
    assert costs["redis"] == pytest.approx(2 * found.redis_bytes / 1e9)
    disks = monthly(found, Prices(disk_gb=1.0))
    assert disks["kafka"] == pytest.approx(found.kafka_disk_bytes / 1e9) and disks["redis"] == 0
    assert monthly(found, Prices(core=6.0))["recall"] == pytest.approx(found.cores["recall"] * 10)
    with pytest.raises(ConfigurationError, match="price core is nan"):
        monthly(found, Prices(core=math.nan))


@pytest.mark.parametrize("command", re.findall(r"^\$ switchboard (.+)$", PAGE, re.MULTILINE))
def test_the_page_shows_what_the_command_prints(command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    shown = PAGE.partition(f"$ switchboard {command}\n")[2].partition("```")[0]
    assert shown and CliRunner().invoke(app, command.split()).stdout.startswith(shown)
