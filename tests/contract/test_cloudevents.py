"""CloudEvents headers, in and out, and through a Kafka record's packed form."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime

import pytest

from streams.clients.cloudevents import caused_by, incoming, outgoing

EVENT = [
    ("ce_specversion", b"1.0"),
    ("ce_id", b"m-1"),
    ("ce_source", b"/chat"),
    ("ce_type", b"chat.message.v1"),
    ("content-type", b"application/json"),
]


@pytest.mark.parametrize("missing", ["ce_specversion", "ce_id", "ce_source", "ce_type"])
def test_without_a_required_attribute_it_is_no_event(missing):
    assert incoming([header for header in EVENT if header[0] != missing]) is None


def test_attributes_are_read_without_their_prefix():
    extra = [("ce_traceparent", b"00-ab-cd-01"), ("ce_note", "naïve ☂".encode()), ("other", b"x")]
    assert incoming(EVENT + extra) == {
        "specversion": "1.0",
        "id": "m-1",
        "source": "/chat",
        "type": "chat.message.v1",
        "datacontenttype": "application/json",
        "traceparent": "00-ab-cd-01",
        "note": "naïve ☂",
    }


def test_a_null_or_non_utf8_header_spoils_no_record():
    attributes = incoming([*EVENT, ("ce_bad", b"\xff\xfe"), ("ce_null", None)])
    assert attributes is not None
    assert attributes.keys() & {"bad", "null"} == set()
    assert incoming([*EVENT[1:], ("ce_specversion", b"\xff")]) is None


def test_outputs_carry_what_the_binding_asks_for():
    time = datetime(2025, 3, 1, 12, 30, tzinfo=UTC)
    headers = outgoing("memory.window.v1", "/switchboard/ingest", "w-1", subject="c-ü", time=time)
    assert dict(headers) == {
        "ce_id": b"w-1",
        "ce_specversion": b"1.0",
        "ce_type": b"memory.window.v1",
        "ce_source": b"/switchboard/ingest",
        "ce_subject": "c-ü".encode(),
        "ce_time": b"2025-03-01T12:30:00+00:00",
        "content-type": b"application/json",
    }


def test_an_output_inherits_only_extensions_of_its_cause():
    cause = incoming([*EVENT, ("ce_time", b"x"), ("ce_dataschema", b"y"), ("ce_traceparent", b"00-ab-cd-01")])
    headers = outgoing("memory.window.v1", "/switchboard/ingest", "w-1", cause=cause)
    assert len(headers) == len(dict(headers))
    assert set(headers) == {
        *outgoing("memory.window.v1", "/switchboard/ingest", "w-1"),
        ("ce_traceparent", b"00-ab-cd-01"),
    }


async def test_a_trace_holds_all_its_tasks_writes_alone():
    async def written() -> dict[str, bytes]:
        return dict(outgoing("chat.message.v1", "/switchboard/serve", "m-1"))

    with caused_by("00-1-2-01"):
        later = asyncio.create_task(written())
        inherited = dict(
            outgoing("chat.message.v1", "/switchboard/serve", "m-1", cause={"traceparent": "other"})
        )
    assert (await later)["ce_traceparent"] == b"00-1-2-01"
    assert inherited["ce_traceparent"] == b"other"
    assert "ce_traceparent" not in await written()
