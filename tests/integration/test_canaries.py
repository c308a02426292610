"""What people say, and the tokens they say it with, are planted, and looked for where they may not be."""

from __future__ import annotations

import asyncio
import json
import uuid
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from serve_rig import ServeRig
from waiting import eventually

from deploy.local.kafka import LocalKafka
from tests.topic_records import write

pytestmark = pytest.mark.kafka

SERVICES = ("ingest", "memory", "recall", "respond")

MESSAGES = "chat.messages.v1"


@pytest.fixture(scope="module")
def own(kafka: LocalKafka, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServeRig]:
    """A deployment of its own: what is in its logs is what was said here."""
    rig = ServeRig(kafka.bootstrap_servers, tmp_path_factory.mktemp("canaries"))
    rig.need(*SERVICES)
    yield rig
    rig.close()


def canary() -> str:
    """A word that nobody else says, and no id is made of."""
    return f"kanarie{uuid.uuid4().hex[:10]}"


def spoiled(word: str) -> list[bytes]:
    """Records that hold the word and that no service can take, each for another reason."""
    said: dict[str, Any] = {
        "message_id": "m",
        "conversation_id": "c-bad",
        "user_id": "ada",
        "role": "user",
        "content": f"I like {word}.",
        "sent_at": "2026-01-05T07:12:00Z",
    }
    changes: list[dict[str, Any]] = [
        {"content": {"shade": word}},
        {"content": f"{word} " * 10_000},
        {"role": word},
        {"sent_at": word},
        {"metadata": [word]},
        {"conversation_id": "c-other"},
        {"sent_at": "1970-01-01T00:00:00Z"},
    ]
    records = [json.dumps(said | change).encode() for change in changes]
    return [
        *records,
        f'{{"content": "{word}'.encode(),
        f'"{word}"'.encode(),
        f'{{"x": "{word}\xff"}}'.encode("latin-1"),
    ]


def test_no_log_metric_or_problem_holds_text_or_token(own: ServeRig) -> None:
    word = canary()
    bad = spoiled(word)
    asyncio.run(write(own.settings, MESSAGES, *(("c-bad", each) for each in bad)))
    problems: list[str] = []
    with own.token("", "read", "write", "chat", "operate") as token:
        with own.client(headers={"authorization": f"Bearer {token}"}) as client:

            def ask(method: str, path: str, **more: Any) -> httpx.Response:
                answer = client.request(method, path, **more)
                if not answer.is_success:
                    problems.append(answer.text)
                return answer

            told = {"conversation_id": "c-1", "role": "user", "content": f"I am allergic to {word}."}
            said = {"user_id": "ada", "messages": [told | {"metadata": {"note": word}}]}
            assert ask("POST", "/v1/messages", json=said).status_code == 202
            assert ask("POST", "/v1/search", json={"q": word, "user_id": "ada"}).status_code == 200
            assert ask("GET", "/v1/search", params={"q": word, "user_id": "ada"}).status_code == 200
            turn = {"user_id": "ada", "content": f"What of {word}?"}
            assert word in ask("POST", "/v1/conversations/c-2/turns", json=turn).text
            assert ask("POST", "/v1/conversations/c-1/close").status_code == 202
            eventually(
                lambda: word in client.get("/v1/facts", params={"user_id": "ada"}).text, "it became a fact"
            )
            refused = ask("POST", "/v1/messages", json={"user_id": "ada", "messages": [told | {"content": 7}]})
            assert refused.status_code == 400
            long = {"content": word * 10_000}
            wrong = {"user_id": "ada", "messages": [told | long]}
            assert ask("POST", "/v1/messages", json=wrong).status_code == 400
            assert not ask("POST", "/v1/conversations/c-2/turns", json=turn | long).is_success
            assert ask("POST", "/v1/search", json={"q": word * 1000, "user_id": "ada"}).status_code == 400
            assert ask("GET", "/v1/facts", params={"user_id": "ada", "token": token}).status_code == 400
            assert (
                ask("POST", "/v1/facts/f/correct", params={"user_id": "ada"}, json={"text": word}).status_code
                == 404
            )
            letters = client.get("/v1/dead-letters").json()["groups"]
            eventually(
                lambda: (
                    sum(each["count"] for each in client.get("/v1/dead-letters").json()["groups"]) >= len(bad)
                ),
                f"all are dead letters: {letters}",
            )
        with own.client(headers={"authorization": f"Bearer {token[:-1]}x"}) as client:
            problems.append(client.get("/v1/session").text)
        metrics = [
            own.health(name, path).text for name in (*SERVICES, "serve") for path in ("/metrics", "/readyz")
        ]
    own.command("search", word, "--user", "ada")
    logs = {name: own.log(name).read_text() for name in (*SERVICES, "serve")}
    assert all(logs.values()) and len(problems) >= 7
    for what, text in (
        *logs.items(),
        *(("metrics", each) for each in metrics),
        *(("a problem", each) for each in problems),
    ):
        for secret in (word, token, token[3:]):
            found = [line[:400] for line in text.splitlines() if secret in line]
            assert not found, (what, found)
