"""Every Kafka client is made in one place: one that is made elsewhere would not be let in."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import pytest
from aiokafka.protocol.metadata import MetadataRequest, MetadataRequest_v5, MetadataResponse_v5
from faust.transport.drivers.aiokafka import credentials_to_aiokafka_auth

import streams
from streams.kafka import described
from streams.runtime.credentials import faust_credentials
from streams.settings import load_settings

ROOT = Path(streams.__file__).parents[1]
CLIENTS = {"AIOKafkaConsumer", "AIOKafkaProducer", "AIOKafkaAdminClient"}


def test_no_client_is_made_elsewhere():
    made = []
    for file in [*ROOT.glob("streams/**/*.py"), *ROOT.glob("deploy/**/*.py")]:
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Call):
                name = getattr(node.func, "attr", getattr(node.func, "id", ""))
                if name in CLIENTS:
                    made.append(file.relative_to(ROOT).as_posix())
    assert set(made) == {"streams/kafka/clients.py"}


@pytest.mark.parametrize(
    ("access", "expected"),
    [
        ({}, {"security_protocol": "PLAINTEXT"}),
        ({"kafka_security_protocol": "SSL"}, {"security_protocol": "SSL"}),
        (
            {
                "kafka_security_protocol": "SASL_SSL",
                "kafka_sasl_mechanism": "SCRAM-SHA-256",
                "kafka_sasl_username": "ada",
                "kafka_sasl_password": "canary",
            },
            {
                "security_protocol": "SASL_SSL",
                "sasl_mechanism": "SCRAM-SHA-256",
                "sasl_plain_username": "ada",
                "sasl_plain_password": "canary",
            },
        ),
        (
            {
                "kafka_security_protocol": "SASL_PLAINTEXT",
                "kafka_sasl_mechanism": "OAUTHBEARER",
                "kafka_sasl_password": "canary",
            },
            {"security_protocol": "SASL_PLAINTEXT", "sasl_mechanism": "OAUTHBEARER", "ssl_context": None},
        ),
        (
            {
                "kafka_security_protocol": "SASL_SSL",
                "kafka_sasl_mechanism": "OAUTHBEARER",
                "kafka_sasl_password": "canary",
            },
            {"security_protocol": "SASL_SSL", "sasl_mechanism": "OAUTHBEARER"},
        ),
    ],
)
def test_what_faust_makes_is_let_in_as_our_own_clients_are(access, expected):
    credentials = faust_credentials(load_settings(**access))
    options = credentials_to_aiokafka_auth(credentials, None)
    assert expected.items() <= options.items()
    assert ("SSL" in options["security_protocol"].split("_")) == (options.get("ssl_context") is not None)
    provider = options.get("sasl_oauth_token_provider")
    assert (provider is not None) == (access.get("kafka_sasl_mechanism") == "OAUTHBEARER")


class _Metadata:
    """A broker that has topic ``a``, may not show ``c``, and knows no other."""

    def __init__(self) -> None:
        self.asked: list[MetadataRequest_v5] = []

    async def _send_request(self, request: MetadataRequest) -> MetadataResponse_v5:
        self.asked.append(request.build(MetadataRequest_v5))
        partition = (0, 0, 1, [1], [1], [])
        topics = [(0, "a", False, [partition]), (3, "b", False, []), (29, "c", False, [])]
        return MetadataResponse_v5(0, [], "cluster", 1, topics)


async def test_topics_are_asked_for_by_name_and_none_is_made() -> None:
    """A broker may be set to make what it is asked for; asked for nothing, it may tell all it has."""
    broker: Any = _Metadata()
    found, hidden = await described(broker, ["a", "b", "c"])
    assert (list(found), hidden) == (["a"], {"c"})
    assert [len(topic["partitions"]) for topic in found.values()] == [1]
    [asked] = broker.asked
    assert sorted(asked.topics) == ["a", "b", "c"] and asked.allow_auto_topic_creation is False
    assert await described(broker, []) == ({}, set()) and len(broker.asked) == 1
