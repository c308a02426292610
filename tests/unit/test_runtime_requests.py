"""Produce requests that are put together in one go are those of aiokafka, byte for byte."""

from __future__ import annotations

from typing import Any

import pytest

from streams.clients.aiokafka_internals import ProduceRequest
from streams.runtime.requests import send_in_one_go

TOPICS: list[Any] = [
    [],
    [("windows", [])],
    [("windows", [(0, b"a batch"), (7, bytearray(b"another one"))]), ("changelog", [(3, b""), (4, None)])],
]


class Client:
    """aiokafka's client, as far as it is asked to send."""

    def __init__(self) -> None:
        self.sent: list[Any] = []

    async def send(self, node_id: int, request: Any, **options: Any) -> Any:
        self.sent.append((node_id, request, options))
        return "answered"


@pytest.mark.parametrize("version", range(8))
@pytest.mark.parametrize("topics", TOPICS)
async def test_a_request_is_encoded_as_aiokafka_does(version: int, topics: Any) -> None:
    client = Client()
    send_in_one_go(client)
    request = ProduceRequest(None, -1, 3000, topics)
    assert await client.send(2, request, group=5) == "answered"
    [(node, sent, options)] = client.sent
    assert (node, options) == (2, {"group": 5})
    assert sent.required_acks == -1
    versions = {ProduceRequest.API_KEY: (version, version)}
    plain, flat = request.prepare(versions), sent.prepare(versions)
    assert flat.encode() == plain.encode()
    assert type(flat).encode is not type(plain).encode
    assert (version, plain.RESPONSE_TYPE) == (flat.API_VERSION, flat.RESPONSE_TYPE)
    header = {"correlation_id": 9, "client_id": "bench"}
    assert flat.build_request_header(**header).encode() == plain.build_request_header(**header).encode()
