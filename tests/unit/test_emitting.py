"""Records are written with the key, route and headers that their topic's file names."""

from __future__ import annotations

import msgspec

from models.facts import Fact
from models.vectors import EmbeddingRequest, VectorKind
from streams.agents.emitting import emit, emit_tombstone
from streams.runtime.effects import Effects

REQUEST = EmbeddingRequest(kind=VectorKind.FACT, id="f", user_id="ada", text="tea", text_hash="0f")


def test_a_record_is_keyed_and_routed_by_its_topics_file() -> None:
    effects = Effects()
    emit(effects, REQUEST, "event")
    (output,) = effects.outputs
    assert (output.topic, output.key, output.route) == ("memory.embedding-requests.v1", b"fact/f", b"ada")
    assert output.value == msgspec.json.encode(REQUEST)
    headers = dict(output.headers)
    assert headers["ce_type"] == b"memory.embedding-request.v1"
    assert headers["ce_source"] == b"/switchboard/memory"
    assert (headers["ce_id"], headers["ce_subject"]) == (b"event", b"ada")


def test_a_partition_takes_the_place_of_the_route() -> None:
    effects = Effects()
    emit(effects, REQUEST, subject=None, partition=3)
    (output,) = effects.outputs
    assert (output.partition, output.route, dict(output.headers).get("ce_subject")) == (3, None, None)


def test_a_tombstone_has_no_value_and_headers_of_its_own() -> None:
    effects = Effects()
    emit_tombstone(effects, Fact, "f", headers=[("erased_version", b"2")], route="ada")
    (output,) = effects.outputs
    assert (output.topic, output.key, output.value, output.route) == ("memory.facts.v1", b"f", None, b"ada")
    assert dict(output.headers)["erased_version"] == b"2"
    assert dict(output.headers)["ce_id"] == b"f/erased"
