"""Every Kafka client is made in one place: one that is made elsewhere would not be let in."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from faust.transport.drivers.aiokafka import credentials_to_aiokafka_auth

import streams
from streams.config.settings import load_settings
from streams.runtime.credentials import faust_credentials

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
    assert set(made) == {"streams/clients/kafka/clients.py"}


@pytest.mark.parametrize(
    ("access", "expected"),
    [
        ({}, {"security_protocol": "PLAINTEXT"}),
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
                "kafka_security_protocol": "SASL_SSL",
                "kafka_sasl_mechanism": "OAUTHBEARER",
                "kafka_sasl_password": "canary",
            },
            {"security_protocol": "SASL_SSL", "sasl_mechanism": "OAUTHBEARER"},
        ),
    ],
)
def test_faust_s_clients_are_admitted_like_ours(access, expected):
    credentials = faust_credentials(load_settings(**access))
    options = credentials_to_aiokafka_auth(credentials, None)
    assert expected.items() <= options.items()
    assert ("SSL" in options["security_protocol"].split("_")) == (options.get("ssl_context") is not None)
    provider = options.get("sasl_oauth_token_provider")
    assert (provider is not None) == (access.get("kafka_sasl_mechanism") == "OAUTHBEARER")
