"""A broker with TLS, users and rights: what is refused is said in one line, and the least rights are enough."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest
from aiokafka import TopicPartition
from aiokafka.protocol.admin import CreateAclsRequest, DescribeAclsRequest
from waiting import eventually

from deploy.local.kafka import LocalKafka
from deploy.local.kafka_security import Authority, Security
from deploy.local.ports import free_ports
from models.responses import ResponseChunk
from streams.admin.topics.rights import ROLES, Right, rights_of
from streams.cli import main
from streams.clients import kafka as clients
from streams.clients.catalog import load_catalog
from streams.clients.kafka import broker
from streams.clients.kafka.operations import OPERATIONS
from streams.config import child_process
from streams.config.settings import Settings, load_settings
from streams.config.settings.services import SERVICES

pytestmark = [pytest.mark.kafka, pytest.mark.long]

PATIENCE = 120.0
#: Users who are given rights one by one, each by one test.
OTHERS = ("blind", "looker", "creator", "half")

_TOPIC, _GROUP, _ANY, _LITERAL, _ALLOW = 2, 3, 1, 3, 3


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalKafka]:
    users = {user: f"password-of-{user}" for user in (*ROLES, *OTHERS)}
    with LocalKafka(tmp_path_factory.mktemp("secured"), security=Security(users)) as kafka:
        yield kafka


def settings_of(kafka: LocalKafka, user: str, **changes: Any) -> Settings:
    assert kafka.security is not None
    return load_settings(bootstrap_servers=kafka.bootstrap_servers, **kafka.security.client(user) | changes)


def environment(settings: Settings, **more: object) -> dict[str, str]:
    """What a process needs to run under ``settings``."""
    given = settings.model_dump(include=settings.model_fields_set - {"kafka_sasl_password"}) | more
    if settings.kafka_sasl_password_file is None:
        given["kafka_sasl_password"] = settings.kafka_sasl_password.get_secret_value()
    return {
        f"SWITCHBOARD_{name.upper()}": str(value) for name, value in given.items() if value not in ("", None)
    }


@pytest.fixture
def switchboard(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., tuple[int, str, str]]:
    """``switchboard(settings, *arguments)``: exit status, stdout, stderr."""

    def run(settings: Settings | Mapping[str, str], *arguments: str) -> tuple[int, str, str]:
        with monkeypatch.context() as patched:
            variables = environment(settings) if isinstance(settings, Settings) else settings
            for name, value in variables.items():
                patched.setenv(name, value)
            status = main.run(arguments)
        return status, *capsys.readouterr()

    return run


def grant(kafka: LocalKafka, user: str, rights: Iterable[Right]) -> None:
    """Allow ``user`` just these, and wait until the broker knows."""
    wanted, kinds = list(rights), {"topic": _TOPIC, "group": _GROUP}

    async def create() -> None:
        client = clients.make_admin(kafka.settings, "test")
        async with clients.connected(client, kafka.settings, 30) as admin:
            for right in wanted:
                response = await admin._send_request(
                    CreateAclsRequest(
                        *(kinds[right.kind], right.name, _LITERAL, f"User:{user}", "*"),
                        OPERATIONS[right.operation],
                        _ALLOW,
                    )
                )
                assert response.creation_responses[0][0] == 0
            known: set[tuple[int, str, int]] = set()
            while not {(kinds[r.kind], r.name, OPERATIONS[r.operation]) for r in wanted} <= known:
                response = await admin._send_request(
                    DescribeAclsRequest(_ANY, None, _ANY, f"User:{user}", None, _ANY, _ANY)
                )
                known = {(kind, name, acl[2]) for kind, name, _, acls in response.resources for acl in acls}

    asyncio.run(create())


# -- who we are, and who the broker is --------------------------------------------------------------------


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"])
def test_a_user_comes_in_by_each_mechanism(secured, switchboard, mechanism):
    assert secured.security is not None
    access = secured.security.client(mechanism=mechanism)
    settings = load_settings(bootstrap_servers=secured.bootstrap_servers, **access)
    status, out, said = switchboard(settings, "topics", "check")
    assert (status, said) == (1, "")
    assert "chat.messages.v1 is missing" in out


def unsigned_token(user: str) -> str:
    import base64

    now = int(time.time())
    parts = ({"alg": "none"}, {"sub": user, "iat": now, "exp": now + 3600})
    encoded = (base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=") for part in parts)
    return ".".join(encoded) + "."


def test_a_token_file_is_read_for_each_connection(secured, switchboard, tmp_path):
    token = tmp_path / "token"
    token.write_text(unsigned_token("admin") + "\n")
    assert secured.security is not None
    access = secured.security.client() | {"kafka_sasl_mechanism": "OAUTHBEARER"}
    access |= {"kafka_sasl_password": "", "kafka_sasl_username": "", "kafka_sasl_password_file": str(token)}
    settings = load_settings(bootstrap_servers=secured.bootstrap_servers, **access)
    status, out, said = switchboard(settings, "topics", "check")
    assert (status, said) == (1, "")
    assert "chat.messages.v1 is missing" in out

    async def again() -> None:
        token.write_text(unsigned_token("nobody"))
        async with clients.connected(clients.make_admin(settings, "test"), settings, 30) as admin:
            assert await admin.describe_topics(None) == []

    asyncio.run(again())


def refused(secured: LocalKafka, tmp_path: Path) -> dict[str, tuple[dict[str, Any], str]]:
    assert secured.security is not None and secured.security.authority is not None
    ours = secured.security.client("blind")
    stranger = Authority(tmp_path / "stranger", "Somebody else")
    theirs = stranger.sign("client")
    expired = secured.security.authority.sign("late", days=-1)
    plain = {"kafka_security_protocol": "SASL_PLAINTEXT", "kafka_ssl_ca_file": None}
    return {
        "wrong password": (
            ours | {"kafka_sasl_password": "wrong"},
            "'blind' with SWITCHBOARD_KAFKA_SASL_PASSWORD",
        ),
        "wrong authority": (
            ours | {"kafka_ssl_ca_file": str(stranger.certificate)},
            "its certificate is signed by nobody that is trusted",
        ),
        "certificate of a stranger": (
            ours | {"kafka_ssl_cert_file": str(theirs.certificate), "kafka_ssl_key_file": str(theirs.key)},
            "it refuses our certificate",
        ),
        "expired certificate": (
            ours | {"kafka_ssl_cert_file": str(expired.certificate), "kafka_ssl_key_file": str(expired.key)},
            "it refuses our certificate",
        ),
        "no TLS": (ours | plain, "it speaks TLS only: set SWITCHBOARD_KAFKA_SECURITY_PROTOCOL=SASL_SSL"),
        "no user": (
            {"kafka_security_protocol": "SSL", "kafka_ssl_ca_file": ours["kafka_ssl_ca_file"]},
            "it wants a user. Set SWITCHBOARD_KAFKA_SECURITY_PROTOCOL=SASL_SSL",
        ),
    }


@pytest.mark.parametrize(
    "case",
    [
        "wrong password",
        "wrong authority",
        "certificate of a stranger",
        "expired certificate",
        "no TLS",
        "no user",
    ],
)
def test_a_broker_s_refusal_is_one_line(secured, switchboard, tmp_path, case):
    access, expected = refused(secured, tmp_path)[case]
    settings = load_settings(bootstrap_servers=secured.bootstrap_servers, **access)
    for command in (("topics", "check"), ("tail", "memory.facts.v1")):
        status, out, said = switchboard(settings, *command)
        assert (status, out) == (78, ""), said
        assert said.count("\n") == 1 and expected in said
        assert "password-of" not in said


# -- rights ------------------------------------------------------------------------------------------------


def worker(settings: Settings, service: str, folder: Path, **more: object) -> subprocess.Popen[bytes]:
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("SWITCHBOARD_")}
    own = {
        "data_dir": folder / "data",
        "instance_id": service,
        "tick_seconds": 0.2,
        "log_format": "json",
    } | more
    with (folder / f"{service}.log").open("ab") as output:
        return child_process.spawn(
            [sys.executable, "-m", "streams.cli", "worker", service],
            output=output,
            env=inherited | environment(settings, **own),
            cwd=folder,
        )


@pytest.mark.parametrize(
    ("left_out", "expected"),
    [
        (Right("topic", "chat.messages.v1", "Read"), "lacks Read on the topic {prefix}chat.messages.v1;"),
        (Right("topic", "memory.windows.v1", "Write"), "lacks Write on the topic {prefix}memory.windows.v1;"),
        (Right("group", "switchboard-ingest", "Read"), "lacks Read on the group {prefix}switchboard-ingest;"),
    ],
)
def test_a_worker_names_a_missing_right_before_it_begins(
    secured, switchboard, topic_prefix, tmp_path, worker_logs, left_out, expected
):
    catalog = load_catalog(topic_prefix)
    admin = secured.settings.model_copy(update={"topic_prefix": topic_prefix})
    variables = environment(admin, topic_prefix=topic_prefix)
    assert switchboard(variables, "topics", "apply")[0] == 0
    left_out = left_out._replace(name=topic_prefix + left_out.name)
    rights = rights_of("ingest", catalog)
    assert left_out in rights
    # Where a topic must still be seen, another right of it says so.
    describe = [Right("topic", left_out.name, "Describe")] if left_out.kind == "topic" else []
    grant(secured, "half", [right for right in rights if right != left_out] + describe)
    worker_logs.register(tmp_path / "ingest.log")
    settings = settings_of(secured, "half", topic_prefix=topic_prefix)
    process = worker(settings, "ingest", tmp_path, metrics_port=free_ports(1)[0])
    try:
        assert process.wait(PATIENCE) == 78
    finally:
        child_process.end(process, 0.0)
    [said] = [line for line in (tmp_path / "ingest.log").read_text().splitlines() if "cannot start" in line]
    assert f"the Kafka user 'half' {expected.format(prefix=topic_prefix)}" in json.loads(said)["error"]


def test_the_whole_road_runs_under_the_least_rights(secured, switchboard, topic_prefix, tmp_path, worker_logs):
    """Each service, and each person, comes in as a user of its own who may do what ``topics acls`` says."""
    catalog = load_catalog(topic_prefix)
    status, out, _ = switchboard({"SWITCHBOARD_TOPIC_PREFIX": topic_prefix}, "topics", "acls", "--json")
    assert status == 0
    for role, rights in json.loads(out).items():
        grant(secured, role, [Right(**right) for right in rights])
    people = {role: settings_of(secured, role, topic_prefix=topic_prefix) for role in ROLES}
    assert switchboard(people["apply"], "topics", "apply")[0] == 0
    assert switchboard(people["apply"], "topics", "check")[0] == 0

    ports = dict(zip((*SERVICES, "api"), free_ports(1 + len(SERVICES)), strict=True))
    running = []
    try:
        for service in SERVICES:
            worker_logs.register(tmp_path / f"{service}.log")
            running.append(
                worker(people[service], service, tmp_path, metrics_port=ports[service], api_port=ports["api"])
            )
        send(people["producer"], catalog.name("chat.messages.v1"), b"c-1", conversation("c-1"))
        send(people["producer"], catalog.name("chat.response-chunks.v1"), b"r-1", [response("r-1")])
        for topic in ("memory.facts.v1", "chat.responses.v1"):
            eventually(lambda: all(process.poll() is None for process in running), "the workers run")
            eventually(lambda topic=topic: read(people["reader"], catalog.name(topic)), f"something on {topic}")
        here = environment(people["operator"], api_port=ports["api"], data_dir=tmp_path / "data")
        found = eventually(lambda: searched(switchboard, here, "what must she not eat?"), "the fact is found")
        assert "allergic to peanuts" in found[0]["fact"]["statement"]
        _, out, said = switchboard(people["operator"], "status", "--json")  # the workers' ports are not its own
        assert said == ""
        assert any(row["started"] for row in json.loads(out)["groups"]), (
            "the operator sees how far each group is"
        )
        assert switchboard(people["operator"], "tail", "memory.facts.v1", "-b", "--no-follow")[0] == 0
        status, out, _ = switchboard(people["operator"], "doctor", "--json")
        assert not [finding for finding in json.loads(out) if "right" in finding["what"]]
        for process in running:
            process.terminate()
        assert [process.wait(PATIENCE) for process in running] == [0] * len(SERVICES)
        for service in ("ingest", "memory", "recall"):
            status, _, said = switchboard(people["reset"], "state", "reset", service, "--yes")
            assert status == 0, said
    finally:
        for process in running:
            child_process.end(process, 0.0)


def searched(switchboard: Callable[..., tuple[int, str, str]], here: Mapping[str, str], query: str) -> Any:
    status, out, said = switchboard(here, "search", query, "--user", "ada", "--type", "facts", "--json")
    assert status in (0, 69), said  # 69: the API is not there yet
    return status == 0 and json.loads(out)["results"]


def conversation(name: str) -> list[bytes]:
    said = ["I'm allergic to peanuts." if number == 4 else f"Line {number}." for number in range(10)]
    return [
        msgspec.json.encode(
            {
                "message_id": f"{name}-{number}",
                "conversation_id": name,
                "user_id": "ada",
                "role": "user",
                "content": text,
                "sent_at": f"2026-01-05T07:12:{number:02}Z",
            }
        )
        for number, text in enumerate(said)
    ]


def response(name: str) -> bytes:
    return msgspec.json.encode(
        ResponseChunk(response_id=name, conversation_id="c-1", sequence=0, text="Noted.", final=True)
    )


def send(settings: Settings, topic: str, key: bytes, values: list[bytes]) -> None:
    async def publish() -> None:
        async with clients.connected(clients.make_producer(settings, "test"), settings, 30) as producer:
            for value in values:
                await producer.send_and_wait(topic, value, key)

    asyncio.run(publish())


def read(settings: Settings, topic: str) -> list[bytes | None]:
    async def everything() -> list[bytes | None]:
        async with broker.reading(settings) as consumer:
            places = [TopicPartition(topic, number) for number in range(8)]
            consumer.assign(places)
            ends = await broker.ends_of(consumer, places)
            return [record.value async for record in broker.until(consumer, ends)]

    return asyncio.run(everything())
