"""``switchboard serve`` as a process: what it needs of others, and what it costs when they are down."""

from __future__ import annotations

import os
import signal
import stat
from typing import Any
from uuid import uuid4

import httpx
import pytest
from serve_rig import ServeRig
from waiting import eventually

from streams.stores.remembered.recall_rpc import recall_socket

pytestmark = pytest.mark.kafka


def ask(rig: ServeRig, path: str, **parameters: Any) -> httpx.Response:
    with rig.client() as client:
        return client.get(path, params=parameters)


def test_it_answers_from_recall_and_says_when_it_is_down(deployment: ServeRig) -> None:
    deployment.need("recall")
    user = f"nobody-{uuid4().hex[:8]}"  # other tests speak as others
    found = ask(deployment, "/v1/search", q="peanuts", user_id=user)
    assert (found.status_code, found.json()["known"], found.json()["empty"]) == (200, False, "unknown_person")
    assert ask(deployment, "/v1/facts", user_id=user).json() == {
        "user_id": user,
        "tenant_id": "default",
        "facts": [],
        "waiting": [],
        "next": None,
        "known": False,
        "unread": False,
    }
    assert ask(deployment, "/v1/context", user_id=user, conversation_id="c").status_code == 404
    assert ask(deployment, "/v1/search", q=" ", user_id=user).status_code == 400
    socket = recall_socket(deployment.settings)
    assert stat.S_IMODE(socket.stat().st_mode) == 0o600
    deployment.kill("recall")
    down = ask(deployment, "/v1/search", q="peanuts", user_id=user)
    assert (down.status_code, down.json()["part"]) == (503, "recall"), down.text
    assert "switchboard worker recall" in down.json()["detail"]
    assert ask(deployment, "/v1/openapi.json").status_code == 200
    said = {
        "conversation_id": "c-down",
        "role": "user",
        "content": "Somebody is there.",
        "user_id": "ada-down",
    }
    with deployment.client() as client:
        assert client.post("/v1/messages", json={"messages": [said]}).status_code == 202, "it needs Kafka only"
    assert deployment.health("serve", "/readyz").is_success, "what is down is not its own"
    deployment.start("recall")
    assert ask(deployment, "/v1/search", q="peanuts", user_id=user).status_code == 200


def test_conversations_are_read_while_recall_is_busy(deployment: ServeRig) -> None:
    """A turn whose lease is renewed through a service that has a backlog loses it, and breaks off."""
    deployment.need("recall")
    conversation, user = f"c-{uuid4().hex[:8]}", f"busy-{uuid4().hex[:8]}"
    said = {"conversation_id": conversation, "role": "user", "content": "The kettle sings.", "user_id": user}
    with deployment.client() as client:
        assert client.post("/v1/messages", json={"messages": [said]}).status_code == 202

    def log() -> httpx.Response:
        return ask(deployment, f"/v1/conversations/{conversation}", user_id=user)

    eventually(lambda: log().is_success and "kettle" in log().text, "it is in the log")
    recall = deployment.pid("recall")
    os.kill(recall, signal.SIGSTOP)
    try:
        found = log()
        assert found.is_success and "kettle" in found.text, found.text
    finally:
        os.kill(recall, signal.SIGCONT)
