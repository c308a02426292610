"""One line per record: every topic of ours reads well, and no record can break the line."""

from __future__ import annotations

import time

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.cli import rendering
from streams.runtime.records import Record
from streams.topics.catalog import load_catalog

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


def test_a_message_shows_who_speaks() -> None:
    assert rendering.says(record(MESSAGE), "chat.messages.v1") == r"amara: I like\nblueberries"
    reply = MESSAGE | {"role": "assistant"}
    assert rendering.says(record(reply), "chat.messages.v1") == r"assistant: I like\nblueberries"


def test_a_line_has_time_place_key_and_content() -> None:
    line = rendering.line(
        record(MESSAGE, partition=3, offset=17, timestamp=1_767_600_000_000), "chat.messages.v1"
    )
    assert line.startswith("2026-01-05 08:00:00 UTC ")
    assert line.split()[3:5] == ["3:17", "c-1"]


def test_times_are_those_of_one_zone_whatever_the_machine_s(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time.tzset()
    line = rendering.line(record(MESSAGE, timestamp=1_767_600_000_000), "chat.messages.v1")
    monkeypatch.undo()
    time.tzset()
    assert line.startswith("2026-01-05 08:00:00 UTC ")


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


WHY = (
    ("ce_source", b"/somebody"),
    ("dlq_reason", b"invalid_field"),
    ("dlq_message", b"Expected `str`, got `int` - at `$.content`"),
    ("dlq_stage", b"conversations"),
    ("dlq_topic", b"chat.messages.v1"),
    ("dlq_partition", b"3"),
    ("dlq_offset", b"17"),
    ("dlq_attempts", b"1"),
)


@pytest.mark.parametrize(("value", "shown"), [(b'{"content": 7}', '{"content": 7}'), (None, "(no value)")])
def test_a_dead_letter_shows_reason_field_and_place_and_then_itself(value: bytes | None, shown: str) -> None:
    assert rendering.says(record(value, headers=WHY), "chat.messages.v1.dlq") == (
        "invalid_field: Expected `str`, got `int` - at `$.content` "
        f"[chat.messages.v1 3:17, in conversations] {shown}"
    )


def test_a_part_of_a_dead_letter_says_which_it_is() -> None:
    headers = (*WHY, ("dlq_part", b"2"), ("dlq_parts", b"5"))
    assert "in conversations, part 2 of 5]" in rendering.says(record(b"x", headers=headers), "a.dlq")


def test_a_stranger_s_record_in_a_dead_letter_queue_is_shown_as_it_is() -> None:
    assert rendering.says(record(b"nonsense", headers=(("a", None),)), "chat.messages.v1.dlq") == "nonsense"


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
