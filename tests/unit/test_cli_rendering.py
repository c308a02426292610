"""One line per record: every topic of ours reads well, and no record can break the line."""

from __future__ import annotations

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from streams.cli import rendering
from streams.clients.records import Record


def record(value: object, key: bytes | None = b"c-1", **fields: object) -> Record:
    raw = value if isinstance(value, bytes) or value is None else msgspec.json.encode(value)
    return Record(value=raw, key=key, **fields)


@given(st.binary(max_size=60), st.sampled_from(["chat.messages.v1", "memory.facts.v1", "x.dlq", ""]))
def test_no_record_breaks_the_line(value: bytes, topic: str) -> None:
    line = rendering.line(record(value, key=value), topic)
    assert len(line.splitlines()) == 1
    msgspec.json.encode(rendering.as_dict(record(value, key=value)))
