"""A policy through Kafka: set over HTTP, shown by command, followed by a process that runs already."""

from __future__ import annotations

import asyncio
import json
import uuid

import pytest
from serve_rig import ServeRig
from waiting import eventually

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


def test_a_never_kept_topic_makes_no_note(deployment: ServeRig) -> None:
    deployment.need("ingest", "memory", "recall")
    set_ = deployment.command("policy", "set", "--never", "zeppelin")
    assert set_.returncode == 0, set_.stderr
    person = f"rosa-{uuid.uuid4().hex[:6]}"
    lines = ["I am allergic to peanuts.", "I live in a zeppelin.", "My sister Anna lives in Berlin."]
    with deployment.client() as client:
        messages = [{"conversation_id": person, "role": "user", "content": each} for each in lines]
        sent = client.post(
            "/v1/messages", json={"user_id": person, "messages": messages}, headers={"idempotency-key": person}
        )
        assert sent.is_success, sent.text
        eventually(
            lambda: client.post(f"/v1/conversations/{person}/close?user_id={person}").is_success, "it is closed"
        )

        def facts() -> list[str]:
            found = client.get("/v1/facts", params={"user_id": person, "status": "any"}).json()["facts"]
            return [each["statement"] for each in found]

        eventually(lambda: len(facts()) >= 2, "the others are noted")
        assert not any("zeppelin" in each for each in facts())
    assert deployment.command("policy", "set", "--clear").returncode == 0
