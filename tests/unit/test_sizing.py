"""Sizing: what is reckoned for a load agrees with what was measured, and grows as it should."""

from __future__ import annotations

import msgspec
import pytest

from models.errors import ConfigurationError
from streams.admin.sizing import Load, Point, Size, grown, measured, size
from streams.config.settings import Settings

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


def test_what_expires_is_counted_for_as_long_as_it_is_kept() -> None:
    def topic(found: Size, name: str) -> float:
        return found.kafka_topic_bytes[name]

    one, ten = size(MEDIUM, Settings()), size(msgspec.structs.replace(MEDIUM, days=3650), Settings())
    assert topic(ten, "chat.messages.v1") == topic(one, "chat.messages.v1"), "30 days"
    assert topic(ten, "memory.facts.v1") == pytest.approx(10 * topic(one, "memory.facts.v1"))
    assert size(MEDIUM, Settings(turn_log_days=0)).redis_bytes > one.redis_bytes


def test_plainer_chat_takes_less_and_state_is_spread_over_processes() -> None:
    dense = size(Load(messages_a_day=1e6), Settings())
    plain = size(Load(messages_a_day=1e6, facts_a_message=0.05), Settings())
    assert plain.qdrant_bytes < dense.qdrant_bytes
    assert plain.processes["memory"] < dense.processes["memory"]


def test_state_beyond_the_memory_that_it_may_take_is_on_the_disk() -> None:
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
