"""The generated contracts: no drift, valid JSON Schema, and what a timestamp may look like."""

from __future__ import annotations

import json

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from models.messages import Timestamp
from schemas import generate
from streams.admin.topics.json_schemas import DIALECT, described, json_schema, value_type
from streams.clients.catalog import load_catalog
from streams.clients.topic_spec import TopicSpec

SPECS = described(load_catalog())


def test_the_files_are_what_the_code_says():
    assert generate.drift() == "", "run `python -m schemas.generate`"


@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: spec.name)
def test_a_schema_is_a_valid_one_of_its_dialect(spec: TopicSpec):
    schema = json_schema(spec)
    assert schema["$schema"] == DIALECT
    Draft202012Validator.check_schema(schema)
    assert schema["title"] == value_type(spec).__name__
    assert {*spec.key_fields, spec.routed_by} <= schema["properties"].keys()
    assert {*spec.key_fields, spec.routed_by} <= set(schema["required"])


@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: spec.name)
def test_a_schema_accepts_fields_it_does_not_know(spec: TopicSpec):
    assert '"additionalProperties": false' not in json.dumps(json_schema(spec))


SENT_AT = Draft202012Validator(json_schema(load_catalog().get("memory.turns.v1"))["properties"]["sent_at"])


def decodes(text: str) -> bool:
    try:
        msgspec.convert(text, Timestamp)
    except msgspec.ValidationError:
        return False
    return True


# Reading the zones from disk takes as long as the machine lets it.
@settings(suppress_health_check=[HealthCheck.too_slow])
@given(st.datetimes(timezones=st.timezones()))
def test_any_time_with_an_offset_in_whole_minutes_fits(time):
    offset = time.utcoffset()
    text = time.isoformat()
    assert SENT_AT.is_valid(text) == (offset.total_seconds() % 60 == 0)
    if SENT_AT.is_valid(text):
        assert decodes(text)


@pytest.mark.parametrize(
    "text", ["", "2025-03-01", "2025-03-01T09:12:04", "now", "1740820324", "2025-03-01T09:12Z"]
)
def test_times_that_are_refused(text: str):
    assert not SENT_AT.is_valid(text)
    assert not decodes(text)
