"""Every example fits its JSON Schema and its struct; every invalid one is refused for the reason it names."""

from __future__ import annotations

import json
from datetime import datetime

import msgspec
import orjson
import pytest
from jsonschema import Draft202012Validator

from models.errors import InvalidRecord
from models.messages import ChatMessage, IncomingMessage
from models.vectors import EmbeddingResult, TurnVector
from processors.retrieval.embedding.vectors import unpack
from processors.text.validation import decode, decode_chat_message
from schemas.generate import FOLDER
from streams.admin.topics.examples import Example, load_examples, load_invalid_examples
from streams.admin.topics.json_schemas import described, value_type
from streams.clients.catalog import load_catalog
from streams.clients.cloudevents import incoming
from streams.clients.topic_spec import TopicSpec

SPECS = described(load_catalog())
VALID = [(spec, example) for spec in SPECS for example in load_examples(spec.contract_name)]
INVALID = [(spec, example) for spec in SPECS for example in load_invalid_examples(spec.contract_name)]

#: Reasons that are about the form of the value, which the JSON Schema describes.
FORM = {"invalid_field"}


def named(cases: list[tuple[TopicSpec, Example]]) -> list[object]:
    return [pytest.param(*case, id=f"{case[0].name}/{case[1].name}") for case in cases]


def schema_of(spec: TopicSpec) -> Draft202012Validator:
    return Draft202012Validator(json.loads((FOLDER / spec.schema).read_text(encoding="utf-8")))


@pytest.mark.parametrize(("spec", "example"), named(VALID))
def test_an_example_fits_schema_and_struct_and_round_trips(spec: TopicSpec, example: Example):
    if example.value is None:
        assert spec.is_compacted, "only a compacted topic has tombstones"
        return
    schema_of(spec).validate(json.loads(example.value))
    if value_type(spec) is IncomingMessage:
        decoded = decode_chat_message(
            example.key, example.value, max_content_bytes=65_536, arrived_ms=0, message_id="made"
        )
        read: type[msgspec.Struct] = type(decoded)
    else:
        read = value_type(spec)
        decoded = decode(read, example.value)
    encoded = msgspec.json.encode(decoded)
    assert decode(read, encoded) == decoded
    schema_of(spec).validate(orjson.loads(encoded))
    if not isinstance(decoded, ChatMessage) or decoded == in_own_form(example.value):
        assert_kept(orjson.loads(example.value), orjson.loads(encoded))


def in_own_form(value: bytes) -> ChatMessage | None:
    """The message, if it was sent as the services read it."""
    try:
        return decode(ChatMessage, value)
    except InvalidRecord:
        return None


def assert_kept(before: object, after: object) -> None:
    """What went in comes out, apart from fields that the struct does not know."""
    if isinstance(before, dict) and isinstance(after, dict):
        for name in before.keys() & after.keys():
            assert_kept(before[name], after[name])
        return
    if isinstance(before, list) and isinstance(after, list):
        assert len(before) == len(after)
        for one, other in zip(before, after, strict=True):
            assert_kept(one, other)
        return
    if before != after:
        # The same instant may be written in two ways.
        assert msgspec.convert(before, datetime) == msgspec.convert(after, datetime)


@pytest.mark.parametrize(("spec", "example"), named(VALID))
def test_an_example_has_its_topic_s_key_and_headers(spec: TopicSpec, example: Example):
    assert example.key
    assert example.summary
    assert not example.reason
    if example.value is not None:
        value = json.loads(example.value)
        assert "/".join(str(value[field]) for field in spec.key_fields).encode() == example.key
        assert value[spec.routed_by]
    if example.headers:
        attributes = incoming(example.headers)
        assert attributes is not None
        assert attributes["type"] == spec.event_type


@pytest.mark.parametrize(("spec", "example"), named(INVALID))
def test_an_invalid_example_is_refused_for_its_reason(spec: TopicSpec, example: Example):
    with pytest.raises(InvalidRecord) as caught:
        if value_type(spec) is IncomingMessage:
            decode_chat_message(example.key, example.value, max_content_bytes=65_536, arrived_ms=0)
        else:
            decoded = decode(value_type(spec), example.value)
            if isinstance(decoded, EmbeddingResult | TurnVector):
                unpack(decoded)
    assert caught.value.reason == example.reason
    if example.reason in FORM:
        assert example.value is not None
        assert not schema_of(spec).is_valid(orjson.loads(example.value))
