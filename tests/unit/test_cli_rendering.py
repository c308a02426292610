"""One line per record: every topic of ours reads well, and no record can break the line."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.cli import rendering
from streams.runtime.records import Record
from streams.topics import load_catalog

MESSAGE = {
    "message_id": "m-1",
    "conversation_id": "c-1",
    "user_id": "amara",
    "role": "user",
    "content": "I like\nblueberries",
    "sent_at": "2026-01-05T07:12:00Z",
}


def record(value: object, key: bytes | None = b"c-1", **fields: object) -> Record:
    raw = value if isinstance(value, bytes) or value is None else msgspec.json.encode(value)
    return Record(value=raw, key=key, **fields)


@pytest.mark.parametrize("spec", [s for s in load_catalog() if s.type], ids=lambda s: s.contract_name)
def test_every_topic_of_the_contract_has_a_line_of_its_own(spec) -> None:
    from importlib.resources import files

    examples = files("schemas") / spec.examples
    for example in examples.iterdir():
        if example.name.startswith("invalid") or not example.name.endswith(".json"):
            continue
        body = msgspec.json.decode(example.read_bytes())
        if "text" in body:  # bytes that are no JSON value as it should be are shown as they are
            continue
        body = body.get("value", body)
        said = rendering.says(record(body), spec.contract_name)
        if spec.contract_name in rendering._BY_TOPIC:
            assert not said.startswith("{"), f"{spec.contract_name} {example.name} fell back to raw JSON"


def test_deletions_bad_records_and_unknown_shapes_are_shown_as_they_are() -> None:
    assert rendering.says(record(None), "memory.facts.v1") == "(deleted)"
    assert rendering.says(record(b"\xff not json \x1b[2J"), "chat.messages.v1") == r"� not json \x1b[2J"
    assert rendering.says(record({"role": 3}), "chat.messages.v1") == '{"role":3}'
    assert rendering.says(record([1]), "chat.messages.v1") == "[1]"
    assert rendering.says(record(MESSAGE), "somebody.elses.topic").startswith('{"message_id"')


@given(st.binary(max_size=60), st.sampled_from(["chat.messages.v1", "memory.facts.v1", "x.dlq", ""]))
def test_no_record_breaks_the_line(value: bytes, topic: str) -> None:
    line = rendering.line(record(value, key=value), topic)
    assert len(line.splitlines()) == 1
    msgspec.json.encode(rendering.as_dict(record(value, key=value)))


def test_a_conversation_is_recognised_by_key_by_body_and_by_provenance() -> None:
    assert rendering.belongs_to(record(b"broken"), "c-1")
    assert rendering.belongs_to(record(MESSAGE, key=None), "c-1")
    fact = {"provenance": [{"conversation_id": "c-0"}, {"conversation_id": "c-1"}]}
    assert rendering.belongs_to(record(fact, key=b"fact"), "c-1")
    assert rendering.belongs_to(record({"provenance": fact["provenance"][1]}, key=b"x"), "c-1")
    for other in (
        record(fact, key=b"f"),
        record(None, key=b"f"),
        record(b"[1]", key=b"f"),
        record(b"\xff", key=b"f"),
    ):
        assert not rendering.belongs_to(other, "c-2")
