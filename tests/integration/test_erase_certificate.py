"""``switchboard erase --certificate``: what it calls removed is gone from the views of a running system."""

from __future__ import annotations

import json
import time
import uuid
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import pytest
from serve_rig import ServeRig
from waiting import eventually

from streams.clients.erasure_ledger import GRACE_SECONDS

pytestmark = pytest.mark.kafka


def said(deployment: ServeRig) -> tuple[str, str]:
    """Have somebody say something in a conversation, and wait until it is found."""
    deployment.need("ingest", "memory", "recall")
    person = f"rosa-{uuid.uuid4().hex[:6]}"
    conversation = f"{person}-1"
    message = {"conversation_id": conversation, "role": "user", "content": "I am allergic to quokkas."}
    sent = httpx.post(f"{deployment.url}/v1/messages", json={"user_id": person, "messages": [message]})
    assert sent.status_code == 202, sent.text
    eventually(lambda: found(deployment, person), "it is found before")
    return person, conversation


def found(deployment: ServeRig, person: str, what: str = "quokkas") -> Any:
    asked = {"q": what, "user_id": person}
    return httpx.get(f"{deployment.url}/v1/search", params=asked).json().get("results")


@pytest.mark.parametrize("what", ["person", "conversation"])
def test_the_views_are_empty_before_a_certificate_says_so(
    what: str, deployment: ServeRig, tmp_path: Path
) -> None:
    person, conversation = said(deployment)
    file = tmp_path / "certificate.json"
    named = person if what == "person" else conversation
    done = deployment.command("erase", what, named, "--yes", "--certificate", str(file))
    assert done.returncode == 0, done.stderr
    told = json.loads(file.read_text())
    [views] = [each for each in told["stores"] if each["store"].startswith("views")]
    assert views["state"] == "removed", views
    assert told["erased_until"] < told["issued_at"]
    assert conversation in told["conversation_ids"]
    assert not found(deployment, person)
    assert deployment.command("erase", "verify", str(file)).returncode == 0


@pytest.mark.parametrize("what", ["people", "conversations"])
def test_an_erasure_over_http_is_proved_under_its_id(what: str, deployment: ServeRig, tmp_path: Path) -> None:
    person, conversation = said(deployment)
    named = person if what == "people" else conversation
    asked = {"user_id": person} if what == "conversations" else {}
    accepted = httpx.delete(f"{deployment.url}/v1/{what}/{named}", params=asked, timeout=60.0)
    assert accepted.status_code == 202, accepted.text
    path = f"{deployment.url}/v1/erasures/{accepted.json()['erasure_id']}"

    def is_erased() -> Any:
        answer = httpx.get(path, timeout=60.0)
        assert answer.status_code == 200, answer.text
        return answer.json()["certificate"] if answer.json()["state"] == "erased" else None

    certificate = eventually(is_erased, "it is erased")
    assert not found(deployment, person)
    file = tmp_path / "certificate.json"
    file.write_text(json.dumps(certificate))
    shown = deployment.command("erase", "verify", str(file))
    assert shown.returncode == 0, shown.stderr
    assert (f"what {person} said in {conversation}" if what == "conversations" else person) in shown.stdout
    for other in (path[:-3] + "AAA", f"{path}?user_id=somebody-else", f"{path}?tenant_id=another"):
        assert httpx.get(other).status_code in (403, 404), other


def test_a_late_producer_brings_nobody_back(deployment: ServeRig) -> None:
    person, conversation = said(deployment)
    sent_at = datetime.now(UTC).isoformat()
    accepted = httpx.delete(f"{deployment.url}/v1/people/{person}", timeout=60.0)
    assert accepted.status_code == 202, accepted.text
    eventually(lambda: not found(deployment, person), "it is erased")
    time.sleep(GRACE_SECONDS + 1)  # by the clocks of producer and broker

    def send(text: str, **more: str) -> str:
        """Return the state that a message comes to."""
        message = {"conversation_id": f"{conversation}-again", "role": "user", "content": text, **more}
        sent = httpx.post(f"{deployment.url}/v1/messages", json={"user_id": person, "messages": [message]})
        assert sent.status_code == 202, sent.text
        asked = {"position": sent.json()["messages"][0]["position"], "wait": 30}
        state: str = httpx.get(f"{deployment.url}/v1/progress", params=asked, timeout=60.0).json()["state"]
        return state

    assert send("I am allergic to quokkas.", sent_at=sent_at) == "refused"
    assert send("I sing in a choir.") != "refused"
    eventually(lambda: found(deployment, person, "choir"), "who comes back is remembered")
    assert "quokkas" not in json.dumps(found(deployment, person))
    erasure = httpx.get(f"{deployment.url}/v1/erasures/{accepted.json()['erasure_id']}", timeout=60.0).json()
    assert erasure["state"] == "erased", f"what was said since then does not count: {erasure}"
