"""``switchboard erase --certificate``: what it calls removed is gone from the views of a running system."""

from __future__ import annotations

import json
import uuid
from pathlib import Path
from typing import Any

import httpx
import pytest
from serve_rig import ServeRig
from waiting import eventually

pytestmark = pytest.mark.kafka


@pytest.mark.parametrize("what", ["person", "conversation"])
def test_the_views_are_empty_before_a_certificate_says_so(
    what: str, deployment: ServeRig, tmp_path: Path
) -> None:
    deployment.need("ingest", "memory", "recall")
    person = f"rosa-{uuid.uuid4().hex[:6]}"
    conversation = f"{person}-1"
    message = {"conversation_id": conversation, "role": "user", "content": "I am allergic to quokkas."}
    sent = httpx.post(f"{deployment.url}/v1/messages", json={"user_id": person, "messages": [message]})
    assert sent.status_code == 202, sent.text

    def found() -> Any:
        asked = {"q": "quokkas", "user_id": person}
        return httpx.get(f"{deployment.url}/v1/search", params=asked).json().get("results")

    eventually(found, "it is found before")
    file = tmp_path / "certificate.json"
    named = person if what == "person" else conversation
    done = deployment.command("erase", what, named, "--yes", "--certificate", str(file))
    assert done.returncode == 0, done.stderr
    told = json.loads(file.read_text())
    [views] = [each for each in told["stores"] if each["store"].startswith("views")]
    assert views["state"] == "removed", views
    assert told["erased_until"] < told["issued_at"]
    assert conversation in told["conversation_ids"]
    assert not found()
    assert deployment.command("erase", "verify", str(file)).returncode == 0
