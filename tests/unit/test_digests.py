"""Digests of topics: what counts, what does not, and that what differs is found."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.admin.topics import digests
from streams.admin.topics.digests import PartitionDigests, Recipe, difference, differing_fields
from streams.admin.topics.examples import load_examples
from streams.clients.catalog import load_catalog
from streams.clients.records import Record
from streams.clients.topic_spec import TopicSpec

COMPACTED = TopicSpec(
    name="t", description="x", owner="memory", key="k", routed_by="k", cleanup_policy="compact"
)

Log = list[tuple[str, Any]]


def digest(log: Log) -> PartitionDigests:
    """Digest (key, value) records; a value that is no bytes is sent as JSON, ``None`` is a tombstone."""
    found, recipe = PartitionDigests(), Recipe(COMPACTED)
    for offset, (key, value) in enumerate(log):
        raw = value if value is None or isinstance(value, bytes) else json.dumps(value).encode()
        found.add(*recipe.digest(Record(raw, key.encode(), offset)), offset)
    return found


def test_field_order_and_spelling_of_values_do_not_count() -> None:
    assert not difference(digest([("a", b'{ "v":1,"w":[2]}')]), digest([("a", b'{"w":[2],"v":1}')]))
    assert difference(digest([("a", b"[1,2]")]), digest([("a", b"[2,1]")]))


VALUES = st.one_of(st.none(), st.integers(0, 3), st.binary(max_size=2).filter(lambda raw: raw not in b"0123"))
LOGS = st.lists(st.tuples(st.sampled_from([f"key-{n}" for n in range(12)]), VALUES), max_size=60)


@given(LOGS, LOGS, st.integers(1, 7))
def test_exactly_the_differing_keys_are_found(first: Log, second: Log, rows: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(digests, "_PENDING_ROWS", rows)
        sides = digest(first), digest(second)
        found = difference(*sides)
        latest = [{key: (n, value) for n, (key, value) in enumerate(log)} for log in (first, second)]
        here, there = ({key: at for key, at in side.items() if at[1] is not None} for side in latest)
        assert found.only_first == sorted(here[key][0] for key in here.keys() - there.keys())
        assert found.only_second == sorted(there[key][0] for key in there.keys() - here.keys())
        changed = [key for key in here.keys() & there.keys() if here[key][1] != there[key][1]]
        assert found.changed == sorted((here[key][0], there[key][0]) for key in changed)
        assert (sides[0].buckets() == sides[1].buckets()) == (not found)
        assert [each.records for each in sides] == [len(first), len(second)]


@pytest.mark.parametrize(
    "first, second, fields",
    [
        ({"a": 1, "b": 2}, {"a": 1, "b": 3}, ["b"]),
        ({"a": 1}, {"a": 1, "b": None}, ["b"]),
        ({"a": [{"b": 1}, {"b": 2}]}, {"a": [{"b": 5}, {"b": 6}]}, ["a.b"]),
        ({"a": 1}, b"\xfe", ["(value)"]),
    ],
)
def test_the_fields_that_differ_are_named(first: object, second: object, fields: list[str]) -> None:
    assert differing_fields(first, second) == fields


@pytest.mark.parametrize("spec", [spec for spec in load_catalog() if spec.type], ids=lambda spec: spec.name)
def test_digests_in_topic_files_name_existing_fields(spec: TopicSpec) -> None:
    values = [json.loads(example.value) for example in load_examples(spec.contract_name) if example.value]
    recipe, exact = Recipe(spec), Recipe(spec, exact=True)
    assert all(any(name in value for value in values) for name in spec.digest_key)
    for path, reason in spec.digest_ignores.items():
        only = msgspec.structs.replace(spec, digest_ignores={path: reason})
        touched = [Recipe(only).read(Record(json.dumps(value).encode())) for value in values]
        assert any(after != value for (_, after), value in zip(touched, values, strict=True)), path
        assert len(reason.split()) > 3
    for value in values:
        record = Record(json.dumps(value).encode(), b"k")
        assert recipe.digest(record)[0] == exact.digest(record)[0]
