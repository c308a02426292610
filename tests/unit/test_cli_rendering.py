"""One line per record: every topic of ours reads well, and no record can break the line."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.cli import rendering
from streams.clients.catalog import load_catalog
from streams.clients.records import Record


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


@given(st.binary(max_size=60), st.sampled_from(["chat.messages.v1", "memory.facts.v1", "x.dlq", ""]))
def test_no_record_breaks_the_line(value: bytes, topic: str) -> None:
    line = rendering.line(record(value, key=value), topic)
    assert len(line.splitlines()) == 1
    msgspec.json.encode(rendering.as_dict(record(value, key=value)))
