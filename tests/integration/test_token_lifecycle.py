"""Tokens through Kafka: made, listed and revoked by command, known to a ``serve`` that runs already."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from serve_rig import ServeRig
from waiting import eventually

from deploy.local.kafka import LocalKafka
from deploy.local.ports import free_ports

pytestmark = pytest.mark.kafka


@pytest.fixture(scope="module")
def own(kafka: LocalKafka, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServeRig]:
    """A deployment of its own: where there are tokens, everybody needs one."""
    rig = ServeRig(kafka.bootstrap_servers, tmp_path_factory.mktemp("tokens"))
    yield rig
    rig.close()


def made(rig: ServeRig, *arguments: str) -> tuple[str, str]:
    """Return the text and the id of a new token."""
    done = rig.command("token", "create", "--json", *arguments)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    return told["token"], told["token_id"]


def status(rig: ServeRig, token: str = "") -> int:
    headers = {"authorization": f"Bearer {token}"} if token else {}
    with rig.client(headers=headers) as client:
        return client.get("/v1/session").status_code


def test_after_the_first_token_each_request_needs_one(own: ServeRig) -> None:
    assert status(own) == 200
    assert "no tokens" in own.command("token", "list").stdout
    api, metrics = free_ports(2)
    open_to_all = own.command("serve", api_host="0.0.0.0", api_port=api, metrics_port=metrics)
    assert (open_to_all.returncode, "switchboard token create" in open_to_all.stderr) == (78, True)

    token, token_id = made(own, "--user", "ada", "--expires", "30d", "--name", "a bot")
    eventually(lambda: status(own) == 401, "who has none is refused")
    assert status(own, token) == 200
    listed = own.command("token", "list").stdout
    assert token_id in listed and "a bot" in listed and token not in listed
    assert token not in own.log("serve").read_text()
    kept = (own.settings.folder / "tokens.json").read_text()
    assert token_id in kept and token not in kept

    other, other_id = made(own)
    eventually(lambda: status(own, other) == 200, "a second one is known, too")
    revoked = own.command("token", "revoke", other_id)
    assert (revoked.returncode, "no tokens" in revoked.stderr) == (0, False)
    eventually(lambda: status(own, other) == 401, "it is revoked")
    assert status(own, token) == 200
    assert own.command("token", "revoke", other_id).returncode == 66
    assert "nobody needs one" in own.command("token", "revoke", token_id).stderr, "it says what that opens"


def test_serve_started_without_kafka_knows_the_tokens(own: ServeRig) -> None:
    token, _ = made(own)
    eventually(lambda: status(own, token) == 200, "it is known")
    own.stop("serve")
    before = own.values["bootstrap_servers"]
    own.values["bootstrap_servers"] = f"127.0.0.1:{free_ports(1)[0]}"
    try:
        own.start("serve")
        assert (status(own), status(own, token)) == (401, 200)
    finally:
        own.values["bootstrap_servers"] = before
