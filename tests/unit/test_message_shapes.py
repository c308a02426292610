"""Messages as clients have them: what has one reading is taken, what has several is refused with a sentence."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from models.errors import InvalidRecord
from models.messages import ChatMessage
from processors.text.validation import decode_message
from streams.admin.topics.json_schemas import json_schema
from streams.clients.catalog import load_catalog
from streams.queries.dead_letters.causes import field_of

SCHEMA = Draft202012Validator(json_schema(load_catalog().get("chat.messages.v1")))
PLAIN: dict[str, Any] = {
    "message_id": "m",
    "conversation_id": "c",
    "user_id": "ada",
    "role": "user",
    "content": "I own a boat.",
    "sent_at": "2026-11-01T10:00:00Z",
}


def sent(**changes: Any) -> bytes:
    """A message; ``...`` leaves a field out."""
    return json.dumps({name: each for name, each in (PLAIN | changes).items() if each is not ...}).encode()


def read(**changes: Any) -> ChatMessage:
    """What is read of a message, of which the contract says that it is taken."""
    value = sent(**changes)
    SCHEMA.validate(json.loads(value))
    return decode_message(value)


@pytest.mark.parametrize(
    ("sent_as", "role"),
    [("developer", "system"), ("function", "tool"), ("model", "assistant"), ("human", "user")],
)
def test_roles_of_other_clients(sent_as: str, role: str) -> None:
    assert read(role=sent_as).role == role
    assert decode_message(sent(role=sent_as.upper())).role == role


CALL = {"id": "call_1", "type": "function", "function": {"name": "weather", "arguments": '{"city": "Oslo"}'}}


@pytest.mark.parametrize(
    ("changes", "content"),
    [
        ({"content": None, "tool_calls": [CALL]}, "[tool call: weather]"),
        ({"content": ..., "function_call": {"name": "weather", "arguments": "{}"}}, "[tool call: weather]"),
        ({"content": None, "tool_calls": [{"name": "x\ny" * 99}]}, "[tool call]"),
        ({"content": None, "audio": {"id": "a", "transcript": "Good morning."}}, "Good morning."),
        ({"content": ""}, ""),
    ],
)
def test_calls_of_tools_are_named_where_nothing_is_said(changes: dict[str, Any], content: str) -> None:
    assert read(role="assistant", **changes).content == content


IMAGE = {"type": "image_url", "image_url": {"url": "https://example.org/milo.png"}}
BLOCK = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0="}}
RESULT = {"type": "tool_result", "tool_use_id": "t", "content": "Oslo: 4 degrees"}


@pytest.mark.parametrize(
    ("changes", "role", "content"),
    [
        (
            {"content": [{"type": "text", "text": "My boat:"}, {"type": "text", "text": "Ida."}]},
            "user",
            "My boat:\nIda.",
        ),
        ({"content": [{"type": "text", "text": "My cat"}, IMAGE]}, "user", "My cat\n[image]"),
        (
            {"role": "assistant", "content": [{"type": "tool_use", "name": "weather", "input": {}}]},
            "assistant",
            "[tool call: weather]",
        ),
        ({"content": [RESULT | {"content": [{"type": "text", "text": "4"}, BLOCK]}]}, "tool", "4\n[image]"),
        # Gemini
        ({"role": "model", "content": ..., "parts": [{"text": "Hi"}, {"text": "Ada"}]}, "assistant", "Hi\nAda"),
        (
            {"role": "model", "content": ..., "parts": [{"text": "hm", "thought": True}, {"text": "So."}]},
            "assistant",
            "So.",
        ),
        (
            {"content": ..., "parts": [{"functionResponse": {"name": "w", "response": {"t": 4}}}]},
            "tool",
            '{"t":4}',
        ),
    ],
)
def test_content_in_parts(changes: dict[str, Any], role: str, content: str) -> None:
    found = read(**changes)
    assert (found.role, found.content) == (role, content)


@pytest.mark.parametrize(
    ("sent_at", "expected"),
    [
        (1793527200, datetime(2026, 11, 1, 10, tzinfo=UTC)),
        (1793527200123456, datetime(2026, 11, 1, 10, 0, 0, 123_456, tzinfo=UTC)),
        ("2026-11-01T10:00:00", datetime(2026, 11, 1, 10, tzinfo=UTC)),
        ("2026-11-01T10:00:00+01", datetime(2026, 11, 1, 10, tzinfo=timezone(timedelta(hours=1)))),
    ],
)
def test_times_with_one_reading(sent_at: Any, expected: datetime) -> None:
    found = read(sent_at=sent_at).sent_at
    assert found == expected
    assert found.tzinfo is not None


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("role", "agent"),
        ("content", None),
        ("content", [7]),
        ("content", [{"data": "x"}]),
        ("message_id", 1.5),
        ("user_id", None),
        ("metadata", ["a"]),
        ("sent_at", True),
        ("sent_at", "01/11/2026 10:00"),
        ("sent_at", 1793527200123456789),
    ],
)
def test_a_topic_without_reader_is_refused_with_advice(field: str, value: Any) -> None:
    with pytest.raises(InvalidRecord) as refused:
        decode_message(sent(**{field: value}))
    assert refused.value.reason == "invalid_field"
    assert field_of(str(refused.value)).startswith(field)
    assert ": " in str(refused.value), "it says how"
