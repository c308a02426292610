"""A policy through Kafka: set over HTTP, shown by command, followed by a process that runs already."""

from __future__ import annotations

import asyncio
import json

import pytest
from serve_rig import ServeRig

from streams.clients.policies.known import KnownPolicies

pytestmark = pytest.mark.kafka

RULES = {"never_kept": {"topics": ["diagnosis"], "patterns": [r"ID-\d+"]}, "expires_after": {"event": "90d"}}


async def until(known: KnownPolicies, wanted: str) -> None:
    async with asyncio.timeout(60):
        while known.of("clinic").hash != wanted:
            await asyncio.sleep(0.02)


def test_a_policy_is_known_as_soon_as_it_is_set(deployment: ServeRig) -> None:
    async def follow() -> None:
        known = KnownPolicies(deployment.settings)
        await known.start()
        await known.ready()
        assert known.of("clinic").hash == ""
        answer = await asyncio.to_thread(put, RULES)
        await until(known, answer["hash"])
        assert known.of("clinic").never_kept.mentioned(["ID-1"])
        await asyncio.to_thread(put, {})
        await until(known, "")
        await asyncio.to_thread(put, RULES)
        await known.close()

    def put(rules: object) -> dict[str, str]:
        with deployment.client() as client:
            answer = client.put("/v1/policies/clinic", json=rules)
        assert answer.status_code == 200, answer.text
        told: dict[str, str] = answer.json()
        return told

    asyncio.run(follow())
    shown = deployment.command("policy", "show", "--tenant", "clinic", "--json")
    told = json.loads(shown.stdout)
    assert told["never_kept"] == RULES["never_kept"] and told["expires_after"] == RULES["expires_after"]

    again = deployment.command("policy", "set", "--tenant", "clinic", "--never", "diagnosis", "--json")
    assert again.returncode == 0, again.stderr
    with deployment.client() as client:
        found = client.get("/v1/policies/clinic").json()
    assert (found["never_kept"]["topics"], found["expires_after"]) == (["diagnosis"], {})
    assert found["hash"]
    assert "never: diagnosis" in deployment.command("policy", "show", "--tenant", "clinic").stdout
