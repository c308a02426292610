"""Policies over HTTP: what cannot be followed is refused before anything is written."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from streams.clients.policies.topic import PolicyStore
from streams.config.settings import Settings
from streams.server.api.app import create_api
from streams.server.api.parts import Parts


async def put(body: Any) -> httpx.Response:
    # Nothing listens there: a policy that came so far would be answered with 503.
    store = PolicyStore(Settings(bootstrap_servers="127.0.0.1:1", request_timeout_seconds=1.0))
    app = create_api(Parts(policies=store))
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost") as client:
        return await client.put("/v1/policies/clinic", json=body)


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({"never_kept": {"patterns": ["("]}}, "'(' is no regular expression"),
        ({"never_kept": {"patterns": ["(a+)+$", "x*"]}}, "matches the empty text"),
        ({"never_kept": {"patterns": ["a"] * 33}}, "patterns"),
        ({"instructions": "x" * 2001}, "instructions"),
        ({"expires_after": {"secret": "90d"}}, "expires_after"),
        ({"categories": [{"name": "pet", "description": "x"}]}, "there already"),
        ({"instruction": "x"}, "instruction"),
    ],
)
async def test_rules_that_cannot_be_followed_are_a_bad_request(body: Any, said: str) -> None:
    refused = await put(body)
    assert refused.status_code == 400, refused.text
    assert said in refused.json()["detail"]


async def test_rules_that_can_be_followed_are_written() -> None:
    assert (await put({"expires_after": {"event": "90d"}})).status_code == 503
