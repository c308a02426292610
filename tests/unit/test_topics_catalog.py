"""The catalog of topics: what the files say, what is derived, and which files are refused."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from models.errors import ConfigurationError
from streams.admin.topics.differences import FoundTopic, config_differences, topic_config
from streams.clients.catalog import load_catalog, read_specs

VALID = {"name": "a.b.v1", "description": "x", "owner": "ingest", "key": "k", "routed_by": "k"}


def write(folder: Path, **changes: object) -> None:
    entry = {key: value for key, value in (VALID | changes).items() if value is not None}
    (folder / f"{entry.get('name', 'a.b.v1')}.yaml").write_text(yaml.safe_dump(entry))


def test_every_source_has_a_roomier_dead_letter_topic():
    catalog = load_catalog()
    services = {"ingest", "memory", "recall", "respond"}
    for spec in catalog:
        assert spec.dead_letter == bool(spec.type and services & set(spec.readers)), spec.name
        if spec.dead_letter:
            letters = catalog.get(catalog.dead_letter_name(spec.name))
            assert letters.name == f"{spec.name}.dlq"
            assert letters.partitions == spec.partitions
            assert letters.max_message_bytes > spec.max_message_bytes
            assert letters.retention_ms == 30 * 86_400_000
    with pytest.raises(ConfigurationError, match="no dead-letter topic"):
        catalog.dead_letter_name("chat.responses.v1")
    with pytest.raises(ConfigurationError, match="no dead-letter topic"):
        catalog.dead_letter_name("chat.messages.v1.dlq")


def test_compacted_topics_lose_erased_records_after_a_day():
    compacted = [spec for spec in load_catalog() if spec.is_compacted]
    assert len(compacted) > 4
    for spec in compacted:
        assert spec.config["max.compaction.lag.ms"] == "86400000", spec.name
        assert int(spec.config["min.compaction.lag.ms"]) == 3_600_000, spec.name


def test_existing_topics_with_another_count_move_together():
    catalog = load_catalog("p-", "memory.summaries.v1=12, memory.windows.v1=3")
    counts = {spec.contract_name: spec.partitions for spec in catalog if spec.partitions not in (1, 8)}
    assert counts == {
        "chat.messages.v1": 12,
        "chat.messages.v1.dlq": 12,
        "memory.commands.v1": 12,
        "memory.commands.v1.dlq": 12,
        "memory.summaries.v1": 12,
        "memory.summaries.v1.dlq": 12,
        "switchboard-ingest-conversations-changelog": 12,
        "switchboard-recall-turns-changelog": 12,
        "memory.windows.v1": 3,
        "memory.windows.v1.dlq": 3,
        "switchboard-memory-extraction-changelog": 3,
    }


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("chat.mesages.v1=12", "no topic is called 'chat.mesages.v1'"),
        (
            "chat.messages.v1=12,memory.summaries.v1=6",
            "memory.summaries.v1 6 partitions and chat.messages.v1 12",
        ),
    ],
)
def test_counts_that_cannot_be_are_refused(given, said):
    with pytest.raises(ConfigurationError, match=re.escape(said)):
        load_catalog("", given)


@pytest.mark.parametrize(
    ("setting", "found", "loses"),
    [
        ("retention.ms", "-1", "records older than 30 days"),
        ("retention.ms", "1", ""),
        ("min.insync.replicas", "1", ""),
        ("cleanup.policy", "compact,delete", "records older than the topic's retention.ms"),
        ("retention.ms", "(unknown to this broker)", ""),
    ],
)
def test_a_change_says_what_it_would_lose(setting, found, loses):
    spec = load_catalog().get("chat.messages.v1")
    has = {name: (value, 1) for name, value in topic_config(spec, 3).items()} | {setting: (found, 1)}
    [difference] = config_differences([spec], {spec.name: FoundTopic(8, 3, ready=True)}, {spec.name: has})
    assert difference.what == setting
    assert difference.loses.startswith(loses) and bool(difference.loses) == bool(loses)
    assert ("--accept-loss" in difference.advice) == bool(loses)


@pytest.mark.parametrize(
    ("changes", "said"),
    [({"partitions": 0}, "partitions"), ({"key": None}, "key"), ({"retention": 5}, "retention")],
)
def test_a_wrong_file_is_named_with_its_field(tmp_path, changes, said):
    write(tmp_path, **changes)
    with pytest.raises(ConfigurationError, match=rf"a\.b\.v1\.yaml: .*{said}"):
        read_specs(tmp_path)
