"""``schemas/asyncapi.yaml`` is what AsyncAPI 3.0.0 asks for, and says what the system does.

The rules are those of the specification (https://www.asyncapi.com/docs/reference/specification/v3.0.0).
"""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from jsonschema import Draft7Validator

from schemas.generate import FOLDER
from streams.clients.catalog import load_catalog
from streams.clients.records import Record, UnreadBatch
from streams.runtime.deadletters import to_outputs
from streams.runtime.effects import DeadLetter


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load((FOLDER / "asyncapi.yaml").read_text(encoding="utf-8"))
    return loaded


def test_there_is_a_channel_for_every_topic_but_the_changelogs(document):
    expected = {spec.contract_name: spec for spec in load_catalog() if not spec.is_changelog}
    assert document["channels"].keys() == expected.keys()
    for name, channel in document["channels"].items():
        binding = channel["bindings"]["kafka"]
        assert channel["address"] == name
        assert binding["partitions"] == expected[name].partitions
        assert binding["topicConfiguration"]["cleanup.policy"] == [expected[name].cleanup_policy]
        assert binding["topicConfiguration"]["max.message.bytes"] == expected[name].max_message_bytes


def test_dead_letter_headers_are_those_that_the_runtime_writes(document):
    record = Record(
        topic="chat.messages.v1",
        partition=3,
        offset=7,
        timestamp=0,
        key=b"k",
        value=b"v",
        headers=(("mine", b"1"),),
    )
    unread = UnreadBatch("chat.messages.v1", 3, 7, 9, 0, "zstd", 3, b"data", "batch_too_large", "no")
    schema = document["components"]["schemas"]["DeadLetterHeaders"]
    written: set[str] = set()
    for bad in (record, record._replace(value=bytes(5000)), unread):
        letter = DeadLetter(bad, "invalid_json", "no")
        for output in to_outputs(letter, source="chat.messages.v1", stage="s", limit=3000):
            headers = {name: value.decode() for name, value in output.headers if value is not None}
            Draft7Validator(schema).validate(headers)
            written |= headers.keys()
    assert schema["properties"].keys() == written - {"mine"}
