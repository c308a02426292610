"""Settings of access: what contradicts itself is refused at start, and secrets may stand in files."""

from __future__ import annotations

import pytest

from models.errors import ConfigurationError
from streams.clients.kafka import connection
from streams.config.settings import Settings, describe, load_settings
from streams.config.settings.access import SECRETS
from streams.config.settings.text import env_name

SASL = {"kafka_security_protocol": "SASL_SSL", "kafka_sasl_username": "ada", "kafka_sasl_password": "canary"}


def test_a_user_comes_with_tls_and_a_mechanism():
    options = connection(load_settings(**SASL))
    assert options.pop("ssl_context").check_hostname
    assert options == {
        "bootstrap_servers": "127.0.0.1:9092",
        "security_protocol": "SASL_SSL",
        "sasl_mechanism": "SCRAM-SHA-512",
        "sasl_plain_username": "ada",
        "sasl_plain_password": "canary",
    }


@pytest.mark.parametrize("name", SECRETS)
def test_every_secret_may_stand_in_a_file(name, monkeypatch, tmp_path):
    file = tmp_path / "secret"
    file.write_text("canary of mine\r\n")
    env = env_name(name, Settings.model_fields[name])
    monkeypatch.setenv(f"{env}_FILE", str(file))
    if name == "kafka_sasl_password":
        monkeypatch.setenv("SWITCHBOARD_KAFKA_SECURITY_PROTOCOL", "SASL_SSL")
        monkeypatch.setenv("SWITCHBOARD_KAFKA_SASL_USERNAME", "ada")
    settings = load_settings()
    assert getattr(settings, name).get_secret_value() == "canary of mine"
    assert "canary" not in f"{settings!r} {describe(settings)}"

    monkeypatch.setenv(env, "another")
    with pytest.raises(ConfigurationError, match=f"{env} and {env}_FILE are both set") as caught:
        load_settings()
    assert "canary" not in str(caught.value)


@pytest.mark.parametrize(
    ("content", "said"), [(None, "cannot be read: No such file"), (b"\n", "is empty"), (b"\xff", "is no text")]
)
def test_a_file_without_a_secret_is_named(content, said, tmp_path):
    file = tmp_path / "secret"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(ConfigurationError, match=f"SWITCHBOARD_QDRANT_API_KEY_FILE={file} {said}"):
        load_settings(qdrant_api_key_file=file)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"kafka_sasl_username": "ada"}, "KAFKA_SECURITY_PROTOCOL=PLAINTEXT knows no user"),
        ({"kafka_ssl_ca_file": "ca.pem"}, "KAFKA_SECURITY_PROTOCOL=PLAINTEXT uses no TLS"),
        (SASL | {"kafka_sasl_username": ""}, "needs SWITCHBOARD_KAFKA_SASL_USERNAME and"),
        (SASL | {"kafka_sasl_mechanism": "GSSAPI"}, "PLAIN or SCRAM-SHA-256 or SCRAM-SHA-512 or OAUTHBEARER"),
    ],
)
def test_what_contradicts_itself_is_refused_with_the_way_out(given, said):
    with pytest.raises(ConfigurationError, match=said) as caught:
        load_settings(**given)
    assert "canary" not in str(caught.value)


@pytest.mark.parametrize("content", [None, "no certificate"])
def test_a_file_of_authorities_that_cannot_be_used_is_named(content, tmp_path):
    ca = tmp_path / "ca.pem"
    if content is not None:
        ca.write_text(content)
    with pytest.raises(ConfigurationError, match=f"SWITCHBOARD_KAFKA_SSL_CA_FILE={ca} cannot be used"):
        connection(load_settings(**SASL, kafka_ssl_ca_file=ca))
